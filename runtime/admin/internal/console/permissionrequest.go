package console

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"

	"github.com/mcpgen/mcpgen/internal/hiddentext"
	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/admin/internal/console/internal/visible"
	"github.com/mcpgen/mcpgen/runtime/admin/internal/front"
	"github.com/mcpgen/mcpgen/runtime/grant"
)

const pathPermissionRequests = runtime.PathConsole + "/requests"

func permissionRequestPath(id string) string {
	return pathPermissionRequests + "/" + url.PathEscape(id)
}

// permissionRequest is a client's request for a permission.
type permissionRequest struct{ grant.Request }

// Path is the page of the request.
func (r permissionRequest) Path() string { return permissionRequestPath(r.ID) }

// Line is the beginning of the client's reason.
func (r permissionRequest) Line() string { return visible.Line(r.Reason) }

// Grants is the path of the client's grants.
func (r permissionRequest) Grants() string { return grantsOf(r.Issuer, r.Client) }

// state is a part of the list of requests.
type state struct {
	Status grant.Status
	Name   string
}

// states are the parts, open requests first.
var states = []state{{grant.Open, "Open"}, {grant.Approved, "Approved"}, {grant.Refused, "Denied"},
	{grant.Withdrawn, "Withdrawn"}}

// Path is the list of the requests in this state.
func (s state) Path() string {
	return withQuery(pathPermissionRequests, url.Values{"status": {string(s.Status)}})
}

type permissionRequestList struct {
	State    state
	Requests []permissionRequest
	Next     string
}

func (v *visit) listPermissionRequests() error {
	l, q := permissionRequestList{State: states[0]}, v.r.URL.Query()
	for _, s := range states {
		if string(s.Status) == q.Get("status") {
			l.State = s
		}
	}
	found, err := v.grants.Requests(v.ctx, grant.Filter{
		Status: l.State.Status, After: v.afterID(), Limit: pageSize + 1})
	if err != nil {
		return err
	}
	for i, r := range found {
		if i == pageSize {
			l.Next = withQuery(pathPermissionRequests, url.Values{
				"status": {string(l.State.Status)}, "after": {found[i-1].ID},
			})
			break
		}
		l.Requests = append(l.Requests, permissionRequest{r})
	}
	return v.show("permission-requests", page{
		Title: "Requests for permissions", Here: "requests", Data: l,
	})
}

// openPermissionRequests counts the open requests.
func (v *visit) openPermissionRequests() (*count, error) {
	if v.grants == nil {
		return nil, nil
	}
	found, err := v.grants.Requests(v.ctx, grant.Filter{Status: grant.Open, Limit: pageSize + 1})
	return &count{min(len(found), pageSize), len(found) > pageSize}, err
}

// permissionRequestPage is a request, the grants of its client, and the form of the decision.
type permissionRequestPage struct {
	permissionRequest
	Quote  visible.Quote
	Hidden bool // something in it cannot be seen
	Own    bool // the viewer is the requester
	Has    []grantRow

	// As in the form that approves, and as in the one that denies.
	Narrow string // in place of the resource
	Beyond bool   // outside isolation too
	lasting
	Note, Why string
	Wrong     faults
}

func (v *visit) permissionRequestPage() (d permissionRequestPage, err error) {
	r, err := v.grants.Request(v.ctx, v.r.PathValue("id"))
	if err != nil {
		return d, err
	}
	d = permissionRequestPage{
		permissionRequest: permissionRequest{r}, Quote: visible.Quoted(r.Reason),
		Narrow: visible.Typable(r.Resource), Beyond: bool(r.Unrestricted),
		lasting: lasting{Lasts: usual}, Wrong: faults{},
	}
	d.Own = r.Issuer == v.caller.Issuer && (r.Client == v.caller.ClientID() || r.Principal != "" &&
		r.Principal == v.caller.Subject)
	for _, text := range []string{r.Type, r.Resource, r.Issuer, r.Client, r.Principal, r.Tool} {
		d.Hidden = d.Hidden || visible.Hides(text)
	}
	for key, value := range r.Parameters {
		d.Hidden = d.Hidden || visible.Hides(key) || hiddentext.InJSON(value) != nil
	}
	has, _, err := v.grants.Grants(v.ctx, r.Issuer, r.Client)
	for _, g := range slices.Concat(v.server.GrantDefaults(), has) {
		if g.Type == r.Type {
			d.Has = append(d.Has, newGrantRow(g))
		}
	}
	return d, err
}

func (v *visit) showPermissionRequest() error {
	d, err := v.permissionRequestPage()
	if err != nil {
		return err
	}
	return v.show("permission-request", d.page(""))
}

func (v *visit) approve() error {
	return v.decide("request-approved", func(
		r grant.Request, d *permissionRequestPage,
	) func(context.Context) (string, string, error) {
		verdict := grant.Verdict{By: v.caller.Subject, Note: v.field("note")}
		d.Narrow, d.Beyond, d.Note = v.field("resource"), v.field("unrestricted") != "",
			verdict.Note
		d.lasting, verdict.Expires = v.lasting(d.Wrong)
		d.Wrong.words("note", verdict.Note, false)
		less := grant.Permission{Type: r.Type, Resource: d.Narrow,
			Unrestricted: grant.Unrestricted(d.Beyond), Parameters: r.Parameters}
		d.Wrong.seen(d.Narrow)
		if err := less.Validate(); err != nil {
			d.Wrong.pattern("resource", err)
		} else if d.Wrong["resource"] == nil && !r.Covers(less) {
			d.Wrong.add("resource", "This is more than the request, which is "+
				visible.Text(r.Resource)+". Approve the request or less; grant more under Grants.")
		}
		d.Narrow = visible.Typable(d.Narrow)
		if !less.Equal(r.Permission) {
			verdict.Permission = less
		}
		return func(ctx context.Context) (string, string, error) {
			q, g, err := v.grants.Approve(ctx, r.ID, verdict)
			return "approve request", front.AboutRequest(q) + "; granted: " + g.Permission.String(),
				err
		}
	})
}

func (v *visit) deny() error {
	return v.decide("request-denied", func(
		r grant.Request, d *permissionRequestPage,
	) func(context.Context) (string, string, error) {
		d.Why = v.field("note")
		d.Wrong.words("why", d.Why, true)
		return func(ctx context.Context) (string, string, error) {
			q, err := v.grants.Deny(ctx, r.ID, grant.Verdict{By: v.caller.Subject, Note: d.Why})
			return "deny request", front.AboutRequest(q), err
		}
	})
}

// decide applies the form of a decision to an open request: read puts the fields into the page,
// with their faults, and returns the change. Of two concurrent decisions one is applied; the other
// response contains the applied one.
func (v *visit) decide(done string, read func(
	r grant.Request, d *permissionRequestPage,
) func(context.Context) (action, object string, err error)) error {
	d, err := v.permissionRequestPage()
	if err != nil {
		return err
	}
	if d.Status == grant.Open {
		act := read(d.Request, &d)
		if len(d.Wrong) > 0 {
			return v.showAs(http.StatusUnprocessableEntity, "permission-request",
				d.page(problemBelow))
		}
		switch err = v.change(act); {
		case err == nil:
			return v.back(pathPermissionRequests, done)
		case errors.Is(err, grant.ErrDecided): // as it is read again below
		default:
			return v.unkept(err, "permission-request", d.page)
		}
		if d, err = v.permissionRequestPage(); err != nil {
			return err
		}
	}
	return v.showAs(http.StatusConflict, "permission-request",
		d.page("This request already has a decision, shown below. Nothing was changed."))
}

// page is the page of the request, with a problem.
func (d permissionRequestPage) page(problem string) page {
	return page{Title: "A request for " + visible.Text(d.Type), Here: "requests", Problem: problem,
		Data: d}
}
