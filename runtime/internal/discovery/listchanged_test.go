package discovery

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/capability"
	"github.com/mcpgen/mcpgen/runtime/catalog"
	"github.com/mcpgen/mcpgen/runtime/internal/request"
)

// Whatever decides what is seen makes two callers of a session differ.
func TestCallersOfASessionSeeTheSameOnlyWhereAllThatDecidesIsEqual(t *testing.T) {
	member := []access.Membership{{Name: "acme"}}
	// A tool needs a role and a permission, which callers have or not.
	callers := func(minRole string) (*ListChanged, func(access.Permit) *access.Permits) {
		table, err := access.Compose(access.Part{Table: access.Table{
			Roles: [][]string{{"Viewer", "Admin"}},
			Rules: []access.Rule{{Tool: "t", MinRole: []string{minRole},
				Permission: access.Permission{App: "a", Action: "view", Object: "b"}}}}})
		if err != nil {
			t.Fatal(err)
		}
		table = table.Aware()
		return NewListChanged(ListChangedConfig{Lists: NewLists(ListsConfig{
				Policy: &Policy{Table: table}, PageSize: 10})}),
			func(permit access.Permit) *access.Permits {
				return table.Permits(func(access.Kind, access.Rule) access.Permit { return permit })
			}
	}
	l, permitsOf := callers("Viewer")
	one := caller("Viewer", "a", "b")
	one.Permits = permitsOf(access.PermitNone)
	equal := one
	equal.Permits = permitsOf(access.PermitNone)
	if !l.seesSame(one, one) || !l.seesSame(one, equal) {
		t.Error("one caller sees two things")
	}
	hidden, of := callers("Admin")
	low, high := one, one
	low.Permits, high.Permits = of(access.PermitNone), of(access.PermitAll)
	if !hidden.seesSame(low, high) {
		t.Error("a permission that only a hidden tool needs counts")
	}
	for name, change := range map[string]func(*access.Principal){
		"another subject":      func(p *access.Principal) { p.Subject = "bob" },
		"nobody":               func(p *access.Principal) { p.Subject = "" },
		"another role":         func(p *access.Principal) { p.Roles = []string{"Admin"} },
		"one more role":        func(p *access.Principal) { p.Roles = []string{"Viewer", "Admin"} },
		"another issuer":       func(p *access.Principal) { p.Issuer = "other" },
		"another organization": func(p *access.Principal) { p.Orgs = member },
		"another team":         func(p *access.Principal) { p.Teams = member },
		"another scope":        func(p *access.Principal) { p.Scopes = []string{"a", "c"} },
		"a scope less":         func(p *access.Principal) { p.Scopes = p.Scopes[:1] },
		"no scopes":            func(p *access.Principal) { p.Scopes = nil },
		"other permissions": func(p *access.Principal) {
			p.Permits = permitsOf(access.PermitAll)
		},
		"unknown permissions": func(p *access.Principal) { p.Permits = nil },
	} {
		other := one
		change(&other)
		if l.seesSame(one, other) || l.seesSame(other, one) {
			t.Errorf("%s is taken for the same", name)
		}
	}
}

// fakeHost returns the principal itself, or an error alone.
type fakeHost struct {
	mu      sync.Mutex
	queries int
	err     error
	permits *access.Permits // nil leaves those of the principal
}

func (h *fakeHost) Peek(_ context.Context, p access.Principal) (access.Principal, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.queries++
	if h.err != nil {
		return access.Principal{}, h.err
	}
	p.Permits = cmp.Or(h.permits, p.Permits)
	return p, nil
}

// took returns the number of queries since the last call.
func (h *fakeHost) took() int {
	synctest.Wait()
	h.mu.Lock()
	defer h.mu.Unlock()
	n := h.queries
	h.queries = 0
	return n
}

func (h *fakeHost) set(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.queries, h.err = 0, err
}

// session is a session that the test ends.
type session struct {
	request.Session
	ended chan struct{}
}

func newSession() *session { return &session{ended: make(chan struct{})} }

func (s *session) OnEnd(f func()) {
	go func() {
		<-s.ended
		f()
	}()
}

func (s *session) Notify(method string, params any) error { return notify(s, method, params) }

// notify gets the notifications of all sessions of a test.
var notify func(to *session, method string, params any) error

// clients are a ListChanged whose notifications are noted.
type clients struct {
	*ListChanged
	log  *journal
	mu   sync.Mutex
	sent []string
	fail error
}

func watching(t *testing.T, source catalog.Source, host Host) *clients {
	c := &clients{log: &journal{}}
	catalogs := catalogsOf(t, source, c.log)
	c.ListChanged = NewListChanged(ListChangedConfig{Kinds: request.Kinds[:],
		Lists: filled(catalogs.Policy, 10), Catalogs: catalogs, Host: host, Log: c.log.logger(),
		Interval: time.Minute})
	notify = func(_ *session, method string, params any) error {
		c.mu.Lock()
		defer c.mu.Unlock()
		kind := strings.TrimSuffix(strings.Split(method, "/")[1], "s")
		id := params.(*mcp.ToolListChangedParams).Meta[mcp.MetaKeySubscriptionID]
		c.sent = append(c.sent, strings.TrimSpace(fmt.Sprint(kind, " ", id)))
		return c.fail
	}
	return c
}

// got returns what was sent since the last time.
func (c *clients) got() []string {
	synctest.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	sent := c.sent
	c.sent = nil
	return sent
}

func (c *clients) want(t *testing.T, step string, want ...string) {
	t.Helper()
	if got := c.got(); !slices.Equal(got, want) {
		t.Errorf("%s: %q was sent, want %q", step, got, want)
	}
}

var permits = permitsOf(access.PermitNone)

// permitsOf returns a caller's permits of a table with one rule.
func permitsOf(permit access.Permit) *access.Permits {
	table := access.Table{Rules: []access.Rule{
		{Tool: "t", Permission: access.Permission{App: "a", Action: "view", Object: "b"}}}}
	return table.Permits(func(access.Kind, access.Rule) access.Permit { return permit })
}

func message(s request.Session, role string) *request.Info {
	p := caller(role)
	p.Permits = permits
	return &request.Info{Principal: p, Session: s, Version: request.NewestWithSessions}
}

// fences has one boundary for all clients.
type fences struct{ bounds *access.Bounds }

func (f *fences) Of(context.Context, access.Principal) (*access.Bounds, time.Time) {
	return f.bounds, time.Time{}
}

func (*fences) Blocked(access.Principal) bool { return false }

// rolesHost notes the roles with which it is read.
type rolesHost struct {
	fakeHost
	roles []string
}

func (h *rolesHost) Peek(ctx context.Context, p access.Principal) (access.Principal, error) {
	h.roles = append(h.roles, p.Within().Roles...)
	return h.fakeHost.Peek(ctx, p)
}

// If a boundary changes the roles that count, the host is read with these roles at once. It is not
// read if the same roles count.
func TestHostIsReadWithTheRolesOfThePresentBoundary(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := &rolesHost{fakeHost: fakeHost{permits: permits}}
		c := watching(t, nil, host)
		bounds := func(roles ...string) *access.Bounds {
			return c.Lists.Policy.Table.Bounds(roles, func(access.Kind, access.Rule) bool { return true })
		}
		all := &fences{bounds("Admin")}
		c.Boundaries = all
		s := newSession()
		info := message(s, "Admin")
		info.Principal.Bounds = all.bounds
		c.Observe(info)
		synctest.Wait()
		for _, roles := range [][]string{{"Viewer"}, {"Viewer"}, nil, {"Admin"}} {
			all.bounds = bounds(roles...)
			c.RecheckBoundaries(func(access.Principal) bool { return true })
			synctest.Wait()
		}
		if got := fmt.Sprint(host.roles); got != "[Viewer Admin]" || host.took() != 3 {
			t.Errorf("the host was read with %s", got)
		}
		close(s.ended)
	})
}

// A switch concerns the clients whose present boundary has the tool, also if the change of the
// boundary has changed no list.
func TestSwitchConcernsClientsOfThePresentBoundary(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &shelf{off: []string{"read"}}
		c := watching(t, source, nil)
		reload := func() func(access.Principal) bool {
			changed, err := c.Catalogs.Reload(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return changed
		}
		reload()
		bounds := func(has bool) *access.Bounds {
			return c.Lists.Policy.Table.Bounds([]string{"Admin"},
				func(_ access.Kind, r access.Rule) bool { return has || r.Tool != "read" })
		}
		present := &fences{bounds(false)}
		c.Boundaries = present
		s := newSession()
		defer close(s.ended)
		info := message(s, "Admin")
		info.Principal.Bounds = present.bounds
		c.Observe(info)
		synctest.Wait()
		present.bounds = bounds(true)
		c.RecheckBoundaries(func(access.Principal) bool { return true })
		synctest.Wait()
		source.off = nil
		c.RecheckSwitches(reload())
		c.want(t, "a switch of a tool that the boundary has now", "tool <nil>")
	})
}

// After the end of its last caller's credential a client gets nothing, and the host is not queried.
func TestNobodyIsNotifiedOnceTheCredentialHasEnded(t *testing.T) {
	host := &fakeHost{}
	l := watching(t, nil, host).ListChanged
	for name, test := range map[string]struct {
		expires time.Time
		known   bool
		queries int
	}{
		"ended":           {time.Now().Add(-time.Second), false, 0},
		"of another hour": {time.Now().Add(time.Hour), true, 1},
		"without an end":  {time.Time{}, true, 1},
		"that ends now":   {time.Now(), false, 0},
	} {
		host.set(nil)
		info := message(nil, "")
		info.Expires = test.expires
		s := l.newSubscription(context.Background(), info)
		s.unchecked = true
		if _, _, _, known := s.current(); known != test.known || host.queries != test.queries {
			t.Errorf("a credential %s: looked %v, queried %d times", name, known, host.queries)
		}
		s.end()
	}
}

// Middleware may hold an acknowledgement back until the client has left.
func TestWhoIsAcknowledgedTooLateIsNotWatched(t *testing.T) {
	l := watching(t, nil, &fakeHost{}).ListChanged
	for _, late := range []bool{false, true} {
		s, leave := l.Subscribe(context.Background(), message(nil, ""), nil, Filter{})
		if late {
			leave()
		}
		s.Prepare(&mcp.NotificationSubscriptions{}, nil)
		s.Acknowledged()
		if n := l.Count(); (n == 0) != late {
			t.Errorf("late %v: %d are watched", late, n)
		}
		leave()
		if n := l.Count(); n != 0 {
			t.Errorf("late %v: %d are watched after they have left", late, n)
		}
	}
}

func TestNilListChangedNotifiesNobody(t *testing.T) {
	var l *ListChanged
	l.Observe(message(newSession(), "Admin"))
	l.Listed(message(newSession(), "Admin"), Filter{})
	l.Recheck(nil)
	l.RecheckCatalogs()
	l.Loaded(caller("Admin"))
	l.Stream(newSession())()
	if l.MayChange(&request.Info{Principal: caller("Admin")}) {
		t.Error("it tells")
	}
}

func TestListsOfAnonymousCallersChangeWithASourceOnly(t *testing.T) {
	for _, source := range []catalog.Source{nil, &shelf{}} {
		l := watching(t, source, (*fakeHost)(nil)).ListChanged
		if l.MayChange(&request.Info{}) != (source != nil) ||
			!l.MayChange(&request.Info{Principal: caller("Viewer")}) ||
			l.Host != nil {
			t.Errorf("with source %v", source)
		}
	}
}

func TestOnlySessionsWithAHandshakeAreWatched(t *testing.T) {
	l := watching(t, nil, nil).ListChanged
	stateless := message(newSession(), "Admin")
	stateless.Version = request.Stateless
	nobody := message(newSession(), "Admin")
	nobody.Principal = access.Principal{}
	for _, info := range []*request.Info{stateless, nobody, message(nil, "Admin")} {
		l.Observe(info)
		l.Listed(info, Filter{})
	}
	if n := l.Count(); n != 0 {
		t.Errorf("%d are watched", n)
	}
}

func TestSessionIsNotifiedOfListsThatDiffer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := watching(t, &shelf{}, nil)
		s := newSession()
		c.Observe(message(s, "Viewer"))
		c.Observe(message(s, "Viewer"))
		c.Recheck(nil)
		c.want(t, "nothing changes")
		if c.Count() != 1 {
			t.Errorf("%d clients", c.Count())
		}
		c.Catalogs.Policy.turnOff("drop")
		c.Recheck(nil)
		c.want(t, "a tool that it does not see is off")
		c.Catalogs.Policy.turnOff("drop", "read")
		c.Recheck(func(p access.Principal) bool { return p.Subject == "bob" })
		c.want(t, "others are checked")
		c.Recheck(func(p access.Principal) bool { return p.Subject == "ada" && p.Permits == nil })
		c.want(t, "a tool is off", "tool <nil>")
		c.Observe(message(s, "Admin"))
		c.want(t, "a higher role", "prompt <nil>", "resource <nil>")
		c.fail = errors.New("gone")
		c.Catalogs.Policy.turnOff()
		c.Loaded(access.Principal{Subject: "ada", Issuer: "other"})
		c.want(t, "another user of the host")
		c.Loaded(access.Principal{Subject: "ada"})
		c.want(t, "its user of the host", "tool <nil>")
		if text := c.log.String(); !strings.Contains(text, "could not be sent") ||
			!strings.Contains(text, "gone") {
			t.Error(text)
		}
		close(s.ended)
		synctest.Wait()
		if c.Count() != 0 {
			t.Errorf("%d clients", c.Count())
		}
	})
}

func TestChangeBetweenTwoCredentialsIsSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := &fakeHost{}
		for _, test := range []struct {
			change func(*clients)
			want   []string
		}{
			{func(c *clients) { c.Catalogs.Policy.turnOff("read") }, []string{"tool <nil>"}},
			{func(*clients) { host.set(capability.ErrNoUser) }, []string{"tool <nil>", "resource <nil>"}},
		} {
			c := watching(t, &shelf{}, host)
			s := newSession()
			info := message(s, "Viewer")
			info.Expires = time.Now().Add(time.Minute)
			c.Observe(info)
			time.Sleep(time.Minute)
			test.change(c)
			c.Recheck(nil)
			c.want(t, "the credential has ended")
			c.Observe(message(s, "Viewer"))
			c.want(t, "there is another one", test.want...)
			close(s.ended)
		}
	})
}

func TestListeningIsForWhatWasRequestedOnceItIsAcknowledged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := &fakeHost{permits: permits}
		c := watching(t, &shelf{}, host)
		ctx, cancel := context.WithCancel(t.Context())
		s, leave := c.Subscribe(ctx, message(newSession(), "Admin"), nil, Filter{})
		c.Catalogs.Policy.turnOff("read")
		c.Recheck(nil)
		c.want(t, "before the acknowledgement")
		s.Prepare(&mcp.NotificationSubscriptions{ToolsListChanged: true}, 7)
		c.want(t, "the acknowledgement has not left")
		s.Acknowledged()
		c.want(t, "what has changed meanwhile", "tool 7")
		host.set(capability.ErrNoUser)
		c.Recheck(nil)
		c.want(t, "everything changes", "tool 7")
		host.set(nil)
		c.Recheck(nil)
		c.want(t, "everything is back", "tool 7")
		cancel()
		c.Catalogs.Policy.turnOff()
		c.Recheck(nil)
		c.want(t, "the request has ended")
		leave()
	})
}

func TestUserThatTheHostLosesSeesWhatIsPublic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := &fakeHost{}
		c := watching(t, nil, host)
		s := newSession()
		defer close(s.ended)
		c.Observe(message(s, "Admin"))
		host.set(errors.New("away"))
		c.Recheck(nil)
		c.want(t, "the host is away")
		host.set(fmt.Errorf("no: %w", capability.ErrNoUser))
		c.Recheck(nil)
		c.want(t, "the user is gone", "tool <nil>", "prompt <nil>", "resource <nil>")
	})
}

// While the host cannot be read, nobody is notified, however many checks are made. The next message
// has the host read again.
func TestNobodyIsNotifiedWhileTheHostIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := &fakeHost{}
		c := watching(t, nil, host)
		s := newSession()
		defer close(s.ended)
		c.Observe(message(s, "Admin"))
		host.set(errors.New("away"))
		unread := message(s, "Viewer")
		unread.Principal.Permits = nil
		c.Observe(unread)
		c.want(t, "the host is away")
		c.RecheckSwitches(func(access.Principal) bool { return true })
		c.want(t, "a check for another reason")
		host.set(nil)
		c.RecheckSwitches(func(access.Principal) bool { return true })
		c.want(t, "the host is back, and was not read")
		c.Observe(message(s, "Viewer"))
		c.want(t, "the next message", "tool <nil>", "prompt <nil>", "resource <nil>")
	})
}

// aware lets the host decide about the tool "read", and returns a message of a caller who may use
// it. lacks are the permissions of one who may not.
func aware(t *testing.T, c *clients, host *fakeHost) (info *request.Info, lacks *access.Permits) {
	t.Helper()
	table := office(t)
	for i := range table.Rules {
		if table.Rules[i].Tool == "read" {
			table.Rules[i].Permission = access.Permission{App: "a", Action: "view", Object: "b"}
		}
	}
	table, err := access.Compose(access.Part{Table: table})
	if err != nil {
		t.Fatal(err)
	}
	table = table.Aware()
	c.Catalogs.Policy.Table = table
	permits := func(permit access.Permit) *access.Permits {
		return table.Permits(func(access.Kind, access.Rule) access.Permit { return permit })
	}
	host.permits = permits(access.PermitAll)
	info = message(newSession(), "Viewer")
	info.Principal.Permits = host.permits
	return info, permits(access.PermitNone)
}

// Also by permissions that were read before the outage, nobody is notified in it.
func TestOutageIsForKnownPermissionsToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source, host := &shelf{}, &fakeHost{}
		c := watching(t, source, host)
		info, _ := aware(t, c, host)
		defer close(info.Session.(*session).ended)
		c.Observe(info)
		host.set(errors.New("away"))
		time.Sleep(5 * time.Minute)
		source.off = []string{"read"}
		changed, err := c.Catalogs.Reload(t.Context())
		if err != nil || changed == nil {
			t.Fatalf("no change, %v", err)
		}
		c.RecheckSwitches(changed)
		c.want(t, "a switch in the outage")
		host.set(nil)
		time.Sleep(time.Minute)
		c.want(t, "after it", "tool <nil>")
	})
}

// The permissions of a check whose catalog cannot be read count in the next one.
func TestCheckThatFailsKeepsThePermissions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source, host := &shelf{catalogs: []catalog.Found{{ID: "1", Name: "x",
			Tools: []string{"read", "look"}}}}, &fakeHost{}
		c := watching(t, source, host)
		info, lacks := aware(t, c, host)
		defer close(info.Session.(*session).ended)
		info.Catalog = queryOf("x", "")
		c.Observe(info)
		f, err := c.Catalogs.Resolve(t.Context(), info.Principal, info.Catalog)
		if err != nil {
			t.Fatal(err)
		}
		c.Listed(info, f)
		c.got()
		source.set(func(s *shelf) { s.fail = func(context.Context) error { return errors.New("away") } })
		host.permits = lacks
		c.Recheck(nil)
		c.want(t, "the source of catalogs is away")
		source.set(func(s *shelf) { s.fail = nil })
		time.Sleep(retryPause)
		c.want(t, "it is back", "tool <nil>")
	})
}

// What is invalidated while a listen request is held is read once its credential is valid again.
func TestHeldRequestIsCheckedAfterwards(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := &fakeHost{}
		c := watching(t, nil, host)
		info, lacks := aware(t, c, host)
		s, leave := c.Subscribe(t.Context(), info, nil, Filter{})
		defer leave()
		s.Prepare(&mcp.NotificationSubscriptions{ToolsListChanged: true}, 7)
		s.Acknowledged()
		s.Observe(nil)
		c.got()
		host.permits = lacks
		c.Recheck(nil)
		c.want(t, "held")
		s.Observe(info)
		c.want(t, "valid again", "tool 7")
	})
}

// A message with other permissions than the last known ones has the clients of its caller checked,
// once. A message with equal permissions costs no query.
func TestClientsAreCheckedWhenAMessageHasOtherPermissions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := &fakeHost{}
		c := watching(t, nil, host)
		_, lacks := aware(t, c, host)
		has := host.permits
		host.permits = lacks
		of := func(role string, permits *access.Permits) *request.Info {
			info := message(newSession(), role)
			info.Principal.Permits = permits
			return info
		}
		session := newSession()
		defer close(session.ended)
		info := of("Viewer", lacks)
		info.Session = session
		c.Observe(info)
		s, leave := c.Subscribe(t.Context(), of("Viewer", lacks), nil, Filter{})
		defer leave()
		s.Prepare(&mcp.NotificationSubscriptions{ToolsListChanged: true}, 7)
		s.Acknowledged()
		if n := host.took(); n != 1 {
			t.Errorf("%d queries for the acknowledgement", n)
		}
		for _, step := range []struct {
			role    string
			permits *access.Permits
			queries int
		}{
			{"Viewer", lacks, 0},
			{"Admin", has, 0}, // another caller, who may have others for good
			{"Viewer", has, 2},
			{"Viewer", has, 0},
			{"Viewer", lacks, 2},
		} {
			p := caller(step.role)
			p.Permits = step.permits
			host.permits = p.Permits
			c.Loaded(p)
			if n := host.took(); n != step.queries {
				t.Errorf("%s, %d queries: want %d", step.role, n, step.queries)
			}
		}
		info.Principal.Permits = lacks
		if c.Observe(info); host.took() != 0 {
			t.Error("a query for a message of an equal caller")
		}
	})
}

// Clients that wait for notifications are checked at an interval. A session over HTTP without a
// stream and an anonymous caller cannot gain by it.
func TestClientsThatWaitAreCheckedAtAnInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := &fakeHost{}
		c := watching(t, &shelf{}, host)
		overHTTP, stdio, anonymous := newSession(), newSession(), newSession()
		for _, s := range []*session{overHTTP, stdio, anonymous} {
			defer close(s.ended)
			info := message(s, "Viewer")
			if s == overHTTP {
				info.HTTP = &request.HTTP{}
			} else if s == anonymous {
				info.Principal = access.Principal{}
			}
			c.Observe(info)
		}
		checked := func(step string, want int) {
			t.Helper()
			time.Sleep(time.Minute)
			if n := host.took(); n != want {
				t.Errorf("%s: %d queries, want %d", step, n, want)
			}
		}
		time.Sleep(30 * time.Second) // between two checks
		checked("a session on stdio", 1)
		end, endOther := c.Stream(overHTTP), c.Stream(overHTTP)
		checked("a stream", 2)
		end()
		checked("one of two streams", 2)
		endOther()
		checked("after the streams", 1)
		_, leave := c.Subscribe(t.Context(), message(newSession(), "Viewer"), nil, Filter{})
		checked("before the acknowledgement", 1)
		leave()
		s, leave := c.Subscribe(t.Context(), message(newSession(), "Viewer"), nil, Filter{})
		s.Prepare(&mcp.NotificationSubscriptions{}, 7)
		s.Acknowledged()
		if host.took(); len(c.streams) != 0 {
			t.Error("a stream is left")
		}
		checked("a listen request", 2)
		host.set(fmt.Errorf("no: %w", capability.ErrNoUser))
		c.got()
		time.Sleep(time.Minute)
		c.want(t, "the user is gone", "tool <nil>", "resource <nil>")
		leave()
	})
}

func TestClientsOfACatalogAreNotifiedWhenItChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &shelf{}
		put := func(tools ...string) {
			source.set(func(s *shelf) {
				s.catalogs = []catalog.Found{
					{ID: "1", Name: "kit", Tools: tools}}
			})
		}
		put("read")
		c := watching(t, source, nil)
		whole, s := newSession(), newSession()
		defer close(whole.ended)
		defer close(s.ended)
		info := message(s, "Viewer")
		info.Catalog = queryOf("kit", "")
		for _, info := range []*request.Info{message(whole, "Viewer"), info} {
			c.Observe(info)
			f, err := c.Catalogs.Filter(t.Context(), info)
			if err != nil {
				t.Fatal(err)
			}
			c.Listed(info, f)
			c.Listed(info, f)
		}
		c.want(t, "they are listed")
		put("read", "drop")
		c.RecheckCatalogs()
		c.want(t, "a tool that the caller does not see")
		put("look", "read")
		c.RecheckCatalogs()
		c.want(t, "a tool more", "tool <nil>")
		source.set(func(s *shelf) {
			s.fail = func(
				context.Context) error {
				return errors.New("away")
			}
		})
		put("look")
		c.RecheckCatalogs()
		c.want(t, "the source is away")
		source.set(func(s *shelf) { s.fail = nil })
		time.Sleep(retryPause)
		c.want(t, "the source is back", "tool <nil>")
		info.Catalog = queryOf("kit", "1")
		f, err := c.Catalogs.Filter(t.Context(), info)
		if err != nil {
			t.Fatal(err)
		}
		put("look", "read")
		c.Listed(info, f)
		c.want(t, "a change between list and notice", "tool <nil>")
		put("look")
		c.RecheckCatalogs()
		c.want(t, "a tool less", "tool <nil>")
		source.set(func(s *shelf) { s.catalogs = nil })
		c.RecheckCatalogs()
		c.want(t, "the catalog is gone: the list is whole", "tool <nil>")
	})
}

// TestReadonlyListIsNotNotifiedOfOtherTools switches off a tool that the client's list does not
// have.
func TestReadonlyListIsNotNotifiedOfOtherTools(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := watching(t, &shelf{}, nil)
		whole, part := newSession(), newSession()
		defer close(whole.ended)
		defer close(part.ended)
		info := message(part, "Admin")
		info.Catalog = readOnly(request.CatalogQuery{})
		for _, info := range []*request.Info{message(whole, "Admin"), info} {
			c.Observe(info)
			f, err := c.Catalogs.Filter(t.Context(), info)
			if err != nil {
				t.Fatal(err)
			}
			c.Listed(info, f)
		}
		c.want(t, "they are listed")
		c.Catalogs.Policy.turnOff("drop")
		c.Recheck(nil)
		c.want(t, "a tool that may write is off", "tool <nil>")
		c.Catalogs.Policy.turnOff("drop", "look")
		c.Recheck(nil)
		c.want(t, "a readonly tool is off", "tool <nil>", "tool <nil>")
	})
}

// A list of another catalog, while the last one is being resolved, counts and not that.
func TestCatalogThatChangesDuringACheckIsCheckedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &shelf{catalogs: []catalog.Found{
			{ID: "1", Name: "one", Tools: []string{"read"}},
			{ID: "2", Name: "two", Tools: []string{"look"}},
		}}
		c := watching(t, source, nil)
		s := newSession()
		defer close(s.ended)
		listed := func(name string) {
			info := message(s, "Viewer")
			info.Catalog = queryOf(name, "")
			c.Observe(info)
			f, err := c.Catalogs.Filter(t.Context(), info)
			if err != nil {
				t.Fatal(err)
			}
			c.Listed(info, f)
		}
		listed("one")
		synctest.Wait()
		hold := make(chan struct{})
		source.set(func(s *shelf) { s.fail = func(context.Context) error { <-hold; return nil } })
		c.RecheckCatalogs()
		synctest.Wait()
		source.set(func(s *shelf) { s.fail = nil })
		listed("two")
		close(hold)
		c.want(t, "nothing has changed")
	})
}

func TestFewClientsAreCheckedAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &shelf{catalogs: []catalog.Found{{ID: "1", Name: "kit", Tools: []string{"read"}}}}
		c := watching(t, source, nil)
		in := c.Catalogs.Policy.Table.Named([]string{"read"})
		for range 3 * maxChecks {
			s := newSession()
			defer close(s.ended)
			info := message(s, "Viewer")
			c.Observe(info)
			info.Catalog = queryOf("kit", "")
			c.Listed(info, Filter{In: &in})
		}
		synctest.Wait()
		hold := make(chan struct{})
		source.set(func(s *shelf) {
			s.queries, s.fail = 0, func(context.Context) error { <-hold; return nil }
		})
		c.RecheckCatalogs()
		synctest.Wait()
		if source.queries != maxChecks {
			t.Errorf("%d clients are checked at a time", source.queries)
		}
		close(hold)
		synctest.Wait()
		if source.queries != 3*maxChecks {
			t.Errorf("%d clients are checked", source.queries)
		}
	})
}
