package grant

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/mcpgen/mcpgen/internal/hiddentext"
)

// Source returns the grants of clients. Set it as runtime.Options.Grants.Source. Its methods are
// called from many goroutines at once, and ctx has the time limit. An error denies the call. Its
// text goes to the server's log, and never to a client.
type Source interface {
	// Grants returns the grants of a client, expired ones included, and a revision: a number that
	// changes when the grants change. The server compiles them again for another revision only. The
	// result must not be changed afterwards. A client without grants is no error.
	Grants(ctx context.Context, issuer, client string) (grants []Grant, revision uint64, err error)

	// Changes sends a change when grants have changed, and closes the channel when ctx ends. The
	// first change comes when the source receives changes: a read after it misses none.
	Changes(ctx context.Context) <-chan Change
}

// Change names the client whose grants may have changed. Both fields are empty for all clients: the
// source does not know the client, or has missed changes.
type Change struct{ Issuer, Client string }

// Errors of [Keeper] and [Requests], which others wrap.
var (
	// ErrUnknown reports a grant or request that does not exist.
	ErrUnknown = errors.New("the grant or request does not exist")
	// ErrDecided reports a request that is already approved, denied or withdrawn.
	ErrDecided = errors.New("the request already has a decision")
	// ErrTooMany reports that the client, or all clients together, have the maximum number of open
	// requests.
	ErrTooMany = errors.New("the client has too many open requests")
)

// Keeper is a [Source] whose grants the admin API and the console change. A change counts for the
// next call on every replica.
type Keeper interface {
	Source

	// Grant validates a grant, keeps it in canonical form under a new id, and returns it. If the
	// client has the same permission already, that grant gets the new expiry, reason and grantor, and
	// keeps its id.
	Grant(ctx context.Context, g Grant) (Grant, error)

	// Revoke revokes a client's grants of a kind and a pattern, as the function [Revoke] does, and
	// returns them. An empty pattern is the whole kind. If there are none, that is no error.
	Revoke(ctx context.Context, r Revocation) ([]Grant, error)

	// List returns grants in the order of their ids, which is the order of their first grant. Grants
	// that are added, renewed or revoked meanwhile move no other grant from one page to another.
	List(ctx context.Context, f Filter) ([]Grant, error)
}

// Revocation names the grants to revoke, with who revokes them and why.
type Revocation struct {
	Issuer   string `json:"issuer,omitempty"`
	Client   string `json:"client"`
	Type     string `json:"type"`
	Resource string `json:"resource,omitempty"` // empty is the whole type
	By       string `json:"by,omitempty"`
	Reason   string `json:"reason,omitempty"`
}

// Filter selects grants or requests. Empty fields select all.
type Filter struct {
	Issuer string
	Client string
	Type   string
	Status Status // of requests
	ID     string // of the one grant or request to return
	After  string // the id of the last one on the page before
	Limit  int    // 0 and more than [MaxPage] are [MaxPage]
	// Exact selects exactly one client, by Issuer and Client. An empty issuer then selects clients
	// without an issuer, in place of all issuers.
	Exact bool
}

// Status is the state of a request.
type Status string

// The states of a request.
const (
	Open      Status = "open"
	Approved  Status = "approved"
	Refused   Status = "denied"
	Withdrawn Status = "withdrawn" // by the client, or because it was open for too long
)

// Request is a client's request for a permission.
type Request struct {
	ID string `json:"id"`
	Permission
	Issuer    string    `json:"issuer,omitempty"`
	Client    string    `json:"client"`
	Principal string    `json:"principal,omitempty"` // the requesting subject, for the administrator
	Tool      string    `json:"tool,omitempty"`      // of the denied call, if any
	Reason    string    `json:"reason"`              // from the client: not to be trusted
	Status    Status    `json:"status"`
	Created   time.Time `json:"created"`
	// Decided, By and Note are the time, the administrator and the text of the decision. Grant is
	// the id of the grant after an approval.
	Decided time.Time `json:"decided,omitzero"`
	By      string    `json:"by,omitempty"`
	Note    string    `json:"note,omitempty"`
	Grant   string    `json:"grant,omitempty"`
}

// Verdict is an administrator's decision on a request.
type Verdict struct {
	By   string // who
	Note string // why
	// Permission is granted in place of the requested one, which must cover it: an administrator can
	// grant less than was requested, and not more. Zero is the requested permission.
	Permission Permission
	// Expires is the end of the grant. Zero is no end.
	Expires time.Time
}

// Requests keeps the requests of clients for permissions, and the decisions on them.
type Requests interface {
	// Ask validates a request and keeps it in canonical form. If the client has an open request for
	// the same permission, that one is returned. The error wraps [ErrTooMany] if there are too many.
	Ask(ctx context.Context, r Request) (Request, error)

	// Request returns a request. The error wraps [ErrUnknown] if it does not exist.
	Request(ctx context.Context, id string) (Request, error)

	// Approve grants the requested permission, or less. Errors wrap [ErrUnknown] and [ErrDecided]:
	// of two concurrent decisions on a request, one fails.
	Approve(ctx context.Context, id string, v Verdict) (Request, Grant, error)

	// Deny refuses a request. Errors are as those of Approve.
	Deny(ctx context.Context, id string, v Verdict) (Request, error)

	// Requests returns requests, the newest first.
	Requests(ctx context.Context, f Filter) ([]Request, error)
}

// Granted returns the grant of a verdict on a request, without an id. The error is an
// [ErrInvalid]. Its reason is the verdict's note, or else the client's reason, marked as such.
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

// why is the reason of the grant that a verdict makes.
func (r Request) why(v Verdict) string {
	if strings.TrimSpace(v.Note) != "" || r.Reason == "" {
		return v.Note
	}
	text := "requested: " + r.Reason
	if len(text) > hiddentext.MaxProse {
		// ToValidUTF8 removes a character that was cut in two
		text = strings.ToValidUTF8(text[:hiddentext.MaxProse-len("…")], "") + "…"
	}
	return text
}

// Registry keeps grants, requests and decisions. Its methods are called from many goroutines at
// once.
//
// The admin API and the console record changes in the audit, unless the registry is a [Recorder]
// that does.
type Registry interface {
	Keeper
	Requests
}

// Recorder is a registry that can record its changes itself, each in one transaction with its
// event. The event begins with that of audit.WhoActs: the caller, and the id of the request.
type Recorder interface {
	// RecordsChanges reports whether it does. The result never changes.
	RecordsChanges() bool
}
