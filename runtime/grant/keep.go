package grant

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/mcpgen/mcpgen/internal/hiddentext"
)

// Limits of a [Keeper] and [Requests].
const (
	MaxGrants     = 1000 // of a client, expired ones too
	MaxOpen       = 20   // requests of a client, unless a keeper has another limit
	MaxPage       = 1000 // grants or requests at once
	MaxIdentity   = 512  // bytes of an issuer, a client, a principal, a tool or a granter
	maxParameters = 16   // of a permission
	maxLine       = 8192 // bytes of a permission as [Permission.String] writes it
)

// Waits is the time that a request stays open. After it, the request is withdrawn.
const Waits = 30 * 24 * time.Hour

var (
	// ErrInvalid reports a grant, request or decision that is not valid. Errors that wrap it contain
	// the problem and the cure: use [errors.Is].
	ErrInvalid = errors.New("not valid")
	// ErrFull reports a client with [MaxGrants] grants.
	ErrFull = errors.New(
		"the client has the largest allowed number of grants: revoke some, expired ones first")
)

// invalid is an [ErrInvalid] with the problem.
type invalid struct{ error }

func (invalid) Is(target error) bool { return target == ErrInvalid }

func (e invalid) Unwrap() error { return e.error }

// Keepable returns the grant as a keeper stores it at now: in canonical form, with times in
// database precision, Created set to now, and no id. The error is an [ErrInvalid].
func (g Grant) Keepable(now time.Time) (Grant, error) {
	errs := []error{
		identity("issuer", g.Issuer), identity("client", g.Client),
		identity("name of the granting administrator", g.By),
		prose("reason", g.Reason), g.Permission.keepable(),
	}
	if g.Client == "" {
		errs = append(
			errs,
			errors.New(
				"the client is missing: write the client of the grant; grants for all clients are in the "+
					"configuration"))
	}
	if g.Expired(now) {
		errs = append(errs, fmt.Errorf("its expiry %s has passed: choose a later one",
			g.Expires.UTC().Format(time.RFC3339)))
	}
	if err := errors.Join(errs...); err != nil {
		return Grant{}, invalid{fmt.Errorf("grant: %w", err)}
	}
	g.ID, g.Permission, g.Created = "", g.Permission.kept(), instant(now)
	if !g.Expires.IsZero() {
		g.Expires = instant(g.Expires)
	}
	return g, nil
}

// Keepable returns the request as a keeper stores it at now: open, undecided, in canonical form
// and without an id. The error is an [ErrInvalid].
func (r Request) Keepable(now time.Time) (Request, error) {
	errs := []error{
		identity("issuer", r.Issuer), identity("client", r.Client),
		identity("principal", r.Principal), identity("tool", r.Tool),
		prose("reason", r.Reason), r.Permission.keepable(),
	}
	if r.Client == "" {
		errs = append(errs, errors.New("the client is missing"))
	}
	for _, key := range []string{"restricted", "unrestricted"} {
		if _, found := r.Parameters[key]; found { // a person decides by the text of the request
			errs = append(errs, fmt.Errorf("a client cannot request the parameter %q, which looks like "+
				"a word of the permission: an administrator can grant it", key))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return Request{}, invalid{fmt.Errorf("request: %w", err)}
	}
	return Request{
		Permission: r.Permission.kept(), Issuer: r.Issuer, Client: r.Client, Principal: r.Principal,
		Tool: r.Tool, Reason: r.Reason,
		Status: Open, Created: instant(now),
	}, nil
}

// At returns the request at the time now: withdrawn if it has been open for [Waits].
func (r Request) At(now time.Time) Request {
	if until := r.Created.Add(Waits); r.Status == Open && !now.Before(until) {
		r.Status, r.Decided = Withdrawn, until
	}
	return r
}

// Keepable validates the verdict except for the permission. The error is an [ErrInvalid].
func (v Verdict) Keepable() error {
	if err := errors.Join(identity("name of the deciding administrator", v.By),
		prose("note", v.Note)); err != nil {
		return invalid{fmt.Errorf("verdict: %w", err)}
	}
	return nil
}

// Keepable validates the revocation except for the pattern. The error is an [ErrInvalid].
func (r Revocation) Keepable() error {
	if err := errors.Join(identity("name of the revoking administrator", r.By),
		prose("reason", r.Reason)); err != nil {
		return invalid{fmt.Errorf("revocation: %w", err)}
	}
	return nil
}

// instant is a time as databases keep it.
func instant(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }

// kept is the permission in canonical form, which shares nothing with the caller's.
func (p Permission) kept() Permission {
	p = p.Canonical()
	if p.Parameters = cloneParameters(p.Parameters); len(p.Parameters) == 0 {
		p.Parameters = nil
	}
	return p
}

// same reports whether two permissions in canonical form are alike.
func (p Permission) same(other Permission) bool {
	return p.Type == other.Type && p.Resource == other.Resource &&
		p.Unrestricted == other.Unrestricted &&
		maps.EqualFunc(p.Parameters, other.Parameters, slices.Equal)
}

// keepable is Validate, and refuses text that databases refuse or that people cannot see.
func (p Permission) keepable() error {
	// A command may be written with escapes, which its canonical form does not contain.
	errs := []error{p.Validate(), cmp.Or(seen("resource", p.Resource),
		seen("resource", p.Canonical().Resource))}
	for _, key := range slices.Sorted(maps.Keys(p.Parameters)) {
		if hidden := hiddentext.InJSON(p.Parameters[key]); hidden != nil {
			errs = append(errs, fmt.Errorf("the parameter %q: %w", key, hidden))
		}
	}
	if len(p.Parameters) > maxParameters {
		errs = append(errs, fmt.Errorf("the permission has %d parameters, more than %d",
			len(p.Parameters), maxParameters))
	}
	if n := len(p.String()); n > maxLine {
		errs = append(errs, fmt.Errorf("the permission has %d bytes in one line, more than %d", n,
			maxLine))
	}
	return errors.Join(errs...)
}

func identity(noun, text string) error {
	if len(text) > MaxIdentity {
		return fmt.Errorf("the %s has %d bytes, more than %d", noun, len(text), MaxIdentity)
	}
	return seen(noun, text)
}

func seen(noun, text string) error {
	if hidden := hiddentext.First(text); hidden != nil {
		return fmt.Errorf("the %s: %w", noun, hidden)
	}
	return nil
}

func prose(noun, text string) error {
	if err := hiddentext.Prose(text); err != nil {
		return fmt.Errorf("the %s: %w", noun, err)
	}
	return nil
}

// Page returns the number of the id before the page, 0 for the first page, and the maximum length
// of the page. The error is an [ErrInvalid].
func (f Filter) Page() (after int64, limit int, err error) {
	if limit = min(f.Limit, MaxPage); limit <= 0 {
		limit = MaxPage
	}
	if f.After == "" {
		return 0, limit, nil
	}
	after, ok := Number(f.After)
	if !ok {
		return 0, 0, invalid{fmt.Errorf("%.40q is not an id: start with the first page",
			f.After)}
	}
	return after, limit, nil
}

// Number returns the number of an id. Each number has one valid id.
func Number(id string) (int64, bool) {
	n, err := strconv.ParseInt(id, 10, 64)
	return n, err == nil && n > 0 && strconv.FormatInt(n, 10) == id
}

// holds reports whether a filter chooses a grant or a request by its id, client and type.
func (f Filter) holds(id, issuer, client, kind string) bool {
	return (f.ID == "" || f.ID == id) && (f.Issuer == issuer || f.Issuer == "" && !f.Exact) &&
		(f.Client == client || f.Client == "" && !f.Exact) && (f.Type == "" || f.Type == kind)
}

// clone is a copy of grants that shares no parameters with them.
func clone(grants []Grant) []Grant {
	grants = slices.Clone(grants)
	for i := range grants {
		grants[i].Parameters = cloneParameters(grants[i].Parameters)
	}
	return grants
}

func cloneParameters(of map[string]json.RawMessage) map[string]json.RawMessage {
	of = maps.Clone(of)
	for key := range of {
		of[key] = slices.Clone(of[key])
	}
	return of
}

// Decidable reports whether a verdict can decide the request. The error is [ErrDecided], or an
// [ErrInvalid].
func (r Request) Decidable(v Verdict) error {
	if r.Status != Open {
		return fmt.Errorf("grant: request %s is %s: %w", r.ID, r.Status, ErrDecided)
	}
	return v.Keepable()
}

// Decide returns the request after a decision at now, with the id of its grant.
func (r Request) Decide(s Status, v Verdict, granted string, now time.Time) Request {
	r.Status, r.Decided, r.By, r.Note, r.Grant = s, instant(now), v.By, v.Note, granted
	return r
}
