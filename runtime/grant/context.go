package grant

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/mcpgen/mcpgen/internal/pattern"
)

// The comments of the three types below are the descriptions of parameters without their own.

// A path below a named root, with the root's name first, as in docs/plan.md.
type Path string

// A program and its arguments, each an item of its own; no shell reads them.
type Argv []string

// A host, with or without a port, or a URL of http or https.
type Host string

// Bound is the decision for one argument of a call.
type Bound struct {
	// Argument is the name of the argument for clients.
	Argument string
	// Kinds are the types of permission that the decision required.
	Kinds []string
	// Grants are the grants that allow it, one for each kind.
	Grants []*Grant
	// Named is the resource as the client named it.
	Named string
	// Opened is the file or directory. Nil for other families.
	Opened *Opened
	// Argv is the command. Nil for other families.
	Argv []string
	// Dialer connects for this argument. Nil for other families.
	Dialer *Dialer
	// Apart is true if the handler runs in a process of its own, which ends together with all
	// processes that it starts.
	Apart bool
}

// Decided contains the decisions and open files of a call, one for each argument.
type Decided []Bound

// Close closes the opened files, also those that the handler has closed already.
func (d Decided) Close() error {
	var errs []error
	for _, b := range d {
		if b.Opened != nil && b.Opened.File != nil {
			if err := b.Opened.File.Close(); !errors.Is(err, os.ErrClosed) {
				errs = append(errs, err)
			}
		}
	}
	return errors.Join(errs...)
}

// Path decides on the path of an argument and opens it. Kinds are file.read, file.write or both.
func (d *Decider) Path(ctx context.Context, named Path, kinds ...string) (Bound, error) {
	want := openMode{
		Read: slices.Contains(kinds, FileRead), Write: slices.Contains(kinds, FileWrite),
	}
	for _, kind := range kinds {
		if kind != FileRead && kind != FileWrite {
			return Bound{},
				fmt.Errorf("grant: a %s permission opens no file: bind the argument to %s or %s", kind,
					FileRead, FileWrite)
		}
	}
	opened, err := d.Open(ctx, string(named), want)
	if err != nil {
		return Bound{}, err
	}
	return Bound{Kinds: want.kinds(), Grants: opened.Grants, Named: string(named), Opened: opened},
		nil
}

// Argv decides on the command of an argument.
func (d *Decider) Argv(named Argv) (Bound, error) {
	decision := d.Decide(Query{Kind: SystemCommand, Argv: named})
	if err := decision.Err(); err != nil {
		return Bound{}, err
	}
	argv := slices.Clone(named)
	return Bound{Kinds: []string{SystemCommand}, Grants: []*Grant{decision.Grant},
		Named: pattern.CommandText(argv), Argv: argv}, nil
}

// Host decides on the host of an argument. Each connection is decided on again when it is made.
func (d *Decider) Host(named Host) (Bound, error) {
	decision := d.Decide(Query{Kind: NetConnect, Resource: string(named)})
	if err := decision.Err(); err != nil {
		return Bound{}, err
	}
	return Bound{Kinds: []string{NetConnect}, Grants: []*Grant{decision.Grant},
		Named: string(named), Dialer: &Dialer{Decider: d}}, nil
}

// Custom decides on a resource of a kind that the runtime does not open.
func (d *Decider) Custom(kind, named string) (Bound, error) {
	if pattern.FamilyOf(kind) != pattern.Customs {
		return Bound{}, fmt.Errorf("grant: %s is not a kind of your own: the server itself checks %s",
			kind, pattern.FamilyOf(kind))
	}
	decision := d.Decide(Query{Kind: kind, Resource: named})
	if err := decision.Err(); err != nil {
		return Bound{}, err
	}
	return Bound{Kinds: []string{kind}, Grants: []*Grant{decision.Grant}, Named: named}, nil
}

type decidedKey struct{}

// With returns a context for a handler with the decisions of its call.
func With(ctx context.Context, decided Decided) context.Context {
	return context.WithValue(ctx, decidedKey{}, decided)
}

// From returns the decisions of the call that ctx belongs to, or nil. Handlers do not need it.
func From(ctx context.Context) Decided {
	decided, _ := ctx.Value(decidedKey{}).(Decided)
	return decided
}

// errNotBound reports an argument that no //mcp:allow of the handler binds, or binds to another
// kind. It is a mistake of the program, not of the client.
var errNotBound = errors.New("the argument has no such permission")

// bound finds the decision for an argument.
func bound(ctx context.Context, call, argument, kinds string, ok func(Bound) bool) (Bound, error) {
	var have []string
	for _, b := range From(ctx) {
		if b.Argument == argument && ok(b) {
			return b, nil
		}
		have = append(have, fmt.Sprintf("%s (%s)", b.Argument, strings.Join(b.Kinds, ", ")))
	}
	slices.Sort(have)
	are := "this call has no bound arguments; pass the handler's context"
	if len(have) > 0 {
		are = "the bound arguments are " + strings.Join(have, ", ")
	}
	return Bound{},
		fmt.Errorf(
			"grant.%s(ctx, %q): %w: write //mcp:allow %s={%s} on the handler, with the argument's name "+
				"that clients use;  %s",
			call, argument, errNotBound, kinds, argument, are)
}

// Granted returns the grant for an argument of a custom kind, for handlers that use its
// Parameters. If several grants allow the resource, it returns the first.
func Granted(ctx context.Context, argument string) (Grant, error) {
	b, err := bound(ctx, "Granted", argument, "my.kind", func(b Bound) bool {
		return len(b.Kinds) == 1 && pattern.FamilyOf(b.Kinds[0]) == pattern.Customs &&
			len(b.Grants) == 1
	})
	if err != nil {
		return Grant{}, err
	}
	return *b.Grants[0], nil
}

// File returns the open file of an argument. The server decided on it and opened it before the
// handler ran: for reading, writing or both, by its //mcp:allow. File returns the same file each
// time. The server closes it after the handler has returned.
//
// A file for writing keeps its content until you truncate it.
func File(ctx context.Context, argument string) (*os.File, error) {
	return file(ctx, "File", argument, "it is a directory, not a file")
}

// Dir is [File] for a directory. Its ReadDir lists all names, granted or not.
// [os.File.Readdirnames] and ReadDir continue at their last position.
func Dir(ctx context.Context, argument string) (*os.File, error) {
	return file(ctx, "Dir", argument, "it is a file, not a directory")
}

func file(ctx context.Context, call, argument, otherwise string) (*os.File, error) {
	b, err := opened(ctx, call, argument)
	switch {
	case err != nil:
		return nil, err
	case b.Opened.Dir != (call == "Dir"):
		return nil, &os.PathError{Op: "open", Path: b.Named, Err: errors.New(otherwise)}
	}
	return b.Opened.File, nil
}

func opened(ctx context.Context, call, argument string) (Bound, error) {
	return bound(ctx, call, argument, FileRead, func(b Bound) bool { return b.Opened != nil })
}

// TruePath returns the true path of the file or directory of an argument: see [Opened].
func TruePath(ctx context.Context, argument string) (string, error) {
	b, err := opened(ctx, "TruePath", argument)
	if err != nil {
		return "", err
	}
	return b.Opened.Path, nil
}

// Command returns the command of an argument, ready to be started once. It runs without a shell,
// in a process group that ends with ctx. In an isolated call, it runs in the group of the call
// and ends with it. Its environment has only PATH, LANG, LC_ALL, TZ and TMPDIR, because other
// variables may contain secrets. The handler may set its directory, input and output.
//
// A program without a path is searched in the server's PATH only.
func Command(ctx context.Context, argument string) (*exec.Cmd, error) {
	b, err := bound(ctx, "Command", argument, SystemCommand, func(b Bound) bool {
		return len(b.Argv) > 0
	})
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, b.Argv[0], b.Argv[1:]...)
	if cmd.Err != nil {
		return nil, fmt.Errorf("command %s: %w", b.Argv[0], cmd.Err)
	}
	cmd.Env = []string{} // nil would be the server's
	for _, name := range []string{"PATH", "LANG", "LC_ALL", "TZ", "TMPDIR"} {
		if value, ok := os.LookupEnv(name); ok {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
	}
	cmd.WaitDelay = 2 * time.Second // for processes that keep its output open after its end
	if !b.Apart {
		// an isolated process may make no group, so that all its processes end with it
		group(cmd)
	}
	return cmd, nil
}

func dialed(ctx context.Context, call, argument string) (Bound, error) {
	return bound(ctx, call, argument, NetConnect, func(b Bound) bool { return b.Dialer != nil })
}

// Dial connects over TCP to the host and port of an argument.
func Dial(ctx context.Context, argument string) (net.Conn, error) {
	b, err := dialed(ctx, "Dial", argument)
	if err != nil {
		return nil, err
	}
	e, problem := pattern.ParseEndpoint(b.Named)
	if problem == "" && e.Port == 0 {
		problem = "the port is missing; write host:port"
	}
	if problem != "" {
		return nil, &Denied{Kind: NetConnect, Resource: b.Named, Cause: Malformed, Reason: problem}
	}
	return b.Dialer.DialContext(ctx, "tcp", net.JoinHostPort(e.Host(), fmt.Sprint(e.Port)))
}

// Connect returns the dialer of an argument with a host, for handlers with their own port or
// protocol. The dialer connects to any host that the client has a grant for, not only to the one
// in the argument.
func Connect(ctx context.Context, argument string) (*Dialer, error) {
	b, err := dialed(ctx, "Connect", argument)
	return b.Dialer, err
}

// HTTP returns an HTTP client for an argument with a host or a URL: see [Dialer.Client]. It
// follows redirects to granted hosts.
func HTTP(ctx context.Context, argument string) (*http.Client, error) {
	b, err := dialed(ctx, "HTTP", argument)
	if err != nil {
		return nil, err
	}
	return b.Dialer.Client(), nil
}
