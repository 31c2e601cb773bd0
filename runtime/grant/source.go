package grant

import (
	"context"
	"errors"
	"strings"
	"time"
)

// Source is where a server reads what clients have. Its methods are called from many goroutines at
// once, and whoever calls them sets a time limit by ctx. An error denies; it goes to the server's
// log, never to a client.
type Source interface {
	// Grants returns the grants of a client, expired ones too, and a number that changes when they
	// do, so that a set which was compiled need not be again. Nobody changes what is returned. A
	// client that has none gets none, and no error.
	Grants(ctx context.Context, issuer, client string) (grants []Grant, revision uint64, err error)

	// Changes tells that something has changed until ctx ends, and closes the channel then. The
	// first comes at once, when changes are being heard: what is read after it misses none.
	Changes(ctx context.Context) <-chan Change
}

// Change says whose grants may be others now. A source that does not know, or has missed some,
// leaves both empty, which is everybody's.
type Change struct{ Issuer, Client string }

// Errors of [Keeper] and [Requests], which others wrap.
var (
	// ErrUnknown: there is no such grant or request.
	ErrUnknown = errors.New("the grant or request does not exist")
	// ErrDecided: a request has been approved, denied or withdrawn before.
	ErrDecided = errors.New("the request already has a decision")
	// ErrTooMany: the client has as many requests open as it may have, or all clients together
	// have.
	ErrTooMany = errors.New("the client has too many open requests")
)

// Keeper is where grants are changed, by those who may: the admin API and console. What it has done
// counts for the next call on every replica.
type Keeper interface {
	Source

	// Grant keeps a grant, validated and in canonical form, under an id that it gives, and returns
	// it. The same permission for the same client is renewed: it gets the new expiry, reason and
	// grantor under its old id.
	Grant(ctx context.Context, g Grant) (Grant, error)

	// Revoke takes a client's grants of a kind and a pattern away, as the function [Revoke] does,
	// and returns those. An empty pattern is the whole kind. None is no error.
	Revoke(ctx context.Context, r Revocation) ([]Grant, error)

	// List returns grants in the order of their ids, which is that in which they were first
	// granted: what is granted, renewed or revoked meanwhile moves nothing from one page to
	// another.
	List(ctx context.Context, f Filter) ([]Grant, error)
}

// Revocation says what is taken away, by whom and why.
type Revocation struct {
	Issuer   string `json:"issuer,omitempty"`
	Client   string `json:"client"`
	Type     string `json:"type"`
	Resource string `json:"resource,omitempty"` // empty is the whole type
	By       string `json:"by,omitempty"`
	Reason   string `json:"reason,omitempty"`
}

// Filter chooses grants or requests. Empty fields choose all.
type Filter struct {
	Issuer string
	Client string
	Type   string
	Status Status // of requests
	ID     string // of the one grant or request to return
	After  string // the id of the last one on the page before
	Limit  int    // 0 and what is more than [MaxPage] are that
	// Exact chooses what is of exactly one client, as Issuer and Client name it: an issuer that is
	// empty is then that of clients which have none, in place of all issuers.
	Exact bool
}

// Status is how far a request is.
type Status string

// What a request can be.
const (
	Open      Status = "open"
	Approved  Status = "approved"
	Refused   Status = "denied"
	Withdrawn Status = "withdrawn" // by the client, or because it was open for too long
)

// Request is a client's wish for a permission.
type Request struct {
	ID string `json:"id"`
	Permission
	Issuer    string    `json:"issuer,omitempty"`
	Client    string    `json:"client"`
	Principal string    `json:"principal,omitempty"` // the subject who asked, for whoever decides
	Tool      string    `json:"tool,omitempty"`      // whose call was refused, if one was
	Reason    string    `json:"reason"`              // in the client's words, and not to be trusted
	Status    Status    `json:"status"`
	Created   time.Time `json:"created"`
	// Decided, By and Note are when, by whom and why it was approved or denied, and Grant the id of
	// what came of it.
	Decided time.Time `json:"decided,omitzero"`
	By      string    `json:"by,omitempty"`
	Note    string    `json:"note,omitempty"`
	Grant   string    `json:"grant,omitempty"`
}

// Verdict is how somebody who may decide does.
type Verdict struct {
	By   string // who
	Note string // why
	// Permission, where it is not zero, is granted in place of what was asked for. It must be
	// covered by that: whoever approves may give less, and not more than was seen.
	Permission Permission
	// Expires is until when it is granted. Zero is for ever.
	Expires time.Time
}

// Requests is where clients ask for permissions, and others decide.
type Requests interface {
	// Ask keeps a request, validated and in canonical form. An open one of the same client for the
	// same permission is returned in its place. Its error wraps [ErrTooMany] where there are too
	// many.
	Ask(ctx context.Context, r Request) (Request, error)

	// Request returns a request, and wraps [ErrUnknown] where there is none.
	Request(ctx context.Context, id string) (Request, error)

	// Approve grants what a request asks for, or less. Errors wrap [ErrUnknown] and [ErrDecided]:
	// of two who decide at once one does.
	Approve(ctx context.Context, id string, v Verdict) (Request, Grant, error)

	// Deny refuses a request. Errors are as those of Approve.
	Deny(ctx context.Context, id string, v Verdict) (Request, error)

	// Requests returns requests, the newest first.
	Requests(ctx context.Context, f Filter) ([]Request, error)
}

// Granted returns the grant that a verdict on a request gives, without an id, or says why it
// cannot, by an [ErrInvalid]. Its reason is the verdict's note, or else what the client has asked
// with, marked as the client's words.
func (r Request) Granted(v Verdict, now time.Time) (Grant, error) {
	p := r.Permission
	if v.Permission.Type != "" || v.Permission.Resource != "" {
		if p = v.Permission; !r.Covers(p) {
			return Grant{}, invalid{errors.New("grant: " + p.String() +
				" is more than the request, which is " + r.Permission.String())}
		}
	}
	if err := p.Validate(); err != nil {
		return Grant{}, invalid{err}
	}
	if !v.Expires.IsZero() && !now.Before(v.Expires) {
		return Grant{}, invalid{errors.New("grant: the expiry " +
			v.Expires.UTC().Format(time.RFC3339) + " has passed")}
	}
	return Grant{Permission: p.Canonical(), Issuer: r.Issuer, Client: r.Client, By: v.By,
		Reason: r.why(v), Created: now, Expires: v.Expires}, nil
}

// why is for what reason a verdict grants what was asked for.
func (r Request) why(v Verdict) string {
	if strings.TrimSpace(v.Note) != "" || r.Reason == "" {
		return v.Note
	}
	text := "requested: " + r.Reason
	if len(text) > MaxReason {
		// a character that was cut in two goes
		text = strings.ToValidUTF8(text[:MaxReason-len("…")], "") + "…"
	}
	return text
}

// Registry is where grants are kept, asked for and decided on. Its methods are called from many
// goroutines at once.
//
// Changes are recorded for the audit by who makes them, unless the registry is a [Recorder] that
// says otherwise.
type Registry interface {
	Keeper
	Requests
}

// Recorder is a registry that can record what it changes itself, each change in one transaction
// with its event. The event begins with what audit.WhoActs finds: who asked, and by which request.
type Recorder interface {
	// RecordsChanges reports whether it does. It does not change.
	RecordsChanges() bool
}
