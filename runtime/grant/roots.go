package grant

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/internal/pattern"
)

// Roots are the directories of the files that clients may name. Each has a name, which is the
// first segment of such paths. They are opened once: a directory that is moved to the same place
// later is not used.
//
// A single root may be named ".". It is then the top of all paths.
//
// Mounts below a root and hard links in it are part of it. A hard link is a second true name of a
// file. Users who may not read a file must not be able to create a link to it in a root. On
// Linux, fs.protected_hardlinks ensures this by default; otherwise set RefuseHardLinks.
//
// The nil Roots has no roots. Roots is safe for concurrent use.
type Roots struct {
	// RefuseHardLinks denies regular files with more than one link, as a [*Denied] with the cause
	// [Special], because another link may be a name outside of the roots. It counts the links of the
	// opened file. Systems without a count deny all files that exist. Set it before first use.
	RefuseHardLinks bool

	roots map[string]*os.Root
	owned []*os.Root
}

// OpenRoots opens the directory of each name. A name consists of ASCII letters, digits, dots,
// hyphens and underscores, and does not begin with a dot.
func OpenRoots(directories map[string]string) (*Roots, error) {
	r := &Roots{roots: map[string]*os.Root{}}
	for _, name := range slices.Sorted(maps.Keys(directories)) {
		root, err := os.OpenRoot(directories[name])
		if err == nil {
			r.owned = append(r.owned, root)
			err = r.put(name, root)
		}
		if err != nil {
			_ = r.Close()
			return nil, fmt.Errorf("root %q: %w", name, err)
		}
	}
	return r, nil
}

// With returns the roots and one more, such as a client's workspace. Closing either value closes
// no root that the other opened.
func (r *Roots) With(name string, root *os.Root) (*Roots, error) {
	more := &Roots{roots: map[string]*os.Root{}}
	if r != nil {
		more.RefuseHardLinks = r.RefuseHardLinks
		maps.Copy(more.roots, r.roots)
	}
	if err := more.put(name, root); err != nil {
		return nil, fmt.Errorf("root %q: %w", name, err)
	}
	return more, nil
}

func (r *Roots) put(name string, root *os.Root) error {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-"
	_, twice := r.roots[name]
	_, top := r.roots["."]
	switch {
	case twice:
		return errors.New("another root has this name")
	case top || name == "." && len(r.roots) > 0:
		return errors.New(`the root "." covers all paths, so no other root is possible`)
	case name != "." && (name == "" || name[0] == '.' || strings.Trim(name, letters) != ""):
		return errors.New("a name contains letters, digits, dots, hyphens and underscores, and does " +
			"not begin with a dot")
	}
	r.roots[name] = root
	return nil
}

// Holding returns the name of the root that contains a directory or is the directory itself.
func (r *Roots) Holding(directory string) (name string, found bool, err error) {
	at, err := filepath.Abs(directory)
	if err == nil {
		at, err = filepath.EvalSymlinks(at)
	}
	if err != nil {
		return "", false, err
	}
	for {
		here, err := os.Stat(at)
		if err != nil {
			return "", false, err
		}
		for _, name := range r.Names() {
			root, err := r.roots[name].Stat(".")
			if err != nil {
				return "", false, err
			}
			if os.SameFile(here, root) {
				return name, true, nil
			}
		}
		above := filepath.Dir(at)
		if above == at {
			return "", false, nil
		}
		at = above
	}
}

// Names returns the names, in order.
func (r *Roots) Names() []string {
	if r == nil {
		return nil
	}
	return slices.Sorted(maps.Keys(r.roots))
}

// MissingRoot returns the root that a permission on files needs and that is not in names, or "". It
// returns "" for a pattern that begins with a wildcard, if names contains ".", and if names is
// empty.
func (p Permission) MissingRoot(names []string) string {
	if pattern.FamilyOf(p.Type) != pattern.Paths || len(names) == 0 || slices.Contains(names, ".") {
		return ""
	}
	path, err := pattern.ParsePath(p.Resource)
	if err != nil || slices.Contains(names, path.Top()) {
		return ""
	}
	return path.Top()
}

// Close closes the roots that [OpenRoots] opened. Files stay open.
func (r *Roots) Close() error {
	var errs []error
	for _, root := range r.owned {
		errs = append(errs, root.Close())
	}
	return errors.Join(errs...)
}
