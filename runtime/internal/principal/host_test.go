package principal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/capability"
	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/internal/request"
	"github.com/mcpgen/mcpgen/runtime/internal/worker"
	"github.com/mcpgen/mcpgen/runtime/redact"
)

// state is what a host of these tests returns next.
type state struct {
	mu  sync.Mutex
	set capability.Set
	err error
}

func (s *state) put(err error, permissions ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.set, s.err = capability.Set{}, err
	for _, p := range permissions {
		if name, ok := strings.CutSuffix(p, "?"); ok {
			s.set.Add(name, capability.Constraint(`{"site":"a"}`))
		} else {
			s.set.Add(p)
		}
	}
}

func (s *state) query(context.Context, access.Principal) (capability.Set, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.set, s.err
}

func infoOf(p access.Principal) *request.Info {
	return request.New(identity.Identity{Principal: p})
}

var (
	errDown    = errors.New("down")
	errUnknown = fmt.Errorf("user %q: %w", "ada", capability.ErrNoUser)
)

func TestAttachSetsCallerAndPermissionsOnce(t *testing.T) {
	for name, test := range map[string]struct {
		err         error
		anonymous   bool
		user        string
		unknown     bool
		unavailable bool
		nothing     bool // no Permissions
	}{
		"a user":                      {user: "ada"},
		"nobody":                      {err: errUnknown, user: "ada", unknown: true},
		"nobody, with anonymous ones": {err: errUnknown, anonymous: true, nothing: true},
		"unavailable":                 {err: errDown, user: "ada", unavailable: true},
		"unavailable, anonymous users": {err: errDown, anonymous: true, user: "ada",
			unavailable: true},
	} {
		s := &state{}
		s.put(test.err, "host:a.view_b")
		var log bytes.Buffer
		h, queried := hostOf(t, time.Minute, 10, s.query, func(c *HostConfig) {
			c.Anonymous, c.Log = test.anonymous, slog.New(slog.NewTextHandler(&log, nil))
		})
		info := infoOf(ada("Viewer"))
		err := h.Attach(t.Context(), info)
		if errors.Is(err, ErrUnknownUser) != test.unknown || err != nil && !test.unknown {
			t.Errorf("%s: %v", name, err)
		}
		if info.Principal.User != test.user || (info.Permissions == nil) != test.nothing ||
			(info.Principal.Permits != nil) != (test.err == nil) {
			t.Errorf("%s: %+v, %+v", name, info.Principal, info.Permissions)
		}
		if held := info.Permissions; held != nil && held.Unavailable != test.unavailable {
			t.Errorf("%s: %+v", name, held)
		}
		if (log.Len() > 0) != (test.err != nil) || strings.Contains(log.String(), "BADKEY") {
			t.Errorf("%s: %s", name, log.String())
		}
		before := queried.Load()
		h.Invalidate(nil)
		if again := h.Attach(t.Context(), info); again != err || queried.Load() != before {
			t.Errorf("%s: attached twice: %v", name, again)
		}
	}
	var none *Host
	info := infoOf(ada(""))
	if err := none.Attach(t.Context(), info); err != nil || info.Permissions != nil {
		t.Errorf("no host: %v", err)
	}
	s := &state{}
	h, queried := hostOf(t, time.Minute, 10, s.query)
	if err := h.Attach(t.Context(), infoOf(access.Principal{})); err != nil || queried.Load() != 0 {
		t.Errorf("an anonymous caller: %v", err)
	}
}

// A client that leaves while the host is read gets no permissions, and makes no error in the log.
func TestClientThatLeavesIsNoErrorOfTheHost(t *testing.T) {
	var log bytes.Buffer
	reading, release := make(chan struct{}), make(chan struct{})
	h, _ := hostOf(t, 0, 10, func(context.Context, access.Principal) (capability.Set, error) {
		close(reading)
		<-release
		return capability.Set{}, nil
	}, func(c *HostConfig) { c.Log = slog.New(slog.NewTextHandler(&log, nil)) })
	defer close(release)
	ctx, leave := context.WithCancel(t.Context())
	go func() { <-reading; leave() }()
	info := infoOf(ada("Viewer"))
	if err := h.Attach(ctx, info); err != nil || !info.Permissions.Unavailable || log.Len() > 0 {
		t.Errorf("%v, %+v: %s", err, info.Permissions, log.String())
	}
}

// holds reports whether a principal has the permission of the one tool.
func holds(h *Host, p access.Principal) bool { return h.Table.Decide(p, "view").Allowed }

func TestRefreshReturnsWhatCountsNow(t *testing.T) {
	s := &state{}
	s.put(nil, "host:a.view_b")
	h, queried := hostOf(t, time.Minute, 10, s.query)
	info := infoOf(ada("Viewer"))
	if err := h.Attach(t.Context(), info); err != nil || !info.Permissions.Current() {
		t.Fatal(err)
	}
	attached, held := info.Principal, info.Permissions
	p, now := h.Refresh(t.Context(), info, info.Principal)
	if p.Permits != attached.Permits || now != held || queried.Load() != 1 {
		t.Error("refreshed while current")
	}
	s.put(nil)
	h.Invalidate(nil)
	if held.Current() {
		t.Error("current after an invalidation")
	}
	p, now = h.Refresh(t.Context(), info, info.Principal)
	if p.Permits == nil || p.Permits == attached.Permits || holds(h, p) {
		t.Errorf("%+v", now)
	}
	s.put(errDown)
	h.Invalidate(nil)
	if p, now = h.Refresh(t.Context(), info, info.Principal); p.User != "ada" || p.Permits != nil ||
		!now.Unavailable {
		t.Errorf("unavailable: %+v, %+v", p, now)
	}
	s.put(errUnknown)
	h.Invalidate(nil)
	if p, now = h.Refresh(t.Context(), info, info.Principal); !p.IsZero() || now != nil {
		t.Errorf("a user that is gone: %+v, %+v", p, now)
	}
	if info.Principal.Permits != attached.Permits || info.Permissions != held {
		t.Error("the message was changed")
	}
	s.put(nil)
	unavailable := infoOf(ada(""))
	unavailable.Permissions = &request.Permissions{Unavailable: true}
	if _, now = h.Refresh(t.Context(), unavailable,
		unavailable.Principal); now != unavailable.Permissions {
		t.Error("a message without permissions got some on its way")
	}
}

// The host gets the roles that count within the boundary. If they have changed since the message
// arrived, the host is read again, also where permissions are kept. Other items of the boundary, as
// in the first run here, may be hidden, and have no effect.
func TestHostIsReadWithTheRolesWithinThePresentBoundary(t *testing.T) {
	for _, ttl := range []time.Duration{0, time.Minute} {
		h, queried := hostOf(t, ttl, 10, func(_ context.Context, p access.Principal) (set capability.Set,
			_ error) {
			if slices.Contains(p.Roles, "Admin") {
				set.Add("host:a.view_b")
			}
			return set, nil
		})
		bounds := func(items bool, roles ...string) *access.Bounds {
			return h.Table.Bounds(roles, func(access.Kind, access.Rule) bool { return items })
		}
		admin := ada("Admin")
		admin.Bounds = bounds(true, "Admin")
		info := infoOf(admin)
		if err := h.Attach(t.Context(), info); err != nil || !holds(h, info.Principal) {
			t.Fatal(err)
		}
		for i, role := range []string{"Admin", "Viewer", "Admin"} {
			now := info.Principal
			now.Bounds = bounds(i > 0, role)
			if p, _ := h.Refresh(t.Context(), info, now); holds(h, p) != (i > 0 && role == "Admin") ||
				!slices.Equal(p.Roles, []string{"Admin"}) || p.Bounds != now.Bounds {
				t.Errorf("%d: run %d, within %s: %+v", ttl, i, role, p)
			}
			if i == 0 && queried.Load() != 1 {
				t.Errorf("%d: an item of the boundary has caused a query", ttl)
			}
		}
		if queries := queried.Load(); ttl == 0 && queries != 3 || ttl > 0 && queries != 2 {
			t.Errorf("%d: %d queries", ttl, queries)
		}
	}
}

// Without a TTL, the first run of a message has the permissions of the message. A later run and a
// run after an invalidation read them again.
func TestRunAfterTheFirstReadsThePermissionsAgain(t *testing.T) {
	s := &state{}
	s.put(nil, "host:a.view_b")
	var loaded int
	h, queried := hostOf(t, 0, 10, s.query, func(c *HostConfig) {
		c.Loaded = func(p access.Principal) {
			if loaded++; p.Permits == nil {
				t.Error("loaded without permits")
			}
		}
	})
	attached := func() *request.Info {
		info := infoOf(ada("Viewer"))
		if err := h.Attach(t.Context(), info); err != nil {
			t.Fatal(err)
		}
		return info
	}
	runs := func(info *request.Info, held bool, queries int64) {
		t.Helper()
		before := queried.Load()
		p, _ := h.Refresh(t.Context(), info, info.Principal)
		if holds(h, p) != held || queried.Load()-before != queries {
			t.Errorf("holds %v, %d queries", !held, queried.Load()-before)
		}
	}
	info := attached()
	s.put(nil)
	runs(info, true, 0)
	runs(info, false, 1)
	s.put(nil, "host:a.view_b")
	runs(info, true, 1)
	info = attached()
	s.put(nil)
	h.Invalidate(func(access.Principal) bool { return true })
	runs(info, false, 1)
	if queried.Load() != 5 || loaded != 5 {
		t.Errorf("%d queries, %d loaded", queried.Load(), loaded)
	}
}

func TestConstraintsAreOfTheRule(t *testing.T) {
	s := &state{}
	h, _ := hostOf(t, time.Minute, 10, s.query)
	change, view := h.Table.Rules[0], h.Table.Rules[1]
	for name, test := range map[string]struct {
		held []string
		rule access.Rule
		want string
	}{
		"constrained":          {[]string{"host:a.view_b?"}, view, `[{"site":"a"}]`},
		"free":                 {[]string{"host:a.view_b"}, view, "[]"},
		"a rule that does not": {[]string{"host:a.change_b?"}, change, "[]"},
	} {
		s.put(nil, test.held...)
		h.Invalidate(nil)
		info := infoOf(ada(""))
		if err := h.Attach(t.Context(), info); err != nil {
			t.Fatal(err)
		}
		for range 2 { // the first writes to its own
			own := capability.Constraints(h.Constrain(t.Context(), info.Permissions, test.rule))
			if got := fmt.Sprintf("%s", own); got != test.want {
				t.Errorf("%s: %s, want %s", name, got, test.want)
			}
			for _, c := range own {
				c[0] = 'X'
			}
		}
	}
	if ctx := t.Context(); h.Constrain(ctx, nil, view) != ctx {
		t.Error("constraints without permissions")
	}
}

func TestPeekCausesNoLoaded(t *testing.T) {
	synctest.Test(t, testPeek)
}

func testPeek(t *testing.T) {
	s := &state{}
	var loaded, looked atomic.Int64
	h, _ := hostOf(t, time.Minute, 10, s.query, func(c *HostConfig) {
		c.Loaded = func(access.Principal) { loaded.Add(1) }
		c.Looked = func(cache string, _ bool) {
			if cache != "capabilities" {
				t.Errorf("cache %s", cache)
			}
			looked.Add(1)
		}
	})
	if p, err := h.Peek(t.Context(), ada("")); err != nil || p.Permits == nil {
		t.Errorf("%+v, %v", p, err)
	}
	h.Invalidate(nil)
	if err := h.Attach(t.Context(), infoOf(ada(""))); err != nil {
		t.Error(err)
	}
	synctest.Wait()
	if loaded.Load() != 1 || looked.Load() != 1 {
		t.Errorf("%d loaded, %d looked", loaded.Load(), looked.Load())
	}
	s.put(errUnknown)
	h.Invalidate(nil)
	if _, err := h.Peek(t.Context(), ada("")); !errors.Is(err, capability.ErrNoUser) {
		t.Errorf("%v", err)
	}
}

func TestViewIsAsOfAMessage(t *testing.T) {
	const refused = "the server refuses it (403 over HTTP), because Options.Anonymous is not set"
	eve := access.Principal{Subject: "eve"}
	for _, test := range []struct {
		p         access.Principal
		err       error
		anonymous bool
		why       string
		refused   bool
	}{
		{ada(""), nil, false, "", false},
		{ada(""), errDown, false, "the host is not available: down", false},
		{ada(""), errUnknown, false, `the host has no active user "ada"; ` + refused, true},
		{ada(""), errUnknown, true,
			`the host has no active user "ada"; it is treated as an anonymous caller`, false},
		{eve, errUnknown, false, `it has no user of the host (user "ada"); ` + refused, true},
		{access.Principal{}, nil, true, "", false},
		{access.Principal{}, nil, false,
			"the server refuses a caller without an identity (401 over HTTP), because Options.Anonymous " +
				"is not set", true},
	} {
		s := &state{}
		s.put(test.err)
		h, _ := hostOf(t, time.Minute, 10, s.query,
			func(c *HostConfig) { c.Anonymous = test.anonymous })
		v := h.View(t.Context(), test.p, test.anonymous)
		if v.Why != test.why || v.Refused != test.refused {
			t.Errorf("%+v, want %+v", v, test)
		}
		if held := v.Principal.Permits != nil; held != (test.why == "" && !test.p.Anonymous()) {
			t.Errorf("%+v: permits %v", test, held)
		}
	}
	var none *Host
	if v := none.View(t.Context(), access.Principal{}, false); !v.Refused {
		t.Errorf("no host: %+v", v)
	}
}

func TestServiceUserIsOfTheClientItself(t *testing.T) {
	s := &state{}
	h, _ := hostOf(t, time.Minute, 10, s.query, func(c *HostConfig) {
		c.ServiceUsers = []access.ServiceUser{
			{Client: "ci", User: "ada"}, {Client: "kiosk", User: "ada", Delegated: true},
		}
	})
	for _, test := range []struct {
		client string
		itself bool
		user   string
	}{{"ci", true, "ada"}, {"ci", false, ""}, {"kiosk", false, "ada"}, {"other", true, ""}} {
		p := h.WithUser(access.Principal{Subject: "x", Client: test.client}, test.itself)
		if p.User != test.user {
			t.Errorf("%+v: user %q", test, p.User)
		}
	}
	p := access.Principal{Subject: "x", Client: "ci", User: "bob", Permits: &access.Permits{}}
	if p = h.WithUser(p, true); p.User != "bob" || p.Permits != nil {
		t.Errorf("%+v", p)
	}
	if err := h.Resolve(t.Context(), access.Principal{Subject: "ci", Client: "ci"}); err != nil {
		t.Error(err)
	}
	err := h.Resolve(t.Context(), access.Principal{Subject: "eve", User: "eve"})
	if !errors.Is(err, capability.ErrNoUser) || err.Error() !=
		`the host has no active user "eve": correct the name, or create the user in the host` {
		t.Errorf("%v", err)
	}
}

func TestAdapterErrorsShowNoSecret(t *testing.T) {
	synctest.Test(t, testAdapterErrors)
}

func testAdapterErrors(t *testing.T) {
	pool := worker.NewPool()
	defer pool.Close()
	const secret = "postgres://ada:hunter2hunter2@db/host"
	call := func(f func() (int, error)) error {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := Supervise(ctx, pool, redact.Masker{}, f)
		return err
	}
	for name, f := range map[string]func() (int, error){
		"an error": func() (int, error) {
			return 0,
				fmt.Errorf("%s: %w", secret, context.Canceled)
		},
		"a panic": func() (int, error) { panic(secret) },
	} {
		if err := call(f); err == nil ||
			strings.Contains(err.Error(), "hunter2") ||
			errors.Is(err, context.Canceled) != (name == "an error") {
			t.Errorf("%s: %v", name, err)
		}
	}
	release := make(chan struct{})
	defer close(release)
	err := call(func() (int, error) { <-release; return 0, nil })
	if err != worker.ErrNoResponse {
		t.Errorf("a late one: %v", err)
	}
}

func TestUnreadablePermissionsAreDeniedAndLogged(t *testing.T) {
	var log bytes.Buffer
	var set capability.Set
	set.Add("host:a.view_b")
	set.Add("host:a.change_b")
	set.Unreadable("host:a.view_b", errors.New("password=hunter2 is not a JSON object"))
	query := func(context.Context, access.Principal) (capability.Set, error) { return set, nil }
	h, _ := hostOf(t, time.Minute, 10, query, func(c *HostConfig) {
		c.Log = slog.New(slog.NewTextHandler(&log, nil))
	})
	for range 2 {
		info := infoOf(ada("Viewer"))
		if err := h.Attach(t.Context(), info); err != nil {
			t.Fatal(err)
		}
		for tool, allowed := range map[string]bool{"view": false, "change": true} {
			if d := h.Table.Of(access.Tools).Decide(info.Principal, tool); d.Allowed != allowed {
				t.Errorf("%s: %+v", tool, d)
			}
		}
	}
	const line = "a permission of the host cannot be read; the server denies it"
	text := log.String()
	for _, want := range []string{
		"level=ERROR", "permission=host:a.view_b", "user=ada", "is not a JSON object"} {
		if !strings.Contains(text, want) {
			t.Errorf("the log has no %s: %s", want, text)
		}
	}
	if strings.Count(text, line) != 1 || strings.Contains(text, "hunter2") {
		t.Errorf("the log has %s", text)
	}
}

// late is a host that cannot be reached at first, and has the user ada alone.
type late struct {
	*source
	down *atomic.Bool
}

func (l late) Check(context.Context) error {
	if l.down.Load() {
		return errDown
	}
	return nil
}

func (l late) Resolve(ctx context.Context, p access.Principal) (capability.User, error) {
	if l.down.Load() {
		return capability.User{}, errDown
	}
	return l.source.Resolve(ctx, p)
}

// TestMissingUserOfAnotherClientIsNotTheCallers has a host that lacks the user of a configured
// client, which the checks at start report late. Other callers keep their identity until they pass.
func TestMissingUserOfAnotherClientIsNotTheCallers(t *testing.T) {
	for _, anonymous := range []bool{false, true} {
		down := &atomic.Bool{}
		down.Store(true)
		s := &state{}
		s.put(nil, "host:a.view_b")
		h, _ := hostOf(t, time.Minute, 10, fine, func(c *HostConfig) {
			c.Source, c.Anonymous = late{&source{query: s.query}, down}, anonymous
			c.ServiceUsers = []access.ServiceUser{{Client: "bot", User: "nobody"}}
		})
		if !Unreachable(h.Pending()) {
			t.Fatal(h.Pending())
		}
		down.Store(false)
		if err := h.Start(t.Context()); !errors.Is(err, capability.ErrNoUser) {
			t.Fatal(err)
		}
		info := infoOf(ada("Viewer"))
		err := h.Attach(t.Context(), info)
		if err != nil || info.Principal.Subject != "ada" || info.Permissions == nil ||
			!info.Permissions.Unavailable {
			t.Errorf("anonymous %v: %v, %+v", anonymous, err, info)
		}
		h.ServiceUsers = nil // as if the host made the user
		if err := h.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		info = infoOf(ada("Viewer"))
		if err := h.Attach(t.Context(), info); err != nil || info.Permissions == nil ||
			info.Permissions.Unavailable || !holds(h, info.Principal) {
			t.Errorf("anonymous %v, after the checks: %v, %+v", anonymous, err, info)
		}
	}
}

// checked is a host whose Check returns err.
type checked struct {
	*source
	err *atomic.Pointer[error]
}

func (c checked) Check(context.Context) error { return *c.err.Load() }

// TestHostThatDoesNotFitAnyMoreGivesNoPermissions has a host that is upgraded while the server
// runs. Its queries still succeed. Permissions count again without another query of readiness.
func TestHostThatDoesNotFitAnyMoreGivesNoPermissions(t *testing.T) {
	var result atomic.Pointer[error]
	returns := func(err error) { result.Store(&err) }
	returns(nil)
	s := &state{}
	s.put(nil, "host:a.view_b")
	h, _ := hostOf(t, time.Hour, 10, fine, func(c *HostConfig) {
		c.Source = checked{&source{query: s.query}, &result}
	})
	expect := func(when string, want bool) {
		t.Helper()
		info := infoOf(ada("Viewer"))
		err := h.Attach(t.Context(), info)
		if err != nil || info.Permissions == nil || info.Permissions.Unavailable == want {
			t.Errorf("%s: %v, %+v", when, err, info.Permissions)
		}
	}
	ready := func(want bool) {
		t.Helper()
		if err := h.Ready(t.Context()); (err == nil) != want {
			t.Error(err)
		}
	}
	misfit := capability.Misconfigured(fmt.Errorf("another release: %w", capability.ErrNoUser))
	ready(true)
	expect("at first", true)
	returns(errDown)
	ready(false)
	expect("while it cannot be checked", true)
	returns(misfit)
	expect("before readiness is queried", true)
	ready(false)
	expect("after an upgrade", false)
	returns(errDown)
	ready(false)
	expect("while it cannot be checked after an upgrade", false)
	returns(nil)
	expect("after the upgrade is undone", true)
	ready(true)
}

// hanging is a host that passes its check, and never returns a user.
type hanging struct {
	*source
	calls *atomic.Int64
	hold  chan struct{}
}

func (h hanging) Resolve(context.Context, access.Principal) (capability.User, error) {
	h.calls.Add(1)
	<-h.hold
	return capability.User{}, errDown
}

// TestChecksAtStartEndWithTheFirstQueryThatHangs has many configured users: a query for each would
// hold as many goroutines.
func TestChecksAtStartEndWithTheFirstQueryThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int64
		hold := make(chan struct{})
		defer close(hold)
		h, _ := hostOf(t, time.Minute, 10, fine, func(c *HostConfig) {
			c.Source = hanging{&source{query: fine}, &calls, hold}
			for i := range 500 {
				client := fmt.Sprint("client", i)
				c.ServiceUsers = append(c.ServiceUsers,
					access.ServiceUser{Client: client, User: "ada"})
			}
		})
		synctest.Wait()
		if n, text := calls.Load(), h.Pending().Error(); n != 1 || len(text) > 200 {
			t.Errorf("%d calls, %.200s", n, text)
		}
	})
}

// TestLongErrorsOfTheChecksAtStartAreCut has an error that the log gets for each request.
func TestLongErrorsOfTheChecksAtStartAreCut(t *testing.T) {
	h, _ := hostOf(t, time.Minute, 10, fine)
	long := errors.New(strings.Repeat("é", 10_000))
	h.pending.Store(&long)
	if _, err := h.get(ada("Viewer")); err == nil || len(err.Error()) > 1100 {
		t.Errorf("%.50v", err)
	}
}
