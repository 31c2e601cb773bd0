package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/capability"
	"github.com/mcpgen/mcpgen/runtime/identity"
)

// checkedHost is a host whose Check is a func.
type checkedHost struct {
	*fakeHost
	check func(context.Context) error
}

func (h checkedHost) Check(ctx context.Context) error { return h.check(ctx) }

// sqlError is an error as drivers of PostgreSQL return it.
type sqlError string

func (e sqlError) Error() string {
	return "ERROR: permission denied for table t (SQLSTATE " + string(e) + ")"
}
func (e sqlError) SQLState() string { return string(e) }

func passes(context.Context) error { return nil }

// hostOptions are the options of a server that is aware of a host.
func hostOptions(source capability.Source, logger *slog.Logger) runtime.Options {
	return runtime.Options{Host: runtime.HostOptions{Source: source}, Identity: hosted(),
		Logger: logger}
}

const (
	notReady   = "the server is not ready"
	readyAgain = "a readiness check passes again"
)

func TestHostThatCannotBeReadDoesNotStart(t *testing.T) {
	t.Parallel()
	const what = "mcp server: Options.Host.Source cannot read the host: "
	missing := capability.Misconfigured(errors.New("no column auth_user.usrname"))
	down := errors.New("connection refused")
	for _, test := range []struct {
		err  error // of a check and of a query
		want string
	}{
		{fmt.Errorf("django: %w", missing), what + "django: no column auth_user.usrname"},
		{errors.Join(down, missing), what + "connection refused\nmcp server: no column " +
			"auth_user.usrname"},
		{down, ""}, {nil, ""}, {capability.ErrNoUser, ""},
		{sqlError("42P01"), what}, {sqlError("42703"), what}, {sqlError("28000"), what},
		{fmt.Errorf("django: %w", sqlError("42501")), what}, {sqlError("3D000"), what},
		{sqlError("57P03"), ""}, {sqlError("53300"), ""}, // it starts, and it has no connections
		{errors.New("no such table: t (1)"), what}, {errors.New("no such column: u.x (1)"), what},
	} {
		asked := newHost(nil)
		asked.failing(func(context.Context) error { return test.err })
		check := func(context.Context) error { return test.err }
		for _, source := range []capability.Source{asked, checkedHost{newHost(nil), check}} {
			err := refused(t, test.want, hostOptions(source, quiet()), stock())
			if (test.want != "") != errors.As(err, new(*capability.ConfigurationError)) {
				t.Errorf("%v: %#v", test.err, err)
			}
		}
	}
	crash := func(context.Context) error { panic("boom") }
	refused(t, what+"it panicked: boom", hostOptions(checkedHost{newHost(nil), crash}, quiet()),
		stock())
}

func TestHostWithoutCheckIsQueriedAtStart(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		source func(*fakeHost) capability.Source
		asked  string
	}{
		"none":      {func(h *fakeHost) capability.Source { return h }, "mcpgen-start-check"},
		"a checker": {func(h *fakeHost) capability.Source { return checkedHost{h, passes} }, ""},
	} {
		h := newHost(nil)
		s := newServer(t, hostOptions(test.source(h), quiet()), stock())
		asked := h.times(test.asked)
		if test.asked != "" && asked != 1 || test.asked == "" && len(h.asked) > 0 {
			t.Errorf("%s: %v at start", name, h.asked)
		}
		if status, _ := asksReady(s)(); status != 200 {
			t.Errorf("%s: %d", name, status)
		}
		if test.asked != "" && h.times(test.asked) != 2 {
			t.Errorf("%s: %v for readiness", name, h.asked)
		}
	}
}

// TestServerStartsNotReadyWithoutItsHost has a host whose permissions could be read before its
// check passes: they do not count until then.
func TestServerStartsNotReadyWithoutItsHost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log lines
		var checks atomic.Int32
		var down atomic.Bool
		h := newHost(nil)
		h.set("ada", "dcim.view_device")
		source := checkedHost{h, func(ctx context.Context) error {
			checks.Add(1)
			if _, ok := ctx.Deadline(); !ok {
				t.Error("a check has no time limit")
			}
			if down.Load() {
				return errors.New("dial postgres://app:t0psecret@db/: connection refused")
			}
			return nil
		}}
		down.Store(true)
		s := newServer(t, hostOptions(source, log.at(slog.LevelInfo)), stock())
		defer s.Shutdown(context.Background())
		ready := asksReady(s)
		ada := access.Principal{Subject: "ada", User: "ada", Roles: []string{"Viewer"}}
		logged := func(when string, failed, passed int) {
			t.Helper()
			synctest.Wait()
			f, p := log.of(t, notReady), log.of(t, readyAgain)
			if len(f) != failed || len(p) != passed {
				t.Errorf("%s: the log has %v and %v", when, f, p)
			}
			for _, line := range append(f, p...) {
				if line["check"] != "Options.Host.Source" {
					t.Errorf("%s: %v", when, line)
				}
			}
		}
		expect := func(when string, status int, started bool) {
			t.Helper()
			if got, _ := ready(); got != status {
				t.Errorf("%s: readiness is %d", when, got)
			}
			e := s.Explain(t.Context(), ada, "device_get")
			if e.Allowed != started || (h.times("ada") > 0) != started {
				t.Errorf("%s: allowed %v, %d queries, %s", when, e.Allowed, h.times("ada"), e.Host)
			}
		}
		logged("before anybody asks", 1, 0)
		expect("at start", 503, false)
		time.Sleep(10 * time.Minute)
		expect("later", 503, false)
		logged("later", 1, 0)
		if n := checks.Load(); n < 60 || n > 100 {
			t.Errorf("%d checks in ten minutes", n)
		}
		down.Store(false)
		time.Sleep(10 * time.Second)
		logged("before anybody asks again", 1, 1)
		expect("reachable", 200, true)
		before := checks.Load()
		time.Sleep(time.Hour)
		if checks.Load() != before {
			t.Error("checks go on")
		}
		down.Store(true)
		expect("an outage", 503, true) // Check fails, and the query does not
		logged("an outage", 2, 1)
		down.Store(false)
		time.Sleep(time.Second)
		expect("its end", 200, true)
		logged("its end", 2, 2)
		if text := log.String(); strings.Contains(text, "t0psecret") ||
			!strings.Contains(text, "connection refused") {
			t.Error(text)
		}
	})
}

// TestHostIsCheckedInFullOnceItIsReachable has a host that is reached late and lacks a permission.
func TestHostIsCheckedInFullOnceItIsReachable(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log lines
		var down atomic.Bool
		var actions atomic.Pointer[[]string]
		has := func(names ...string) { actions.Store(&names) }
		has("dcim.view_device", "dcim.change_device", "dcim.wipe_device", "dcim.view_site")
		h := newHost(nil)
		source := struct {
			oddHost
			capability.Checker
		}{
			oddHost{fakeHost: h, actions: func(context.Context) ([]string, error) {
				return *actions.Load(), nil
			}},
			checkedHost{nil, func(context.Context) error {
				if down.Load() {
					return errors.New("down")
				}
				return nil
			}}}
		down.Store(true)
		options := hostOptions(source, log.at(slog.LevelInfo))
		options.Identity = identity.Static(map[string]access.Principal{
			identity.HashToken("t"): {Subject: "bot", User: "ada"}})
		s := newServer(t, options, stock())
		defer s.Shutdown(context.Background())
		ready := asksReady(s)
		wrong := func() []map[string]any {
			synctest.Wait()
			return log.of(t, "the host is reachable, but does not fit the server")
		}
		if all := wrong(); len(all) != 0 || len(log.of(t, notReady)) != 1 {
			t.Error(log.String())
		}
		down.Store(false)
		time.Sleep(time.Minute)
		all := wrong()
		if status, _ := ready(); status != 503 || len(all) != 1 {
			t.Fatalf("%d, %v", status, all)
		}
		for _, want := range []string{
			"the host has no permission billing.export", `the host has no active user "ada"`} {
			if !strings.Contains(all[0]["error"].(string), want) {
				t.Errorf("%v, want %s", all, want)
			}
		}
		h.set("ada", "billing.export")
		has(append(*actions.Load(), "billing.export")...)
		time.Sleep(time.Minute)
		if status, _ := ready(); status != 200 || len(wrong()) != 1 ||
			len(log.of(t, readyAgain)) != 1 {
			t.Errorf("%d, %s", status, log.String())
		}
	})
}

func TestCheckOfAHostThatNeverReturnsHoldsOneGoroutine(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log lines
		var checks atomic.Int32
		hold := make(chan struct{})
		source := checkedHost{newHost(nil), func(context.Context) error {
			checks.Add(1)
			<-hold
			return nil
		}}
		began := time.Now()
		s := newServer(t, hostOptions(source, log.at(slog.LevelInfo)), stock())
		defer s.Shutdown(context.Background())
		if took := time.Since(began); took != runtime.DefaultCapabilityTimeout {
			t.Errorf("New took %s", took)
		}
		ready := asksReady(s)
		for range 100 {
			if status, _ := ready(); status != 503 {
				t.Errorf("%d", status)
			}
			time.Sleep(time.Second)
		}
		if n, f := checks.Load(), log.of(t, notReady); n != 1 || len(f) != 1 ||
			!strings.Contains(fmt.Sprint(f[0]["error"]), "no response in time") {
			t.Errorf("%d checks, %v", n, f)
		}
		close(hold)
		time.Sleep(10 * time.Second)
		if status, _ := ready(); status != 200 || len(log.of(t, readyAgain)) != 1 {
			t.Errorf("%d, %s", status, log.String())
		}
	})
}

// TestServerWithoutItsHostShutsDown has a server that waits for its host: its retries end.
func TestServerWithoutItsHostShutsDown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		down := func(context.Context) error { return errors.New("down") }
		source := checkedHost{newHost(nil), down}
		s := newServer(t, hostOptions(source, quiet()), stock())
		if err := s.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
