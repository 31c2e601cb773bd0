package grant

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/mcpgen/mcpgen/internal/pattern"
)

// Decider decides on the resources of one call, and opens the allowed ones.
type Decider struct {
	// Set contains the client's grants. Nil has none.
	Set *Set
	// Roots contains the directories of its files. Nil has none.
	Roots *Roots
	// Now is the clock. Nil is [time.Now].
	Now func() time.Time
	// Isolated is true for an isolated call.
	Isolated bool
	// Within narrows what Set allows. Of each kind that it contains, a resource must match one of
	// its patterns, too. It comes from //mcp:allow. Nil narrows nothing.
	Within *Set
}

// Decide decides on a resource: by the grants, then by Within. It replaces Isolated of the query by
// the decider's.
func (d *Decider) Decide(query Query) Decision {
	now := time.Now
	if d.Now != nil {
		now = d.Now
	}
	query.Isolated = d.Isolated
	decision := d.Set.Decide(now(), query)
	if decision.Allowed && !d.Within.matches(query) {
		return Decision{Cause: OutOfBounds, query: query,
			reason: "the tool takes only " + d.Within.patterns(query.Kind)}
	}
	return decision
}

// openMode selects how a file is opened. The zero Want opens nothing.
type openMode struct {
	// Read needs file.read, and opens directories too.
	Read bool
	// Write needs file.write, and creates a missing file in an existing directory. The content of a
	// file stays until the handler truncates it.
	Write bool
	// Mode is the mode of a created file, before the umask. Zero is 0600.
	Mode fs.FileMode
}

// Opened is an open file or directory, after the decision on it.
type Opened struct {
	File *os.File
	// Path is the true path: the name of the root, and below it the names of directories and file,
	// without symbolic links.
	Path    string
	Dir     bool
	Created bool
	// Grants are the grants that allow it, one for each wanted kind.
	Grants []*Grant
}

const (
	maxLinks = 40  // symbolic links on one way, as Linux has it
	maxTries = 100 // how often something may change while it is opened
)

var (
	errEscapes  = errors.New("it leaves its root")
	errChanging = errors.New("it kept changing during opening")
	errSpelling = errors.New("the directory has it with another spelling only")
	errLoop     = errors.New("it has too many symbolic links")
	errKind     = errors.New("it is neither a regular file nor a directory")
)

// Open opens the file or directory that a client names, if a grant allows it.
//
// The decision is on the opened file, not on the text of the path:
//
//   - From the root on, Open opens each directory in the one before, and [os.Root] keeps it
//     inside. Then it checks in the parent that the name is that directory and no symbolic link.
//     While a file is open, no other file gets its number. So the check holds even if names
//     change meanwhile.
//   - Open reads a symbolic link and continues with its target. So the true path follows from
//     the way the descriptor was opened. It needs neither /proc nor a second look-up of the
//     path.
//   - Open opens or creates the file in the directory that it decided on, without waiting
//     (O_NONBLOCK), so that a FIFO does not block. It checks that the file is the regular file
//     of that name. It does not truncate an existing file.
//
// Open denies absolute paths, "..", NUL, invalid UTF-8, links that are absolute or lead out,
// devices, FIFOs and sockets. It denies files with several hard links if [Roots] refuses them. It
// also denies names that the directory has in another spelling, because file systems that fold
// case or Unicode forms would open them. Superfluous "/" and "." are dropped. A path with "/" at
// the end must be a directory.
//
// A denial is a [*Denied]. Other errors ([fs.ErrNotExist], [syscall.ENOTDIR], …) are returned
// only if a grant allows the path that does not exist, so that a caller without a grant learns
// nothing. They contain the path as the client named it. The caller closes the file.
func (d *Decider) Open(ctx context.Context, path string, want openMode) (*Opened, error) {
	w := &walk{decider: d, want: want, named: path}
	defer w.close()
	if !want.Read && !want.Write {
		return nil, errors.New("grant: no access requested for " + path +
			": set Read or Write")
	}
	if reason := w.start(path); reason != "" {
		return nil, w.denied(Malformed, reason)
	}
	if w.dirs == nil {
		return nil, w.fail(fs.ErrNotExist)
	}
	for range (maxLinks+1)*pattern.MaxLength + maxTries {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if opened, err := w.step(); opened != nil || err != nil {
			return opened, err
		}
	}
	return nil, w.fail(errChanging)
}

// walk is a walk from a root to the path of a client.
type walk struct {
	decider *Decider
	want    openMode
	named   string

	top     []string   // the name of the root, if it is not the top
	dirs    []*os.Root // the directories that are open; the first is the root, which stays open
	names   []string   // of the others
	pending []string   // names still to find; ".." comes from links only
	asDir   bool       // it must be a directory
	links   int
	tries   int
}

func (w *walk) close() {
	for i, dir := range w.dirs {
		if i > 0 {
			_ = dir.Close()
		}
	}
}

// start reads the path that the client wrote, or returns its fault.
func (w *walk) start(path string) string {
	switch {
	case path == "":
		return `it is empty: write "." for the top`
	case len(path) > pattern.MaxLength:
		return "it is too long for a path"
	case strings.IndexByte(path, 0) >= 0:
		return "it contains NUL"
	case !utf8.ValidString(path):
		return "it is not UTF-8"
	case strings.HasPrefix(path, "/"), runtime.GOOS == "windows" &&
		(strings.ContainsAny(path, `\:`) || !filepath.IsLocal(path)):
		return "it is absolute: begin with the name of a root"
	}
	w.push(path)
	for _, name := range w.pending {
		if name == ".." {
			return `it contains ".."`
		}
	}
	root, ok := w.decider.Roots.at(".")
	if !ok && len(w.pending) > 0 {
		root, ok = w.decider.Roots.at(w.pending[0])
		w.top, w.pending = w.pending[:1], w.pending[1:]
	}
	if ok {
		w.dirs = []*os.Root{root}
	}
	return ""
}

func (r *Roots) at(name string) (*os.Root, bool) {
	if r == nil {
		return nil, false
	}
	root, ok := r.roots[name]
	return root, ok
}

// push puts the names of a path before those that are pending.
func (w *walk) push(path string) {
	if len(w.pending) == 0 && (strings.HasSuffix(path, "/") || strings.HasSuffix(path, "/.") ||
		path == ".") {
		w.asDir = true
	}
	var names []string
	for name := range strings.SplitSeq(path, "/") {
		if name != "" && name != "." {
			names = append(names, name)
		}
	}
	w.pending = append(names, w.pending...)
}

// path is the true path of a name below the directory that is open, or of the directory.
func (w *walk) path(below ...string) string {
	parts := append(append(append([]string{}, w.top...), w.names...), below...)
	if len(parts) == 0 {
		return "."
	}
	return strings.Join(parts, "/")
}

// step takes one step of the walk. It returns neither a file nor an error if more steps follow.
func (w *walk) step() (*Opened, error) {
	dir := w.dirs[len(w.dirs)-1]
	if len(w.pending) == 0 {
		return w.openDir(dir)
	}
	name := w.pending[0]
	if name == ".." {
		if len(w.names) == 0 {
			return nil, w.denied(NoGrant, "no grant allows it")
		}
		_ = dir.Close()
		w.dirs, w.names, w.pending = w.dirs[:len(w.dirs)-1], w.names[:len(w.names)-1], w.pending[1:]
		return nil, nil
	}
	last := len(w.pending) == 1
	info, err := dir.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist) && last && w.want.Write && !w.asDir:
		return w.create(dir, name)
	case err != nil:
		return nil, w.fail(err)
	case info.Mode()&fs.ModeSymlink != 0:
		return nil, w.follow(dir, name)
	case info.IsDir():
		return nil, w.enter(dir, name)
	case !info.Mode().IsRegular() && last:
		return nil, w.fail(errKind)
	case !last || w.asDir:
		return nil, w.fail(syscall.ENOTDIR)
	}
	return w.openFile(dir, name)
}

// follow replaces a link's name by the names of its target. It reads the target once.
func (w *walk) follow(dir *os.Root, name string) error {
	target, err := dir.Readlink(name)
	if err != nil {
		return w.again(err)
	}
	if w.links++; w.links > maxLinks {
		return w.fail(errLoop)
	}
	if target == "" || strings.HasPrefix(target, "/") || filepath.IsAbs(target) ||
		len(target) > pattern.MaxLength {
		return w.fail(errEscapes)
	}
	w.pending = w.pending[1:]
	w.push(filepath.ToSlash(target))
	return nil
}

// enter opens a directory in the one that is open.
func (w *walk) enter(dir *os.Root, name string) error {
	// "/." fails if it is no directory: opening a FIFO would block
	sub, err := dir.OpenRoot(name + "/.")
	if err != nil {
		return w.again(err)
	}
	is, err := sub.Stat(".")
	if err == nil {
		err = sameName(dir, name, is)
	}
	if err != nil {
		_ = sub.Close()
		return w.again(err)
	}
	w.dirs, w.names, w.pending = append(w.dirs, sub), append(w.names, name), w.pending[1:]
	return nil
}

// again repeats the walk's step after a change since the last look.
func (w *walk) again(err error) error {
	if errors.Is(err, errSpelling) || errors.Is(err, fs.ErrPermission) {
		return w.fail(err)
	}
	if w.tries++; w.tries <= maxTries {
		return nil
	}
	// An error number of the system is returned, as for no descriptors left. Only swaps cause two of
	// them: EINVAL of readlinkat if the name is no link any more, and ELOOP of O_NOFOLLOW for a new
	// link. Swaps also cause all other errors, as os.Root's for a link in place of a name.
	number, ok := errors.AsType[syscall.Errno](err)
	if !ok || number == syscall.EINVAL || number == syscall.ELOOP {
		err = errChanging
	}
	return w.fail(err)
}

func (w *walk) openDir(dir *os.Root) (*Opened, error) {
	grants, err := w.allow(w.path())
	if err != nil {
		return nil, err
	}
	if w.want.Write {
		return nil, w.error(syscall.EISDIR)
	}
	f, err := dir.Open(".")
	if err != nil {
		return nil, w.error(err)
	}
	return &Opened{File: f, Path: w.path(), Dir: true, Grants: grants}, nil
}

func (w *walk) flags() int {
	switch {
	case w.want.Read && w.want.Write:
		return os.O_RDWR | nonblock
	case w.want.Write:
		return os.O_WRONLY | nonblock
	}
	return os.O_RDONLY | nonblock
}

func (w *walk) openFile(dir *os.Root, name string) (*Opened, error) {
	grants, err := w.allow(w.path(name))
	if err != nil {
		return nil, err
	}
	f, err := dir.OpenFile(name, w.flags(), 0)
	if err != nil {
		return nil, w.again(err)
	}
	is, err := f.Stat()
	if err == nil && !is.Mode().IsRegular() {
		err = errKind
	}
	if err == nil {
		err = sameName(dir, name, is)
	}
	if err != nil {
		_ = f.Close()
		return nil, w.again(err)
	}
	if w.decider.Roots.RefuseHardLinks && linked(is) {
		_ = f.Close()
		return nil, w.denied(Special,
			"it has more than one hard link, which this server does not allow: copy it")
	}
	return &Opened{File: f, Path: w.path(name), Grants: grants}, nil
}

// create makes a file in the directory that is open. It follows no link and opens nothing that
// exists (O_EXCL).
func (w *walk) create(dir *os.Root, name string) (*Opened, error) {
	grants, err := w.allow(w.path(name))
	if err != nil {
		return nil, err
	}
	if strings.HasSuffix(name, ".") || strings.HasSuffix(name, " ") {
		return nil, w.denied(Malformed,
			"the name of a new file must not end in a dot or a space, because some file systems drop them")
	}
	mode := w.want.Mode
	if mode == 0 {
		mode = 0o600
	}
	f, err := dir.OpenFile(name, w.flags()|os.O_CREATE|os.O_EXCL, mode.Perm())
	if errors.Is(err, fs.ErrExist) {
		return nil, w.again(err)
	}
	if err != nil {
		return nil, w.fail(err)
	}
	return &Opened{File: f, Path: w.path(name), Created: true, Grants: grants}, nil
}

// allow decides on a true path.
func (w *walk) allow(path string) ([]*Grant, error) {
	var grants []*Grant
	for _, kind := range w.want.kinds() {
		d := w.decider.Decide(Query{Kind: kind, Resource: path, Named: w.named})
		if !d.Allowed {
			return nil, d.Err()
		}
		grants = append(grants, d.Grant)
	}
	return grants, nil
}

func (w openMode) kinds() []string {
	switch {
	case w.Read && w.Write:
		return []string{FileRead, FileWrite}
	case w.Write:
		return []string{FileWrite}
	}
	return []string{FileRead}
}

// fail is for a walk that ends early: the error is returned if a grant allows the path that the
// rest of the written path leads to.
func (w *walk) fail(err error) error {
	if errors.Is(err, errEscapes) {
		return w.denied(NoGrant, "no grant allows it")
	}
	_, refused := w.allow(w.path(w.pending...))
	d, _ := errors.AsType[*Denied](refused)
	switch {
	case d != nil && d.Cause == Malformed: // ".." of a link after a missing name
		return w.denied(NoGrant, "no grant allows it")
	case refused != nil:
		return refused
	case errors.Is(err, errKind):
		return w.denied(Special, errKind.Error())
	}
	return w.error(err)
}

func (w *walk) denied(cause Cause, reason string) error {
	return &Denied{Kind: w.want.kinds()[0], Resource: w.named, Cause: cause, Reason: reason}
}

// error contains the path as the client named it, and not that of the root.
func (w *walk) error(err error) error {
	if inner, ok := errors.AsType[*fs.PathError](err); ok {
		err = inner.Err
	}
	return &fs.PathError{Op: "open", Path: w.named, Err: err}
}
