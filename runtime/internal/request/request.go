// Package request holds the facts about one message, which the transport and the guard set.
package request

//lint:file-ignore SA1019 log messages are deprecated in 2026-07-28, and still in use

import (
	"log/slog"
	"math/rand/v2"
	"reflect"
	"slices"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/capability"
	"github.com/mcpgen/mcpgen/runtime/catalog"
	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/internal/credential"
	"github.com/mcpgen/mcpgen/runtime/isolate"
	"github.com/mcpgen/mcpgen/runtime/observe"
	"github.com/mcpgen/mcpgen/runtime/redact"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// Info holds the facts about one message.
type Info struct {
	// Set by the transport.
	ID           string // in the log and the audit
	MessageID    string // of JSON-RPC, as JSON; empty for none
	Started      time.Time
	ClientItself bool      // the principal is the OAuth client itself
	Expires      time.Time // of the credential; zero never
	HTTP         *HTTP     // nil on stdio
	Catalog      CatalogQuery
	Arguments    []byte // of a prompt, the URI, or the argument to complete, as sent; nil for none
	Conn         Conn
	Credential   *credential.Held // for the handler; nil if there is none, or the message runs none

	// As authenticated, and then with the host's permissions, once package principal has set them.
	Principal   access.Principal
	Permissions *Permissions // nil without a query, or if an admitted caller has no user
	// Userless is the caller before, if Principal is anonymous because the host has no user for it.
	Userless access.Principal

	// Set by the transport, once it knows the message and its session.
	Server   *Server
	Version  string   // of the protocol; never empty from then on
	Session  Session  // nil without one
	Notifier Notifier // sends to the client during the message; nil for none
	Inputs   Inputs   // that the client supports
	TraceID  string   // of W3C Trace Context, in hex; empty for none
	SpanID   string

	Target Target // set by authorization once the message is allowed

	// Unsolicited are answers that came with the first call of a tool in go-sdk's shape.
	Unsolicited mcp.InputResponseMap

	standing atomic.Uint32 // of the caller, while the message goes on
}

// Bounded returns the caller whose boundary counts: Principal or Userless.
func (i *Info) Bounded() access.Principal {
	if i.Principal.Anonymous() && !i.Userless.Anonymous() {
		return i.Userless
	}
	return i.Principal
}

// Standing is the last decision about the caller of a message that goes on.
type Standing uint32

// The credential of a message is valid until the identity source decides otherwise.
const (
	Valid     Standing = iota
	Undecided          // the source cannot decide: nothing is sent
	Withdrawn          // the credential has ended
	Blocked            // the caller's client was blocked, whatever the identity source decides
)

// Stand notes the standing of the caller of the message. One that is blocked stays so.
func (i *Info) Stand(s Standing) {
	for {
		now := i.standing.Load()
		if Standing(now) == Blocked || i.standing.CompareAndSwap(now, uint32(s)) {
			return
		}
	}
}

// Blocked reports whether the caller's client was blocked during the message.
func (i *Info) Blocked() bool { return Standing(i.standing.Load()) == Blocked }

// Server holds the facts about the server that a message reached.
type Server struct {
	Name, Title, Version string
	Log                  *slog.Logger
	Masker               redact.Masker
	Protocols            []string     // versions of the protocol
	HTTP                 atomic.Bool  // its handler was made
	Streams              atomic.Int64 // clients on stdio and other streams
	// GuardedTools returns the tools with //mcp:allow that a principal may use now, by name; with
	// readOnly those that are marked readonly.
	GuardedTools func(p access.Principal, readOnly bool) []toolset.GuardedTool
}

// Transports names the transports that the server serves now.
func (s *Server) Transports() []string {
	all := []string{}
	if s.HTTP.Load() {
		all = append(all, observe.TransportHTTP)
	}
	if s.Streams.Load() > 0 {
		all = append(all, observe.TransportStdio)
	}
	return all
}

// Target is a tool, prompt or resource, by the name that its rule has.
type Target struct {
	Kind access.Kind
	Name string // empty if the message has none, or one that does not exist
	// Alias is the name by which the message means a tool; empty for the tool's own.
	Alias string
}

// Permissions are what the host lets a principal do.
type Permissions struct {
	// Constraints are those of the permissions of constrained rules. They are shared.
	Constraints map[access.Permission][]capability.Constraint
	Unavailable bool        // the host could not be asked: the caller may use what is public
	UnknownUser bool        // the host has no user for the caller: the message is refused
	Current     func() bool // reports whether one more run may use them; nil if UnknownUser
}

// Spend uses the permissions for one run: without a TTL, the next run reads them again.
func (p *Permissions) Spend() {
	if p != nil && p.Current != nil {
		_ = p.Current()
	}
}

// CatalogQuery is the part of the tools that a message asks for. The zero value asks for all.
type CatalogQuery struct {
	Refs     []catalog.Ref // for the tools of any of these catalogs; empty for all tools
	Set      bool          // the message names catalogs, or explicitly none
	TooLong  bool          // longer than any name, or too many; it is cut, and no catalog has it
	ReadOnly bool          // for tools marked readonly alone; calls obey it too
}

// IsZero reports whether a query asks for all tools.
func (q CatalogQuery) IsZero() bool { return len(q.Refs) == 0 && !q.ReadOnly }

// Equal reports whether two queries ask for the same.
func (q CatalogQuery) Equal(other CatalogQuery) bool {
	return q.Set == other.Set && q.TooLong == other.TooLong && q.ReadOnly == other.ReadOnly &&
		slices.Equal(q.Refs, other.Refs)
}

// Session is a session of a client, by identity; for a listen request of 2026-07-28, the request.
type Session interface {
	Notifier                                 // of what belongs to no message of the client
	ID() string                              // empty on stdio
	InitializeParams() *mcp.InitializeParams // nil before the handshake
	// Level returns the least level of the log messages that the client wants, false for none.
	Level() (slog.Level, bool)
	SetLevel(mcp.LoggingLevel, slog.Level)
	// OnEnd calls a func once the session has ended.
	OnEnd(func())
	// End ends the session. It may wait for what is being written.
	End()
}

// Notifier sends notifications to a client, with params that encoding/json can encode.
type Notifier interface {
	Notify(method string, params any) error
}

// Conn is the transport's side of one message.
type Conn interface {
	// Release lets the HTTP status leave: the message has been decided.
	Release()
	// Challenges reports whether a refusal can be an HTTP status.
	Challenges() bool
	// Challenge answers with 403 and this header (RFC 6750, section 3), if that is still possible.
	Challenge(authenticate string) bool
	// Reserve acquires a slot for a stream, or returns status 429 (user's limit) or 503 (server's).
	Reserve(User) (release func(), status int)
	// Watch authenticates the request of a stream again at each interval, until stop, and calls the
	// func with each change. The facts are those of the caller, if the credential is Valid, and else
	// nil. A transport without credentials never calls the func.
	Watch(func(Standing, *Info)) (stop func())
}

// InSession sets what the session of the message knows.
func (i *Info) InSession(s Session) {
	i.Session, i.Version = s, NewestWithSessions
	if params := s.InitializeParams(); params != nil {
		i.Version = params.ProtocolVersion
		i.Inputs = InputsOf(params.Capabilities)
	}
}

// Owner is who a session belongs to: a user, a client, and the actor of a delegated token.
type Owner struct {
	User
	Client string
	Actor  access.Actor
}

// OwnerOf returns the owner of the sessions that a principal opens.
func OwnerOf(p access.Principal) Owner {
	if p.Anonymous() {
		return Owner{}
	}
	return Owner{UserOf(p), p.ClientID(), p.Actor}
}

// Decision notes whether a message has been decided. Its Release is that of a [Conn].
type Decision struct{ made atomic.Bool }

// Release notes that the message has been decided.
func (d *Decision) Release() { d.made.Store(true) }

// Decided reports whether Release was called.
func (d *Decision) Decided() bool { return d.made.Load() }

// User is the owner of sessions, whatever the client. All anonymous callers are one user.
type User struct{ Issuer, Subject string }

// UserOf returns the user of a principal.
func UserOf(p access.Principal) User {
	if p.Anonymous() {
		return User{}
	}
	return User{p.Issuer, p.Subject}
}

// ClientOf returns the client whose grants, limits and workspace a principal has.
func ClientOf(p *access.Principal) isolate.Client {
	if p.Anonymous() {
		return isolate.Client{}
	}
	return isolate.Client{Issuer: p.Issuer, ID: p.ClientID()}
}

// NewID returns the id of a request at a time: 26 lower-case letters and digits, which are no
// secret. The first nine are the time in milliseconds, so that ids sort by time. The others have
// 85 random bits. New ids are then close together in the index of a database, which writes few
// pages. In upper case, some ids would begin like a credential (AKIA, ATBB), and logs mask those.
func NewID(now time.Time) string {
	const letters, times = "234567abcdefghijklmnopqrstuvwxyz", 9
	var id [26]byte
	bits := uint64(now.UnixMilli())
	for i := times - 1; i >= 0; i-- {
		id[i] = letters[bits&31]
		bits >>= 5
	}
	for i := times; i < len(id); i++ {
		if (i-times)%12 == 0 {
			bits = rand.Uint64()
		}
		id[i] = letters[bits&31]
		bits >>= 5
	}
	return string(id[:])
}

// New returns the facts about a message of an authenticated caller.
func New(id identity.Identity) *Info {
	i := &Info{}
	i.identify(id)
	return i
}

func (i *Info) identify(id identity.Identity) {
	i.Started = time.Now()
	i.ID = NewID(i.Started)
	i.Principal, i.ClientItself, i.Expires = id.Principal, id.ClientItself, id.Expires
}

// ForTask returns the facts for a run of a task, which outlives the message. The run has the
// message's caller and credential, and neither its session nor its response.
func (i *Info) ForTask(n Notifier) *Info {
	return &Info{ID: i.ID, Started: i.Started, ClientItself: i.ClientItself, Expires: i.Expires,
		HTTP: i.HTTP.kept(), Catalog: i.Catalog, Credential: i.Credential.Fork(),
		Principal: i.Principal, Permissions: i.Permissions, Userless: i.Userless, Server: i.Server,
		Version: i.Version, Notifier: n, Inputs: i.Inputs, TraceID: i.TraceID, SpanID: i.SpanID,
		Target: i.Target}
}

// RunsHandler reports whether messages of a method run a handler, which may read the caller's
// value.
func RunsHandler(method string) bool {
	switch method {
	case "tools/call", "prompts/get", "resources/read", "completion/complete", "tasks/update":
		return true
	}
	return false
}

// Mask returns a masker that also masks the secrets of the message.
func (i *Info) Mask(m redact.Masker) redact.Masker { return i.Credential.Mask(m) }

// Expired reports whether the credential has ended since it was verified, or the client was
// blocked: nothing of the message leaves any more.
func (i *Info) Expired() bool {
	return !i.Expires.IsZero() && !time.Now().Before(i.Expires) ||
		Standing(i.standing.Load()) >= Withdrawn
}

// Silent reports whether nothing may be sent to the client at present.
func (i *Info) Silent() bool { return i.Expired() || Standing(i.standing.Load()) == Undecided }

// HasSessions reports whether the message is of a protocol version before 2026-07-28.
func (i *Info) HasSessions() bool { return i.Version < Stateless }

// IDs are the attributes by which a log line names the message. i may be nil.
func (i *Info) IDs() slog.Attr { return slog.Any("", i) }

// LogValue implements [slog.LogValuer] with the ids of the message, its trace and its span.
func (i *Info) LogValue() slog.Value {
	if i == nil {
		return slog.GroupValue()
	}
	attrs := []slog.Attr{slog.String("request_id", i.ID)}
	for _, id := range [...][2]string{{"trace_id", i.TraceID}, {"span_id", i.SpanID}} {
		if id[1] != "" {
			attrs = append(attrs, slog.String(id[0], id[1]))
		}
	}
	return slog.GroupValue(attrs...)
}

// IsNil reports whether v is nil, or an interface that holds a nil pointer, map, func or the like.
func IsNil(v any) bool {
	switch r := reflect.ValueOf(v); r.Kind() {
	case reflect.Invalid:
		return true
	case reflect.Pointer, reflect.Map, reflect.Func, reflect.Slice, reflect.Chan:
		return r.IsNil()
	}
	return false
}
