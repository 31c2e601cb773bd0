package sandbox

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/mcpgen/mcpgen/runtime/isolate"
)

// newSandbox returns a sandbox that ends with the test.
func newSandbox(t testing.TB, o Options) *Sandbox {
	t.Helper()
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

var (
	ann = isolate.Client{Issuer: "https://id.example", ID: "ann"}
	bob = isolate.Client{Issuer: "https://id.example", ID: "bob"}
)

func limitOfErr(err error) limitName {
	var limit *limitError
	if errors.As(err, &limit) {
		return limit.Limit
	}
	return ""
}

// enter lets a call in that leaves with the test.
func enter(t testing.TB, s *Sandbox, client isolate.Client) (context.Context, func()) {
	t.Helper()
	ctx, leave := s.Enter(context.Background(), client)
	t.Cleanup(leave)
	return ctx, leave
}

// workspaceOf returns the workspace of a call.
func workspaceOf(t testing.TB, ctx context.Context) *ClientWorkspace {
	t.Helper()
	space, err := Workspace(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return space
}

func TestOptionsThatCannotWork(t *testing.T) {
	occupied := t.TempDir()
	if err := os.WriteFile(filepath.Join(occupied, "letter"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for want, o := range map[string]Options{
		"negative":      {Warm: -1},
		"too small":     {Limits: Limits{Memory: 1}},
		"not a direct":  {Workspaces: filepath.Join(occupied, "letter")},
		"not a dir":     {Workspaces: filepath.Join(occupied, "letter", "below")},
		"letter is not": {Workspaces: occupied},
		"Workspaces":    {Workspaces: t.TempDir(), Workspace: WorkspaceOptions{Files: -1}},
	} {
		if s, err := New(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v", want, s, err)
		}
	}
}

func TestTheFolderOfWorkspacesIsMade(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	newSandbox(t, Options{Workspaces: dir})
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info, err)
	}
}

func TestClientsAreSpelledApart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		part := rapid.StringOfN(rapid.RuneFrom([]rune("1:a\x00/")), 0, 4, -1)
		a := isolate.Client{Issuer: part.Draw(t, "issuer"), ID: part.Draw(t, "id")}
		b := isolate.Client{Issuer: part.Draw(t, "issuer"), ID: part.Draw(t, "id")}
		if (a == b) != (clientID(a) == clientID(b)) {
			t.Fatalf("%+v is %q, %+v is %q", a, clientID(a), b, clientID(b))
		}
	})
}

func TestAWorkspaceIsTakenWhenItIsRequested(t *testing.T) {
	dir := t.TempDir()
	s := newSandbox(t, Options{Workspaces: dir})
	count := func() int {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		return len(entries)
	}
	ctx, leave := enter(t, s, ann)
	if count() != 0 {
		t.Error("it was made for a call that has not asked")
	}
	type key struct{}
	// from what handlers make of their context too
	space := workspaceOf(t, context.WithValue(ctx, key{}, 1))
	if again, err := Workspace(ctx); again != space || err != nil || count() != 1 {
		t.Errorf("asked again: %v, %v, %d folders", again, err, count())
	}
	if err := errors.Join(space.Set("a", "1"),
		space.Dir().WriteFile("f", []byte("x"), 0o600)); err != nil {
		t.Fatal(err)
	}
	other, _ := enter(t, s, bob)
	foreign := workspaceOf(t, other)
	if _, found := foreign.Get("a"); found {
		t.Error("another client has the variable")
	}
	if _, err := foreign.Dir().Stat("f"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("another client has the file: %v", err)
	}
	leave()
	leave()
	if _, err := Workspace(ctx); !errors.Is(err, errLeft) {
		t.Errorf("after the call: %v", err)
	}
	if space.users != 0 || space.dir != nil {
		t.Errorf("it is held by %d after the call", space.users)
	}
	again, _ := enter(t, s, ann)
	if space, err := Workspace(again); err != nil {
		t.Error(err)
	} else if value, _ := space.Get("a"); value != "1" {
		t.Errorf("the variable is %q in the next call", value)
	}
}

func TestWhoHasNoWorkspaceGetsTheReason(t *testing.T) {
	keeps := newSandbox(t, Options{Workspaces: t.TempDir(), Workspace: WorkspaceOptions{Clients: 1}})
	first, _ := enter(t, keeps, ann)
	if _, err := Workspace(first); err != nil {
		t.Fatal(err)
	}
	without := newSandbox(t, Options{})
	for want, test := range map[string]struct {
		sandbox *Sandbox
		client  isolate.Client
	}{
		"sandbox.Options.Workspaces": {without, ann},
		"anonymous":                  {keeps, isolate.Client{}},
		"authenticated":              {keeps, isolate.Client{Issuer: "https://id.example"}},
		"1 clients":                  {keeps, bob},
	} {
		ctx, _ := enter(t, test.sandbox, test.client)
		if space, err := Workspace(ctx); space != nil || err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v", want, space, err)
		}
	}
}

func TestWithoutIsolatedToolsThereAreNoProcesses(t *testing.T) {
	s := newSandbox(t, Options{})
	called.Store(false) // nor is Main needed
	defer called.Store(true)
	if err := s.Start(isolate.Start{Logger: slog.New(slog.DiscardHandler)}); err != nil ||
		s.pool.Load() != nil {
		t.Errorf("%v, %v", s.pool.Load(), err)
	}
	if _, err := s.Isolate(t.Context(), isolate.Call{Name: "echo"}); err == nil ||
		!strings.Contains(err.Error(), "not started") {
		t.Errorf("a call: %v", err)
	}
	if err := errors.Join(s.Close(), s.Close()); err != nil {
		t.Error(err)
	}
	if err := s.Start(isolate.Start{}); !errors.Is(err, errClosed) {
		t.Errorf("a start after the end: %v", err)
	}
}

func BenchmarkEnter(b *testing.B) {
	for name, o := range map[string]Options{"nothing kept": {}, "workspaces": {Workspaces: b.TempDir()}} {
		b.Run(name, func(b *testing.B) {
			s := newSandbox(b, o)
			b.ReportAllocs()
			for b.Loop() {
				_, leave := s.Enter(context.Background(), ann)
				leave()
			}
		})
	}
}

func TestAnUnusedSandboxCostsACallNearlyNothing(t *testing.T) {
	for want, o := range map[float64]Options{0: {}, 2: {Workspaces: t.TempDir()}} {
		s := newSandbox(t, o)
		got := testing.AllocsPerRun(100, func() {
			_, leave := s.Enter(context.Background(), ann)
			leave()
		})
		if got > want {
			t.Errorf("%v allocations, want %v", got, want)
		}
	}
}
