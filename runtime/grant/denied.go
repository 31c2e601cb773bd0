package grant

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"path"
	"strings"
)

// Code is how a refusal is called in results, audit and API.
const Code = "permission_denied"

// Denied is a refusal. It says nothing that the client did not say itself, but for why.
type Denied struct {
	Kind     string
	Resource string // as the client named it
	Cause    Cause
	Reason   string
}

func (d *Denied) Error() string {
	return fmt.Sprintf("%s: %s %q: %s", Code, d.Kind, d.Resource, d.Reason)
}

// Lacking returns the permission that holds what was refused, and nothing else: what a client would ask for. What no
// grant could hold has none, nor has an address that is not told: the name is granted already.
func (d *Denied) Lacking() (Permission, error) {
	p := Permission{Type: d.Kind}
	if d.Cause == Malformed || d.Cause == Special {
		return p, errors.New("grant: no permission could hold " + d.Resource)
	}
	if d.Cause == NotPublic {
		return p, errors.New("grant: what " + d.Resource + " resolves to is not told, and so cannot be asked for")
	}
	switch FamilyOf(d.Kind) {
	case Paths:
		p.Resource = literally(path.Clean(d.Resource))
	case Commands:
		words := strings.Split(d.Resource, " ") // as spellCommand joins them
		if strings.HasPrefix(d.Resource, "[") {
			if err := json.Unmarshal([]byte(d.Resource), &words); err != nil {
				return p, fmt.Errorf("grant: %s is no command: %w", d.Resource, err)
			}
		}
		for i := range words {
			words[i] = literally(words[i])
		}
		p.Resource = spellCommand(words)
	case Hosts:
		e, problem := parseEndpoint(d.Resource)
		if problem != "" {
			return p, errors.New("grant: " + d.Resource + ": " + problem)
		}
		p.Resource = e.host()
		if e.port != 0 {
			p.Resource = net.JoinHostPort(e.host(), fmt.Sprint(e.port))
		}
	default:
		p.Resource = literally(d.Resource)
	}
	return p.Canonical(), p.Validate()
}

// literally is a pattern that stands for a text and for nothing else.
func literally(text string) string {
	var b strings.Builder
	for _, r := range text {
		if strings.ContainsRune(`\*?[]{}`, r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}
