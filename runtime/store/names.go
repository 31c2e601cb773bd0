package store

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mcpgen/mcpgen/runtime/access"
)

// Limits of texts, in bytes.
const (
	MaxName        = 256
	MaxDescription = 4096
	MaxIdentity    = 512 // an issuer, a subject
	MaxModule      = 256
)

// checkName accepts a name of an organisation, a team or a catalog: something that reads the same
// to everybody and can be typed again.
func checkName(noun, name string) error {
	switch {
	case name == "":
		return wrong("%s has no name", noun)
	case len(name) > MaxName:
		return wrong("the name of the %s has %d bytes, more than %d", noun, len(name), MaxName)
	case !printable(name):
		return wrong("the name of the %s is not all printable characters", noun)
	case strings.HasPrefix(name, " "), strings.HasSuffix(name, " "):
		return wrong("the name of the %s has a space at its start or end", noun)
	}
	return nil
}

func checkText(noun, text string, most int) error {
	switch {
	case len(text) > most:
		return wrong("the %s has %d bytes, more than %d", noun, len(text), most)
	case !printable(strings.NewReplacer("\n", "", "\t", "", "\r\n", "").Replace(text)):
		return wrong("the %s is not all printable characters and line ends", noun)
	}
	return nil
}

func checkIdentity(issuer, subject string) error {
	for _, part := range []struct{ noun, text string }{{"issuer", issuer}, {"subject", subject}} {
		switch {
		case len(part.text) > MaxIdentity:
			return wrong("the %s has %d bytes, more than %d", part.noun, len(part.text), MaxIdentity)
		case !printable(part.text):
			return wrong("the %s is not all printable characters", part.noun)
		}
	}
	if subject == "" {
		return wrong("a member has no subject")
	}
	return nil
}

func checkStanding(s access.Standing) error {
	switch s {
	case access.Owner, access.Admin, access.Lead, access.Member:
		return nil
	}
	return wrong("%q is not a standing: use owner, admin, lead or member", string(s))
}

// checkTool accepts the names that a tool can have, whether there is such a tool or not (MCP
// 2025-11-25, server/tools).
func checkTool(name string) error {
	const cure = "use 1 to 128 of the letters A to Z, digits, dot, underscore and hyphen"
	if name == "" || len(name) > 128 {
		return wrong("not a tool name: %s", cure)
	}
	for _, c := range []byte(name) {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '_', c == '.', c == '-':
		default:
			return wrong("not a tool name: %s", cure)
		}
	}
	return nil
}

// checkVersion accepts the version of something that was read, and 0 where any will do.
func checkVersion(version, least int64) error {
	if version < least {
		return wrong("%d is not a version: read the object first", version)
	}
	return nil
}

// printable reports whether both engines keep a text as it is and a person can see all of it. The
// replacement character is not: [keepable] asks by it for what cannot be kept, and is to find
// nothing.
func printable(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) || r == utf8.RuneError })
}

// keepable is a text with what PostgreSQL does not take replaced.
func keepable(text string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
}

func keepables(texts []string) []string {
	kept := make([]string, len(texts))
	for i, text := range texts {
		kept[i] = keepable(text)
	}
	return kept
}

// first is the first error there is.
func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// invalid says what was to be done with what is not valid.
func invalid(doing string, err error) error { return fmt.Errorf("store: %s: %w", doing, err) }

// only is what a change made, and nothing if it did not come to stand.
func only[T any](made T, err error) (T, error) {
	if err != nil {
		var none T
		return none, err
	}
	return made, nil
}
