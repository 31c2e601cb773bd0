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

	"github.com/mcpgen/mcpgen/runtime/grant/pattern"
)

// The comments of the three types below are what agents read of parameters that have no words of
// their own.

// A path below a named root, with the root's name first, as in docs/plan.md.
type Path string

// A program and its arguments, each an item of its own; no shell reads them.
type Argv []string

// A host, with or without a port, or a URL of http or https.
type Host string

// Bound is what was decided for one argument of a call.
type Bound struct {
	// Argument is its name, as clients see it.
	Argument string
	// Kinds are the permissions that were wanted, and decided on.
	Kinds []string
	// Grants are what allowed it, one for each kind.
	Grants []*Grant
	// Named is the resource as the client named it.
	Named string
	// Opened is the file or directory. Nil for other families.
	Opened *Opened
	// Argv is the command. Nil for other families.
	Argv []string
	// Dialer connects for this argument. Nil for other families.
	Dialer *Dialer
	// Apart says that the handler runs in a process of its own, which ends together with all that
	// it starts.
	Apart bool
}

// Decided is what was decided and opened for a call: its arguments, each once.
type Decided []Bound

// Close closes the files that were opened, those too that the handler has closed already.
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

// Path decides on and opens what an argument names. Kinds are file.read, file.write or both.
func (d *Decider) Path(ctx context.Context, named Path, kinds ...string) (Bound, error) {
	want := Want{Read: slices.Contains(kinds, FileRead), Write: slices.Contains(kinds, FileWrite)}
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

// Argv decides on the command that an argument names.
func (d *Decider) Argv(named Argv) (Bound, error) {
	decision := d.Decide(Ask{Kind: SystemCommand, Argv: named})
	if err := decision.Err(); err != nil {
		return Bound{}, err
	}
	argv := slices.Clone(named)
	return Bound{Kinds: []string{SystemCommand}, Grants: []*Grant{decision.Grant},
		Named: pattern.CommandText(argv), Argv: argv}, nil
}

// Host decides on the host that an argument names. Each connection is decided on again when it is
// made.
func (d *Decider) Host(named Host) (Bound, error) {
	decision := d.Decide(Ask{Kind: NetConnect, Resource: string(named)})
	if err := decision.Err(); err != nil {
		return Bound{}, err
	}
	return Bound{Kinds: []string{NetConnect}, Grants: []*Grant{decision.Grant},
		Named: string(named), Dialer: &Dialer{Decider: d}}, nil
}

// Custom decides on a resource of a kind that the runtime does not open.
func (d *Decider) Custom(kind, named string) (Bound, error) {
	if FamilyOf(kind) != Custom {
		return Bound{}, fmt.Errorf("grant: %s is not a kind of your own: the server itself checks %s",
			kind, FamilyOf(kind))
	}
	decision := d.Decide(Ask{Kind: kind, Resource: named})
	if err := decision.Err(); err != nil {
		return Bound{}, err
	}
	return Bound{Kinds: []string{kind}, Grants: []*Grant{decision.Grant}, Named: named}, nil
}

type decidedKey struct{}

// With returns a context for a handler, from which it takes what was decided for its call.
func With(ctx context.Context, decided Decided) context.Context {
	return context.WithValue(ctx, decidedKey{}, decided)
}

// From returns what was decided for the call that ctx belongs to, or nil. Handlers have no need of
// it.
func From(ctx context.Context) Decided {
	decided, _ := ctx.Value(decidedKey{}).(Decided)
	return decided
}

// ErrNotBound says that a handler has asked for an argument that no //mcp:allow of it binds, or
// binds to another kind. That is a mistake of the program and not of the client.
var ErrNotBound = errors.New("the argument has no such permission")

// bound finds what was decided for an argument.
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
			call, argument, ErrNotBound, kinds, argument, are)
}

// Granted returns the grant that allowed the resource in an argument of a kind of your own, for
// handlers that use its Parameters: the first, if several allow it.
func Granted(ctx context.Context, argument string) (Grant, error) {
	b, err := bound(ctx, "Granted", argument, "my.kind", func(b Bound) bool {
		return len(b.Kinds) == 1 && FamilyOf(b.Kinds[0]) == Custom && len(b.Grants) == 1
	})
	if err != nil {
		return Grant{}, err
	}
	return *b.Grants[0], nil
}

// File returns the file that an argument names, which was decided on and opened before the handler
// ran: for reading, writing or both, as its //mcp:allow says. It is the same file each time, and is
// closed when the handler has returned.
//
// A file for writing begins with what is in it: truncate it to replace that.
func File(ctx context.Context, argument string) (*os.File, error) {
	b, err := bound(ctx, "File", argument, FileRead, func(b Bound) bool { return b.Opened != nil })
	if err != nil {
		return nil, err
	}
	if b.Opened.Dir {
		return nil, &os.PathError{Op: "open", Path: b.Named,
			Err: errors.New("it is a directory, not a file")}
	}
	return b.Opened.File, nil
}

// Dir is as [File], for a directory: its ReadDir lists the names in it, whether what they name is
// granted or not. [os.File.Readdirnames] and ReadDir go on where they were.
func Dir(ctx context.Context, argument string) (*os.File, error) {
	b, err := bound(ctx, "Dir", argument, FileRead, func(b Bound) bool { return b.Opened != nil })
	if err != nil {
		return nil, err
	}
	if !b.Opened.Dir {
		return nil, &os.PathError{Op: "open", Path: b.Named,
			Err: errors.New("it is a file, not a directory")}
	}
	return b.Opened.File, nil
}

// TruePath returns the true path of the file or directory that an argument names; see [Opened].
func TruePath(ctx context.Context, argument string) (string, error) {
	b, err := bound(ctx, "TruePath", argument, FileRead, func(b Bound) bool {
		return b.Opened != nil
	})
	if err != nil {
		return "", err
	}
	return b.Opened.Path, nil
}

// Command returns the command that an argument names, ready to be started once: no shell, in a
// process group of its own that ends with ctx (in an isolated call in that of the call, which ends
// with it), and with no more of the server's environment than PATH, LANG, LC_ALL, TZ and TMPDIR,
// for the rest holds secrets. The caller may set its directory, input and output.
//
// A program that is named without a path is looked for in the server's PATH, and nowhere else.
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
	cmd.WaitDelay = 2 * time.Second // for those who keep its output open after its end
	if !b.Apart {
		// which a process of its own may not make, so that nothing gets away from its end
		group(cmd)
	}
	return cmd, nil
}

// Dial connects over TCP to the host and port that an argument names.
func Dial(ctx context.Context, argument string) (net.Conn, error) {
	b, err := bound(ctx, "Dial", argument, NetConnect, func(b Bound) bool {
		return b.Dialer != nil
	})
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

// Connect returns the dialer of an argument that names a host, for handlers with a port or protocol
// of their own. Any host that is granted to the client can be connected to with it, not the one
// that is named alone.
func Connect(ctx context.Context, argument string) (*Dialer, error) {
	b, err := bound(ctx, "Connect", argument, NetConnect, func(b Bound) bool {
		return b.Dialer != nil
	})
	if err != nil {
		return nil, err
	}
	return b.Dialer, nil
}

// HTTP returns an HTTP client for an argument that names a host or a URL; see [Dialer.Client].
// Redirects are followed as far as the hosts that they lead to are granted.
func HTTP(ctx context.Context, argument string) (*http.Client, error) {
	b, err := bound(ctx, "HTTP", argument, NetConnect, func(b Bound) bool {
		return b.Dialer != nil
	})
	if err != nil {
		return nil, err
	}
	return b.Dialer.Client(), nil
}
