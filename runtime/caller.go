package runtime

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/identity"
)

// record is the carrier: what the front found out about one message. It travels with the
// message in TokenInfo.Extra, on HTTP and stdio alike; the guard reads it from there and
// from nowhere else. Its type is not exported, so that nobody else can make one.
type record struct {
	principal access.Principal // as decided by; what the guard does with it is its own goroutine's
	caller    access.Principal // as it was before anything else ran; not changed any more
	itself    bool             // the principal is the OAuth client itself
	expires   time.Time        // of the credential; zero never
	header    http.Header      // of the HTTP request, without credentials; nil on stdio
	requestID string
	started   time.Time
	from      *origin // the HTTP request, kept in http; nil on stdio
	http      origin
	begun     atomic.Bool // the message has reached the guard

	// What is known once it has.
	server  *Server
	talk    talk   // with the client, while the message is answered
	traceID string // of W3C Trace Context; empty for none
	spanID  string
	doing   work    // what the caller asked for, where that is something that there is
	told    Outcome // for Options.Observer

	asked     asked     // the catalog, for a list of tools
	narrowing narrowing // what it makes of that

	// What the dispatch closure found, for the audit. One message is one call, and its
	// closure runs at most once at a time.
	outcome audit.Status
	reached bool  // the dispatch closure of this server answered
	ruled   ruled // what was decided behind the table
	failure error // why it did not succeed, where it says; for the log
	body    *body // what it answered with; nil where that is not the structured content alone

	answered   *sdkAnswer // the HTTP answer; nil on stdio
	gate       *gate      // of the HTTP answer, where refusals may be challenges
	challenged bool       // and this one was: nobody reads any other answer
	// With permission-aware discovery: what the host said of the caller.
	projected  bool        // it was asked
	unanswered bool        // and did not answer
	answer     *hostAnswer // its answer; nil where there is none
	listening  *watched

	// The event of a call that may be written as soon as its handler has answered, nil for none; whether
	// it was handed to the sink, and why it does not stand.
	awaited    *audit.Event
	recorded   bool
	unrecorded error

	streams func() // says that the request's answer is a stream, for which a shutdown does not wait; nil on stdio
	seats   *seats // of the HTTP handler or the stdio connection that it came by
	slot    *slot  // of the session that this message may open; nil where it opens none
}

const carrierKey = "github.com/mcpgen/mcpgen/runtime.record"

func newRecord(id identity.Identity, header http.Header) *record {
	return &record{principal: id.Principal, itself: id.ClientItself, expires: id.Expires, header: header, requestID: rand.Text(), started: time.Now()}
}

// tokenInfo is the record in the form that go-sdk carries. The user id binds sessions to
// their user and client and is never empty, since go-sdk binds nothing to an empty one.
func (r *record) tokenInfo() *auth.TokenInfo {
	user := "anonymous"
	if p := r.principal; !p.Anonymous() {
		// With the lengths in front, no two callers are spelled the same.
		user = fmt.Sprintf("principal %d:%s%d:%s%d:%s", len(p.Issuer), p.Issuer, len(p.Subject), p.Subject, len(p.ClientID()), p.ClientID())
	}
	return &auth.TokenInfo{UserID: user, Extra: map[string]any{carrierKey: r}}
}

// expired reports whether the credential has ended since it was verified.
func (r *record) expired() bool {
	return r.expiredWithin(0)
}

// expiredWithin reports whether the credential will have ended after some time more.
func (r *record) expiredWithin(more time.Duration) bool {
	return !r.expires.IsZero() && !time.Now().Add(more).Before(r.expires)
}

// recordOf returns the record that came with a message, or nil. Without one nothing is served.
func recordOf(extra *mcp.RequestExtra) *record {
	if extra == nil || extra.TokenInfo == nil {
		return nil
	}
	r, _ := extra.TokenInfo.Extra[carrierKey].(*record)
	return r
}

type recordKey struct{}

// callerKey is where a handler's context has the principal that its run was decided by, as a value of its own:
// a later run for the same message may be decided by another.
type callerKey struct{}

// Caller returns who is calling, from the context that a handler was given. It reports false
// outside of a call. An anonymous caller is the zero Principal.
//
// The context holds no credential. What go-sdk's own auth.TokenInfoFromContext finds in a
// session's context is the session's creator and not the caller, so handlers find nothing there.
func Caller(ctx context.Context) (access.Principal, bool) {
	if p, ok := ctx.Value(callerKey{}).(*access.Principal); ok {
		return *p, true
	}
	r, ok := ctx.Value(recordKey{}).(*record)
	if !ok {
		return access.Principal{}, false
	}
	return r.caller, true
}
