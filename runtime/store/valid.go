package store

import (
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mcpgen/mcpgen/internal/boundaryitem"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/boundary"
	"github.com/mcpgen/mcpgen/runtime/grant"
)

// notValid is an [ErrInvalid] with a text of its own, with problem and cure.
type notValid string

func (e notValid) Error() string { return string(e) }

func (e notValid) Is(target error) bool { return target == ErrInvalid }

func wrong(format string, args ...any) error { return notValid(fmt.Sprintf(format, args...)) }

// first returns the first error that is not nil.
func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// invalid adds the operation to an error of validation.
func invalid(doing string, err error) error { return fmt.Errorf("store: %s: %w", doing, err) }

// Limits of texts, in bytes.
const (
	maxName        = 256
	maxDescription = 4096
	maxIdentity    = 512 // an issuer, a subject
	maxModule      = 256
	maxItem        = 1024    // a role or an item of a boundary
	maxBoundary    = 1 << 16 // a boundary in its row
)

// checkName accepts a name of an organisation, a team or a catalog that people can read and type
// without ambiguity.
func checkName(noun, name string) error {
	switch {
	case name == "":
		return wrong("%s has no name", noun)
	case len(name) > maxName:
		return wrong("the name of the %s has %d bytes, more than %d", noun, len(name), maxName)
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
	err := first(checkIdentifier("issuer", issuer), checkIdentifier("subject", subject))
	if err == nil && subject == "" {
		err = wrong("a member has no subject")
	}
	return err
}

// checkIdentifier accepts an issuer, or a name by an issuer. It may be empty.
func checkIdentifier(noun, text string) error {
	switch {
	case len(text) > maxIdentity:
		return wrong("the %s has %d bytes, more than %d", noun, len(text), maxIdentity)
	case !printable(text):
		return wrong("the %s is not all printable characters", noun)
	}
	return nil
}

// checkParty accepts a party that can have a boundary.
func checkParty(p boundary.Party) error {
	if err := boundaryitem.CheckParty(p.Client, p.Subject, p.Actor); err != nil {
		return wrong("the boundary %v", err)
	}
	return first(checkIdentifier("issuer", p.Issuer), checkIdentifier("client", p.Client),
		checkIdentifier("subject", p.Subject), checkIdentifier("actor", p.Actor))
}

// checkList accepts the roles or items of a boundary, whether the server has them or not.
func checkList(noun string, list []string, most int, check func(string) error) error {
	if boundaryitem.IsAll(list) {
		return nil
	}
	if len(list) > most {
		return wrong("the boundary has %d %ss, more than %d", len(list), noun, most)
	}
	seen := map[string]bool{}
	for i, text := range list {
		switch err := check(text); {
		case len(text) > maxItem:
			return wrong("%s %d has %d bytes, more than %d", noun, i+1, len(text), maxItem)
		case !printable(text):
			return wrong("%s %d is not all printable characters", noun, i+1)
		case err != nil:
			return wrong("%s %d %v", noun, i+1, err)
		case seen[text]:
			return wrong("%s %d is in its list twice: remove one", noun, i+1)
		}
		seen[text] = true
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

// checkTool accepts valid names of tools, whether the tool exists or not (MCP 2025-11-25,
// server/tools).
func checkTool(name string) error {
	const cure = "use 1 to 128 of the letters A to Z, digits, dot, underscore and hyphen"
	if name == "" || len(name) > 128 {
		return wrong("not a tool name: %s", cure)
	}
	for _, c := range []byte(name) {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '_', c == '.',
			c == '-':
		default:
			return wrong("not a tool name: %s", cure)
		}
	}
	return nil
}

// checkVersion accepts a version that was read. With least 0 it also accepts 0 for any version.
func checkVersion(version, least int64) error {
	if version < least {
		return wrong("%d is not a version: read the object first", version)
	}
	return nil
}

// printable reports whether both engines store a text unchanged and a person can see all of it. The
// replacement character is refused, because [keepable] inserts it: such a search finds nothing.
func printable(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsFunc(text, func(r rune) bool {
		return !unicode.IsPrint(r) || r == utf8.RuneError
	})
}

// keepable replaces the parts of a text that PostgreSQL does not accept.
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

// quoted quotes a name for the audit with [strconv.Quote], up to [maxIdentity] bytes, the longest
// stored name.
func quoted(name string) string {
	if len(name) <= maxIdentity {
		return strconv.Quote(name)
	}
	return strconv.Quote(strings.ToValidUTF8(name[:maxIdentity], "")) + "…"
}

// became quotes a name for the audit, after the old name if it differs.
func became(before, now string) string {
	if before == now {
		return quoted(now)
	}
	return quoted(before) + " → " + quoted(now)
}

// Limits of the number of items. They keep a manager of one scope from filling the database, or
// the memory of all replicas. Items from before a limit stay readable.
const (
	maxEntries        = 10_000  // in a catalog
	maxCatalogs       = 1_000   // in an organisation or a team
	maxGlobalCatalogs = 100_000 // that are global
	maxTeams          = 1_000   // in an organisation
	maxMembers        = 100_000 // in an organisation or a team
	maxRequests       = 10_000  // for grants, of all clients, that are open
	maxBounds         = 10_000  // boundaries of clients and actors
	maxClients        = 10_000  // that were seen
	maxRoles          = 64      // of a boundary
	maxItems          = 1_000   // of a boundary
)

// limits are the constants of these names. Tests change them.
type limits struct {
	entries, catalogs, globalCatalogs, teams, members, grants, requests, bounds, clients int
}

var usual = limits{maxEntries, maxCatalogs, maxGlobalCatalogs, maxTeams, maxMembers,
	grant.MaxGrants, maxRequests, maxBounds, maxClients}

// catalogsOf returns the maximum number of catalogs of a scope.
func (l limits) catalogsOf(in Scope) int {
	if in == Global {
		return l.globalCatalogs
	}
	return l.catalogs
}

// owner locks the organisation or team of a new item until the transaction ends, so that concurrent
// inserts are counted. A global item has no owner: concurrent ones may exceed the limit.
func (t *tx) owner(in Scope) error {
	switch in.kind {
	case inOrg:
		return t.hold(stmt(`SELECT id FROM organizations WHERE id = ?`, in.id))
	case inTeam:
		return t.hold(stmt(`SELECT id FROM teams WHERE id = ?`, in.id))
	}
	return nil
}

// bounded returns an error if the inserted item exceeds the limit of its place. The statement
// selects all items of the place.
func (t *tx) bounded(place, nouns string, most int, there *statement) error {
	var one int64
	switch err := there.and(`LIMIT 1 OFFSET ?`, most).row(t.ctx, t).Scan(&one); {
	case errors.Is(err, sql.ErrNoRows):
		return nil
	case err != nil:
		return err
	}
	return fmt.Errorf("%s has %d %s, which %w: remove one first", place, most, nouns, ErrLimit)
}
