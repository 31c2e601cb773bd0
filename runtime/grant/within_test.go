//go:build unix

package grant

import (
	"errors"
	"io/fs"
	"net"
	"slices"
	"strings"
	"testing"
)

// bounds is a set as Decider.Within has it.
func bounds(t *testing.T, permissions ...Permission) *Set {
	t.Helper()
	for i := range permissions {
		permissions[i].Unrestricted = true
	}
	set, err := NewSet(Default(permissions...)...)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// A bound narrows grants by the true path of the opened file, whatever the client names. Without a
// grant, a refusal is the same with a bound and without.
func TestBoundsAreTestedOnTheOpenedFile(t *testing.T) {
	_, roots := tree(t)
	var names []string
	for _, root := range []string{"pub", "box"} {
		err := fs.WalkDir(roots.roots[root].FS(), ".",
			func(path string, _ fs.DirEntry, err error) error {
				names = append(names, root+"/"+path, root+"/folder/"+path)
				return err
			})
		if err != nil {
			t.Fatal(err)
		}
	}
	all := bounds(t, Permission{Type: FileRead, Resource: "**"})
	for _, pattern := range []string{"**/*.txt", "pub/docs/*", "box/**", "pub/secret/**", "**/up"} {
		within := bounds(t, Permission{Type: FileRead, Resource: pattern})
		met := map[bool]int{}
		for _, name := range slices.Concat(names, []string{"pub/gone.txt", "pub/gone"}) {
			open := func(d Decider) (*Opened, error) {
				d.Roots = roots
				o, err := d.Open(t.Context(), name, openMode{Read: true})
				if o != nil {
					o.File.Close()
				}
				return o, err
			}
			free, freeErr := open(Decider{Set: all})
			got, err := open(Decider{Set: all, Within: within})
			denied, _ := errors.AsType[*Denied](err)
			switch {
			case freeErr != nil && err == nil:
				t.Errorf("%s within %s: %v became %+v", name, pattern, freeErr, got)
			case freeErr != nil:
			default:
				fits := within.matches(Query{Kind: FileRead, Resource: free.Path})
				met[fits]++
				if fits != (err == nil) || !fits && (denied == nil || denied.Cause != OutOfBounds) {
					t.Errorf("%s is %s; within %s: %v", name, free.Path, pattern, err)
				}
			}
			_, want := open(Decider{})
			if _, err := open(Decider{Within: within}); err == nil || err.Error() != want.Error() {
				t.Errorf("%s without a grant: %v, and within %s: %v", name, want, pattern, err)
			}
		}
		if met[false] == 0 || met[true] == 0 && pattern != "**/up" {
			t.Errorf("%s: %v", pattern, met)
		}
	}
}

func TestBoundsOfWrittenFilesAndCommands(t *testing.T) {
	_, roots := tree(t)
	all := bounds(t, Permission{Type: FileRead, Resource: "**"},
		Permission{Type: FileWrite, Resource: "**"}, Permission{Type: SystemCommand, Resource: "* **"},
		Permission{Type: "queue.push", Resource: "*"})
	d := Decider{Set: all, Roots: roots, Within: bounds(t,
		Permission{Type: FileWrite, Resource: "**/*.txt"},
		Permission{Type: SystemCommand, Resource: "git log **"},
		Permission{Type: "queue.push", Resource: "mail-*"})}
	bounded := func(err error) bool {
		denied, ok := errors.AsType[*Denied](err)
		if !ok || denied.Cause != OutOfBounds || !strings.Contains(err.Error(), "takes only") {
			return false
		}
		_, lacks := denied.Lacking()
		return lacks != nil
	}
	for path, refused := range map[string]bool{"pub/new.txt": false, "pub/new.md": true,
		"pub/dangling": true, "pub/docs/up": false} {
		b, err := d.Path(t.Context(), Path(path), FileRead, FileWrite)
		if b.Opened != nil {
			b.Opened.File.Close()
		}
		if bounded(err) != refused || !refused && err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
	if _, err := roots.roots["pub"].Stat("new.md"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a refused file was created: %v", err)
	}
	if _, err := d.Argv(Argv{"git", "log", "-1"}); err != nil {
		t.Error(err)
	}
	if _, err := d.Argv(Argv{"git", "push"}); !bounded(err) {
		t.Error(err)
	}
	if _, err := d.Custom("queue.push", "mail-out"); err != nil {
		t.Error(err)
	}
	if _, err := d.Custom("queue.push", "jobs"); !bounded(err) {
		t.Error(err)
	}
}

// A bound on names holds for each connection, and not for the address that a name resolves to,
// which grants decide on.
func TestBoundsOfHosts(t *testing.T) {
	port := listen(t)
	names := []Permission{{Type: NetConnect, Resource: "*.example:" + port}}
	address := Permission{Type: NetConnect, Resource: "127.0.0.1:" + port}
	within := bounds(t, Permission{Type: NetConnect, Resource: "a.example:" + port})
	for name, test := range map[string]struct {
		granted []Permission
		cause   Cause
	}{
		"a.example": {append(names, address), ""},
		"b.example": {append(names, address), OutOfBounds},
		"127.0.0.1": {append(names, address), OutOfBounds},
		"A.example": {names, NotPublic},
	} {
		dialer := &Dialer{Resolver: resolver([]string{"127.0.0.1"}),
			Decider: &Decider{Set: bounds(t, test.granted...), Within: within}}
		conn, err := dialer.DialContext(t.Context(), "tcp", net.JoinHostPort(name, port))
		if conn != nil {
			conn.Close()
		}
		denied, _ := errors.AsType[*Denied](err)
		if (err == nil) != (test.cause == "") || test.cause != "" && denied.Cause != test.cause {
			t.Errorf("%s: %v", name, err)
		}
	}
}
