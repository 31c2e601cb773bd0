package front_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	_ "modernc.org/sqlite"

	"github.com/mcpgen/mcpgen/internal/testdb"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/admin/internal/front"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/catalog"
	"github.com/mcpgen/mcpgen/runtime/grant"
	"github.com/mcpgen/mcpgen/runtime/grant/stored"
	"github.com/mcpgen/mcpgen/runtime/store"
)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// result is SQLite's code, and state is PostgreSQL's.
type (
	result int
	state  string
	early  struct{ error }
)

func (r result) Error() string   { return fmt.Sprint("result ", int(r)) }
func (r result) Code() int       { return int(r) }
func (s state) Error() string    { return string(s) }
func (s state) SQLState() string { return string(s) }
func (early) SafeToRetry() bool  { return true }

func TestOutageReportsWhatHasComeOfARequest(t *testing.T) {
	const slow, down = "no response in time: try again; ", "the database does not respond: try again; "
	const only, full = "the database is read-only: try again later; ",
		"the disk of the database is full: try again later; "
	const lost = "the database accepts no changes: try again later; "
	const none, perhaps = "nothing was changed",
		"the change may have been made: check before you send it again"
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct {
		ctx   context.Context
		err   error
		reads bool
		want  string
	}{
		{nil, errors.New("a bug"), false, ""}, {nil, errors.New("a bug"), true, ""},
		{nil, result(1), false, ""}, {nil, result(19), false, ""}, {nil, state("42501"), false, ""},
		{ended, errors.New("whatever"), false, slow + perhaps}, {ended, errors.New("whatever"),
			true, slow + none},
		{nil, context.DeadlineExceeded, false, slow + perhaps}, {nil, context.Canceled, true,
			slow + none},
		{nil, result(5), false, down + none}, {nil, result(5 | 2<<8), false, down + none},
		{nil, result(6), false, down + none},
		{nil, state("08006"), false, down + perhaps}, {nil, state("57P01"), true, down + none},
		{nil, state("53300"), false, down + none},
		{nil, state("25006"), false, only + none}, {nil, state("53100"), false, full + none},
		{nil, state("58030"), false, down + perhaps}, {nil, state("55P03"), false, down + none},
		{nil, state("40001"), false, down + none}, {nil, state("28P01"), false, down + none},
		{nil, state("3D000"), true, down + none}, {nil, state("4"), false, ""},
		{nil, result(8 | 1<<8), false, only + none}, {nil, result(13), false, full + none},
		{nil, result(10 | 4<<8), false, down + perhaps}, {nil, result(10), true, down + none},
		{nil, result(14), false, down + none}, {nil, store.ErrUnwritable, false, lost + perhaps},
		{nil, store.ErrUnwritable, true, lost + none}, {nil, result(8 | 4<<8), false, lost + none},
		{nil, errors.Join(store.ErrUnwritable, result(14)), false, lost + none},
		{nil, driver.ErrBadConn, false, down + perhaps}, {nil, sql.ErrConnDone, true, down + none},
		{nil, io.ErrUnexpectedEOF, false, down + perhaps},
		{nil, &net.OpError{Op: "read", Err: errors.New("gone")}, false, down + perhaps},
		{nil, &net.OpError{Op: "dial", Err: errors.New("refused")}, false, down + none},
		{nil, early{errors.New("not sent")}, false, down + none}, {nil, store.ErrClosed, false,
			down + none},
	} {
		if c.ctx == nil {
			c.ctx = t.Context()
		}
		if got := front.Outage(c.ctx, fmt.Errorf("store: %w", c.err), c.reads); got != c.want {
			t.Errorf("%v, %t: %q, want %q", c.err, c.reads, got, c.want)
		}
	}
}

// TestStoreThatIsBusyOrClosedIsAnOutage asks the store itself, whose words they are.
func TestStoreThatIsBusyOrClosedIsAnOutage(t *testing.T) {
	ctx := t.Context()
	path := filepath.Join(t.TempDir(), "store.db")
	s := must(store.Open(ctx, "sqlite:"+path))
	other := must(sql.Open("sqlite", path))
	defer other.Close()
	conn := must(other.Conn(ctx))
	defer conn.Close()
	must(conn.ExecContext(ctx, "BEGIN IMMEDIATE"))
	_, busy := s.CreateOrg(ctx, "acme", audit.Event{})
	must(conn.ExecContext(ctx, "ROLLBACK"))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	_, closed := s.CreateOrg(ctx, "acme", audit.Event{})
	_, _, unread := s.Orgs(ctx, store.Page[int64]{})
	recorded := s.Audit().Record(ctx, audit.Event{})
	for _, err := range []error{busy, closed, unread, recorded} {
		if got := front.Outage(ctx, err, false); err == nil ||
			got != "the database does not respond: try again; nothing was changed" {
			t.Errorf("%v: %q", err, got)
		}
	}
}

func TestNamesOfCodeAreTakenEverywhereButInOrganizationsAndTeams(t *testing.T) {
	declared := []catalog.Found{{Name: "kit"}}
	for _, c := range []struct {
		in   store.Scope
		name string
		want bool
	}{{store.Global, "kit", true}, {store.Global, "other", false}, {store.InOrg(1), "kit", false},
		{store.InTeam(1), "kit", false}} {
		if err := front.Shadowed(declared, c.in, c.name); (err != nil) != c.want || err != nil &&
			!strings.Contains(err.Error(), `declares a catalog "kit"`) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

func TestRefusalIsRecordedForWhoHasLeft(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var log strings.Builder
	var got audit.Event
	sink := audit.SinkFunc(func(ctx context.Context, e audit.Event) error {
		if _, bounded := ctx.Deadline(); !bounded || ctx.Err() != nil {
			t.Error("the record has no time, or too much")
		}
		got = e
		return errors.New("the disk is full")
	})
	logger := slog.New(slog.NewTextHandler(&log, nil))
	by := audit.Event{Principal: "mel", RequestID: "R1",
		Arguments: []audit.Argument{{Name: "secret"}}}
	front.Refused(ctx, sink, logger, by, "do it", "organization 1", front.NeedsAdmin)
	if got.Time.IsZero() {
		t.Error("no time")
	}
	got.Time = by.Time
	if want := (audit.Event{Type: audit.AdminRequest, Status: audit.Failed, Failure: audit.Denied,
		Principal: "mel",
		RequestID: "R1", Action: "do it", Object: "organization 1",
		Missing: "requires the role of an admin"}); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	if !strings.Contains(log.String(), "the disk is full") || !strings.Contains(log.String(),
		"R1") {
		t.Errorf("the log: %s", &log)
	}
	front.Refused(ctx, nil, logger, by, "", "", "")
}

func TestEventOfADelegatedTokenHasTheActor(t *testing.T) {
	p := access.Principal{Issuer: "i", Subject: "ada", Client: "agent", Roles: []string{"Admin"}}
	if e := front.By(p, "R1"); e.Actor != nil {
		t.Errorf("an actor without one: %+v", e.Actor)
	}
	p.Actor = access.Actor{Issuer: "i", Subject: "bot"}
	if e := front.By(p, "R1"); e.Actor == nil || *e.Actor != p.Actor {
		t.Errorf("%+v, want %+v", e.Actor, p.Actor)
	}
}

func TestBodyIsReadOnceAndPutBack(t *testing.T) {
	r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader("1234567"))
	body, err := front.Body(httptest.NewRecorder(), r, 7)
	if again := must(io.ReadAll(r.Body)); err != nil || string(body) != "1234567" ||
		string(again) != "1234567" {
		t.Errorf("%q, %q, %v", body, again, err)
	}
	var tooLarge *http.MaxBytesError
	r = httptest.NewRequest(http.MethodPost, "/", strings.NewReader("12345678"))
	if _, err := front.Body(httptest.NewRecorder(), r, 7); !errors.As(err, &tooLarge) {
		t.Error(err)
	}
	if body, err := front.Body(httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/",
		http.NoBody), 7); body != nil || err != nil {
		t.Errorf("%q, %v", body, err)
	}
}

// recording is a registry that reports whether it records its changes.
type recording struct {
	*grant.Memory
	does bool
}

func (r recording) RecordsChanges() bool { return r.does }

func TestChangeIsRecordedOnceByWhoeverDoes(t *testing.T) {
	broken := errors.New("the disk is full")
	by := audit.Event{RequestID: "r", Issuer: "https://id.example", Principal: "root",
		Arguments: []audit.Argument{{Name: "type"}}}
	for name, c := range map[string]struct {
		registry grant.Registry
		action   string
		err      error // of what is done
		sink     error
		records  int
		want     error
	}{
		"one that does not record": {grant.NewMemory(), "grant", nil, nil, 1, nil},
		"one that says it does not": {recording{grant.NewMemory(), false}, "grant", nil, nil, 1,
			nil},
		"one that does": {recording{grant.NewMemory(), true}, "grant", nil, broken, 0,
			nil},
		"nothing was done":            {grant.NewMemory(), "", nil, nil, 0, nil},
		"it failed":                   {grant.NewMemory(), "grant", io.EOF, nil, 0, io.EOF},
		"it stands and is unrecorded": {grant.NewMemory(), "grant", nil, broken, 1, broken},
	} {
		var all []audit.Event
		var log strings.Builder
		sink := audit.SinkFunc(func(ctx context.Context, e audit.Event) error {
			all = append(all, e)
			return errors.Join(ctx.Err(), c.sink)
		})
		ctx, leave := context.WithCancel(t.Context())
		err := front.Change(ctx, c.registry, sink, slog.New(slog.NewTextHandler(&log, nil)), by,
			func(ctx context.Context) (string, string, error) {
				if who, ok := audit.WhoActs(ctx); !ok || who.Principal != "root" {
					t.Errorf("%s: %+v acts", name, who)
				}
				leave() // the client is gone, and the change is recorded
				return c.action, "grant 1", c.err
			})
		if !errors.Is(err, c.want) || (err == nil) != (c.want == nil) || len(all) != c.records ||
			(c.want == broken) != strings.Contains(log.String(), "could not be recorded") {
			t.Errorf("%s: %v, %+v, %s", name, err, all, log.String())
		}
		for _, e := range all {
			if e.Type != audit.Changed || e.Status != audit.Success || e.Action != "grant" ||
				e.Object != "grant 1" || e.Principal != "root" || e.Time.IsZero() ||
				len(e.Arguments) != 1 {
				t.Errorf("%s: %+v", name, e)
			}
		}
		if err := front.Change(t.Context(), c.registry, nil, nil, by,
			func(context.Context) (string, string, error) {
				return c.action, "", c.err
			}); err != c.err {
			t.Errorf("%s, without a sink: %v", name, err)
		}
	}
}

func TestTrailIsNotReadWhereThatCannotBeRecorded(t *testing.T) {
	var all []audit.Event
	broken := errors.New("the disk is full")
	sink := audit.SinkFunc(func(_ context.Context, e audit.Event) error {
		all = append(all, e)
		return broken
	})
	if err := front.Reads(t.Context(), sink, audit.Event{Principal: "root"}, nil, "list",
		"the trail"); err != broken || len(all) != 1 || all[0].Type != audit.AdminRequest ||
		all[0].Status != audit.Success || all[0].Action != "list" || all[0].Principal != "root" {
		t.Errorf("%v, %+v", err, all)
	}
	if err := front.Reads(t.Context(), nil, audit.Event{}, nil, "list", "the trail"); err != nil {
		t.Error(err)
	}
}

func TestGrantsAreNamedForTheAudit(t *testing.T) {
	p := grant.Permission{Type: "file.read", Resource: "public/**"}
	for got, want := range map[string]string{
		front.AboutGrant(grant.Grant{ID: "7", Permission: p, Issuer: "https://id.example",
			Client: "de\nsk"}): `grant 7 of client "de\nsk" of https://id.example: file.read public/** restricted`,
		front.AboutRequest(grant.Request{ID: "8", Permission: p,
			Client: "desk"}): `request 8 of client "desk": file.read public/** restricted`,
	} {
		if got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// TestChangeByAnAdministratorIsRecordedOnce makes the change as the API and the console do. The
// store's own trail records all other changes.
func TestChangeByAnAdministratorIsRecordedOnce(t *testing.T) {
	for name, engine := range testdb.Stores {
		t.Run(name, func(t *testing.T) {
			s := must(store.Open(t.Context(), engine(t)))
			defer s.Close()
			k := stored.New(s, stored.Options{})
			err := front.Change(t.Context(), k, s.Audit(), slog.Default(),
				audit.Event{Principal: "carol"}, func(ctx context.Context) (
					action, object string, err error) {
					_, err = k.Grant(ctx, grant.Grant{
						Permission: must(grant.Parse("file.read a/** unrestricted")),
						Client:     "x", By: "carol"})
					return "grant permission", "as the front has it", err
				})
			if err != nil {
				t.Fatal(err)
			}
			events, _, err := s.Events(t.Context(), store.Page[int64]{})
			if err != nil || len(events) != 1 || events[0].Principal != "carol" ||
				events[0].Object != `grant 1: file.read a/** unrestricted to client "x"` {
				t.Errorf("%+v, %v", events, err)
			}
		})
	}
}
