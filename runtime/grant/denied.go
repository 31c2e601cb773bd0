package grant

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"path"
	"strings"

	"github.com/mcpgen/mcpgen/runtime/grant/pattern"
)

// Code is the code of a denial in results, audit and API.
const Code = "permission_denied"

// Denied is the error of a denied resource. It contains only what the client sent, and the
// reason.
type Denied struct {
	Kind     string
	Resource string // as the client named it
	Cause    Cause
	Reason   string
}

// Error returns a text that the client may see.
func (d *Denied) Error() string {
	return fmt.Sprintf("%s: %s %q: %s", Code, d.Kind, d.Resource, d.Reason)
}

// Lacking returns the smallest permission that allows the denied resource, for a client's
// request. It returns an error if no grant can allow the resource, or if the denied address is
// not disclosed: its host name is granted already.
func (d *Denied) Lacking() (Permission, error) {
	p := Permission{Type: d.Kind}
	if d.Cause == Malformed || d.Cause == Special {
		return p, errors.New("grant: a permission cannot have " + d.Resource)
	}
	if d.Cause == NotPublic {
		return p, errors.New("grant: what " + d.Resource +
			" resolves to is not disclosed, so a client cannot request it")
	}
	switch FamilyOf(d.Kind) {
	case Paths:
		p.Resource = pattern.Literal(path.Clean(d.Resource))
	case Commands:
		words := strings.Split(d.Resource, " ") // as pattern.CommandText joins them
		if strings.HasPrefix(d.Resource, "[") {
			if err := json.Unmarshal([]byte(d.Resource), &words); err != nil {
				return p, fmt.Errorf("grant: %s is not a command: %w", d.Resource, err)
			}
		}
		for i := range words {
			words[i] = pattern.Literal(words[i])
		}
		p.Resource = pattern.CommandText(words)
	case Hosts:
		e, problem := pattern.ParseEndpoint(d.Resource)
		if problem != "" {
			return p, errors.New("grant: " + d.Resource + ": " + problem)
		}
		p.Resource = e.Host()
		if e.Port != 0 {
			p.Resource = net.JoinHostPort(e.Host(), fmt.Sprint(e.Port))
		}
	default:
		p.Resource = pattern.Literal(d.Resource)
	}
	return p.Canonical(), p.Validate()
}
