//go:build unix

package grant

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/internal/hiddentext"
)

func TestHandlersTakeWhatWasDecidedAndOpened(t *testing.T) {
	_, roots := tree(t)
	port := listen(t)
	d := &Decider{Set: mustSet(t, "file.read pub/**", "file.write pub/a.txt",
		"system.command `[\"echo\",\"*\"]`", "net.connect 127.0.0.1:"+port,
		"db.table.read sales.*"), Roots: roots}
	var decided Decided
	bind := func(argument string) func(Bound, error) {
		return func(b Bound, err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
			decided = append(decided, named(argument, b))
		}
	}
	bind("path")(d.Path(t.Context(), "pub/in", FileRead))
	bind("both")(d.Path(t.Context(), "pub/a.txt", FileWrite, FileRead))
	bind("dir")(d.Path(t.Context(), "pub/docs", FileRead))
	bind("argv")(d.Argv(Argv{"echo", "a; id"}))
	bind("host")(d.Host(Host("127.0.0.1:" + port)))
	bind("table")(d.Custom("db.table.read", "sales.eu"))
	ctx := With(t.Context(), decided)
	file, err := File(ctx, "path")
	if err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(file); err != nil || string(text) != "pub/docs/b.md" {
		t.Errorf("%q, %v", text, err)
	}
	if again, err := File(ctx, "path"); err != nil || again != file {
		t.Errorf("another file: %v", err)
	}
	if path, err := TruePath(ctx, "path"); err != nil || path != "pub/docs/b.md" {
		t.Errorf("%s, %v", path, err)
	}
	if both, err := File(ctx, "both"); err != nil {
		t.Error(err)
	} else if _, err := both.WriteAt([]byte("p"), 0); err != nil {
		t.Error(err)
	}
	if b := decided[1]; !slices.Equal(b.Kinds, []string{FileRead, FileWrite}) ||
		b.Grants[0].ID != "1" || b.Grants[1].ID != "2" {
		t.Errorf("%+v", b)
	}
	dir, err := Dir(ctx, "dir")
	if err != nil {
		t.Fatal(err)
	}
	if names, err := dir.Readdirnames(-1); err != nil || !slices.Contains(names, "b.md") {
		t.Errorf("%q, %v", names, err)
	}
	if _, err := File(ctx, "dir"); err == nil || !strings.Contains(err.Error(),
		"pub/docs: it is a directory") {
		t.Errorf("a directory as a file: %v", err)
	}
	if _, err := Dir(ctx, "path"); err == nil || !strings.Contains(err.Error(),
		"pub/in: it is a file") {
		t.Errorf("a file as a directory: %v", err)
	}
	t.Setenv("DATABASE_URL", "postgres://user:password@host")
	cmd, err := Command(ctx, "argv")
	if err != nil {
		t.Fatal(err)
	}
	if out, err := cmd.Output(); err != nil || string(out) != "a; id\n" {
		t.Errorf("%q, %v", out, err)
	}
	if strings.Contains(strings.Join(cmd.Env, " "), "password") || !slices.ContainsFunc(cmd.Env,
		func(e string) bool {
			return strings.HasPrefix(e, "PATH=")
		}) {
		t.Errorf("environment %q", cmd.Env)
	}
	conn, err := Dial(ctx, "host")
	if err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(conn); err != nil || string(text) != "hello" {
		t.Errorf("%q, %v", text, err)
	}
	conn.Close()
	dialer, err := Connect(ctx, "host")
	if err != nil {
		t.Fatal(err)
	}
	if conn, err = dialer.DialContext(ctx, "tcp", net.JoinHostPort("127.0.0.1", port)); err != nil {
		t.Error(err)
	} else {
		conn.Close()
	}
	file.Close()
	if err := decided.Close(); err != nil {
		t.Error(err)
	}
	if _, err := dir.Stat(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("a directory is left open: %v", err)
	}
}

func TestArgumentsThatAreNotBoundTeach(t *testing.T) {
	d := &Decider{Set: mustSet(t, "db.table.read *", "net.connect a.test")}
	table, err := d.Custom("db.table.read", "x")
	if err != nil {
		t.Fatal(err)
	}
	host, err := d.Host("a.test")
	if err != nil {
		t.Fatal(err)
	}
	ctx := With(t.Context(), Decided{named("table", table), named("host", host)})
	call := func(_ any, err error) error { return err }
	for _, c := range []struct {
		name, kind string
		call       func(context.Context, string) error
	}{
		{"File", FileRead, func(ctx context.Context, a string) error { return call(File(ctx, a)) }},
		{"Dir", FileRead, func(ctx context.Context, a string) error { return call(Dir(ctx, a)) }},
		{"TruePath", FileRead, func(ctx context.Context, a string) error {
			return call(TruePath(ctx, a))
		}},
		{"Command", SystemCommand, func(ctx context.Context, a string) error {
			return call(Command(ctx, a))
		}},
		{"Dial", NetConnect, func(ctx context.Context, a string) error {
			return call(Dial(ctx, a))
		}},
		{"Connect", NetConnect, func(ctx context.Context, a string) error {
			return call(Connect(ctx, a))
		}},
		{"HTTP", NetConnect, func(ctx context.Context, a string) error {
			return call(HTTP(ctx, a))
		}},
	} {
		for _, argument := range []string{"table", "nothing"} {
			err := c.call(ctx, argument)
			if !errors.Is(err, errNotBound) || !strings.Contains(err.Error(), "grant."+c.name+
				`(ctx, "`+argument+`")`) ||
				!strings.Contains(err.Error(), "//mcp:allow "+c.kind+"={"+argument+"}") ||
				!strings.Contains(err.Error(),
					"the bound arguments are host (net.connect), table (db.table.read)") {
				t.Errorf("%s: %v", c.name, err)
			}
		}
		if err := c.call(context.Background(), "table"); !errors.Is(err, errNotBound) ||
			!strings.Contains(err.Error(), "this call has no bound arguments; pass the handler's context") {
			t.Errorf("%s without a call: %v", c.name, err)
		}
	}
	var denied *Denied
	if _, err := Dial(ctx, "host"); !errors.As(err, &denied) || !strings.Contains(err.Error(),
		"write host:port") {
		t.Errorf("a host without a port: %v", err)
	}
	if err := (Decided{{Argument: "a"}, named("table", table)}).Close(); err != nil {
		t.Error(err)
	}
}

func TestWhatIsNotGrantedIsNotBound(t *testing.T) {
	_, roots := tree(t)
	d := &Decider{Set: mustSet(t, "file.read pub/docs/*"), Roots: roots}
	refusals := map[string]func() error{
		"path": func() error {
			_, err := d.Path(t.Context(), "pub/a.txt", FileRead)
			return err
		},
		"write": func() error {
			_, err := d.Path(t.Context(), "pub/docs/b.md", FileRead, FileWrite)
			return err
		},
		"command": func() error { _, err := d.Argv(Argv{"echo"}); return err },
		"none":    func() error { _, err := d.Argv(nil); return err },
		"host":    func() error { _, err := d.Host("a.test:80"); return err },
		"table":   func() error { _, err := d.Custom("db.table.read", "x"); return err },
	}
	commands := &Decider{Set: mustSet(t, `system.command "echo **"`)}
	for _, arg := range []string{"\x00", "a\x00"} {
		var denied *Denied
		if _, err := commands.Argv(Argv{"echo", arg}); !errors.As(err, &denied) ||
			denied.Cause != Malformed {
			t.Errorf("%q: %v", arg, err)
		}
	}
	for name, refuse := range refusals {
		var denied *Denied
		if err := refuse(); !errors.As(err, &denied) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := d.Path(t.Context(), "pub/docs/b.md", "file.delete"); err == nil ||
		!strings.Contains(err.Error(), "file.read or file.write") {
		t.Errorf("a kind that nothing is opened for: %v", err)
	}
	for _, kind := range []string{FileRead, SystemCommand, NetConnect} {
		if _, err := d.Custom(kind, "pub/docs/b.md"); err == nil {
			t.Errorf("%s was decided on by its text", kind)
		}
	}
}

func TestRestrictedGrantsAllowInsideIsolationOnly(t *testing.T) {
	_, roots := tree(t)
	set := mustSet(t, "file.read pub/** restricted", "system.command ** restricted",
		"net.connect ** restricted", "db.read * restricted")
	for _, isolated := range []bool{false, true} {
		d := &Decider{Set: set, Roots: roots, Isolated: isolated}
		b, err1 := d.Path(t.Context(), "pub/a.txt", FileRead)
		if b.Opened != nil {
			b.Opened.File.Close()
		}
		_, err2 := d.Argv(Argv{"true"})
		_, err3 := d.Host("a.test:80")
		_, err4 := d.Custom("db.read", "x")
		for _, err := range []error{err1, err2, err3, err4} {
			var denied *Denied
			if isolated && err != nil || !isolated && (!errors.As(err, &denied) ||
				denied.Cause != Restricted) {
				t.Errorf("isolated %v: %v", isolated, err)
			}
		}
	}
	if d := (&Decider{Set: set, Isolated: false}).Decide(Query{Kind: "db.read", Resource: "x",
		Isolated: true}); d.Allowed {
		t.Error("a query makes itself isolated")
	}
}

func TestCommandsEndWithTheirContextAndAllThatTheyStarted(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	d := &Decider{Set: mustSet(t, "system.command **")}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	b, err := d.Argv(Argv{"sh", "-c", `"$0" & wait`, exe}) // the child of a child holds the output
	if err != nil {
		t.Fatal(err)
	}
	cmd, err := Command(With(ctx, called("argv", b)), "argv")
	if err != nil {
		t.Fatal(err)
	}
	cmd.Env = append(cmd.Env, "GRANT_TEST_AS=sleeper", "GORACE=atexit_sleep_ms=0")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	reader := bufio.NewReader(out)
	if line, err := reader.ReadString('\n'); err != nil || line != "asleep\n" {
		t.Fatal(line, err)
	}
	cancel()
	// it ends when nobody holds the output any more
	if rest, err := io.ReadAll(reader); err != nil || len(rest) > 0 {
		t.Errorf("%q, %v", rest, err)
	}
	if err := cmd.Wait(); err == nil {
		t.Error("it ended as if nothing had been")
	}
	if got := cmd.ProcessState.Sys().(syscall.WaitStatus).Signal(); got != syscall.SIGKILL {
		t.Errorf("ended by %v", got)
	}
}

func TestProgramsAreLookedForInThePathOnly(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "here-only"), []byte("#!/bin/sh\n"),
		0o755); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	t.Setenv("PATH", ".:"+t.TempDir())
	b, err := (&Decider{Set: mustSet(t, "system.command **")}).Argv(Argv{"here-only"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Command(With(t.Context(), called("argv", b)), "argv"); !errors.Is(err,
		exec.ErrDot) {
		t.Errorf("%v", err)
	}
}

func TestApprovalsGiveNoMoreThanWasAskedFor(t *testing.T) {
	r := Request{ID: "r", Permission: Permission{Type: NetConnect, Resource: "**.Example.com"},
		Issuer: "i", Client: "c", Reason: "please"}
	g, err := r.Granted(Verdict{By: "admin", Note: "fine", Expires: noon.Add(time.Hour)}, noon)
	if err != nil || g.Resource != "**.example.com" || g.Issuer != "i" || g.Client != "c" ||
		g.By != "admin" || g.Reason != "fine" || g.Created != noon ||
		g.Expires != noon.Add(time.Hour) {
		t.Errorf("%+v, %v", g, err)
	}
	less := Permission{Type: NetConnect, Resource: "api.example.com:443"}
	if g, err := r.Granted(Verdict{Permission: less}, noon); err != nil ||
		!g.Permission.Equal(less) {
		t.Errorf("%+v, %v", g, err)
	}
	for _, v := range []Verdict{
		{Permission: Permission{Type: NetConnect, Resource: "**"}},
		{Permission: Permission{Type: NetConnect, Resource: "example.com"}},
		{Permission: Permission{Type: FileRead, Resource: "a"}},
		{Permission: Permission{Resource: "a"}},
		{Expires: noon}, {Expires: noon.Add(-1)},
	} {
		if g, err := r.Granted(v, noon); err == nil {
			t.Errorf("%+v gave %+v", v, g)
		}
	}
	r.Resource = "*x"
	if g, err := r.Granted(Verdict{}, noon); err == nil {
		t.Errorf("what is not valid gave %+v", g)
	}
}

// TestGrantHasTheReasonWhereWhoApprovedGaveNone: the client's words are marked as such, and kept
// where they are as long as reasons can be.
func TestGrantHasTheReasonWhereWhoApprovedGaveNone(t *testing.T) {
	for _, c := range []struct{ note, reason, want string }{
		{"fine", "please", "fine"},
		{"", "for the report", "requested: for the report"},
		{" \n", "for the report", "requested: for the report"},
		{"", "", ""},
		{"", strings.Repeat("ä", hiddentext.MaxProse/2), "requested: " + strings.Repeat("ä",
			(hiddentext.MaxProse-len("requested: …"))/2) + "…"},
	} {
		r := Request{Permission: Permission{Type: FileRead, Resource: "a"}, Client: "c",
			Reason: c.reason}
		g, err := r.Granted(Verdict{Note: c.note}, noon)
		if err == nil {
			g, err = g.Keepable(noon)
		}
		if err != nil || g.Reason != c.want {
			t.Errorf("%q, %.30q: %.40q, %v", c.note, c.reason, g.Reason, err)
		}
	}
}

// named is what was decided for an argument.
func named(argument string, b Bound) Bound {
	b.Argument = argument
	return b
}

// called is what was decided for a call of one argument.
func called(argument string, b Bound) Decided { return Decided{named(argument, b)} }

func TestGrantOfAKindOfOnesOwnIsTheHandlersToHeed(t *testing.T) {
	set, err := NewSet(Grant{ID: "7", Permission: Permission{Type: "db.read", Resource: "sales.*",
		Unrestricted: true, Parameters: map[string]json.RawMessage{"rows": []byte("100")}}})
	if err != nil {
		t.Fatal(err)
	}
	b, err := (&Decider{Set: set}).Custom("db.read", "sales.eu")
	if err != nil {
		t.Fatal(err)
	}
	ctx := With(t.Context(), called("table", b))
	if g, err := Granted(ctx, "table"); err != nil || g.ID != "7" ||
		string(g.Parameters["rows"]) != "100" {
		t.Errorf("%+v, %v", g, err)
	}
	if _, err := Granted(ctx, "path"); !errors.Is(err, errNotBound) {
		t.Error(err)
	}
}

func TestProgramsAreNamedInOneSpelling(t *testing.T) {
	set, err := NewSet(Grant{ID: "1", Permission: Permission{Type: SystemCommand,
		Resource: "/opt/*/bin/sh **", Unrestricted: true}})
	if err != nil {
		t.Fatal(err)
	}
	for program, want := range map[string]bool{"/opt/a/bin/sh": true, "/opt/../bin/sh": false,
		"/opt/./bin/sh": false, "/opt//bin/sh": false, "/opt/a/bin/sh/": false} {
		if got := set.Decide(time.Now(), Query{Kind: SystemCommand,
			Argv: []string{program}}).Allowed; got != want {
			t.Errorf("%s: %v", program, got)
		}
	}
}
