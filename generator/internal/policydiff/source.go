package policydiff

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// manifestName is the name of a manifest's file.
const manifestName = "mcp.manifest.json"

// Source is where manifests come from. The zero Source is the working tree below the working
// directory.
type Source struct {
	// From is a file or a git ref. Empty is the working tree.
	From string
	// Dirs restrict a git ref and the working tree to folders, as in "./x", or "./x/..." for a
	// folder and all below it. Empty is "./...".
	Dirs []string
}

// Load reads the manifests of a source. It skips folders that the go command skips for "./...":
// vendor, testdata, and those whose names begin with "." or "_". It checks nothing out.
func Load(ctx context.Context, s Source) (set []*Manifest, err error) {
	dirs := s.Dirs
	if len(dirs) == 0 {
		dirs = []string{"./..."}
	}
	for _, dir := range dirs {
		if dir != "." && dir != ".." && !strings.HasPrefix(dir, "./") &&
			!strings.HasPrefix(dir, "../") {
			return nil, fmt.Errorf("package %s: write a folder, such as ./%s", dir, dir)
		}
	}
	switch {
	case s.From == "":
		set, err = tree(dirs)
	case strings.HasSuffix(s.From, ".json"): // another file must not shadow a git ref
		var m *Manifest
		if m, err = readFile(s.From); err == nil {
			set = []*Manifest{m}
		}
	default:
		set, err = ref(ctx, s.From, dirs)
	}
	if err != nil {
		return nil, err
	}
	seen := map[string]string{}
	for _, m := range set {
		if first, twice := seen[m.Package]; twice {
			return nil, fmt.Errorf("%s and %s are both of package %q", first, m.File, m.Package)
		}
		seen[m.Package] = m.File
	}
	return set, nil
}

func readFile(file string) (*Manifest, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return Read(filepath.ToSlash(file), text)
}

// tree reads the manifests on the disk.
func tree(dirs []string) (set []*Manifest, err error) {
	var files []string
	for _, dir := range dirs {
		dir, below := strings.CutSuffix(dir, "/...")
		err := filepath.WalkDir(filepath.FromSlash(dir), func(
			file string, entry fs.DirEntry, err error,
		) error {
			switch {
			case err != nil:
				return err
			case entry.IsDir():
				if filepath.Clean(file) != filepath.Clean(filepath.FromSlash(dir)) &&
					(!below || skipped(entry.Name())) {
					return fs.SkipDir
				}
			case entry.Name() == manifestName:
				files = append(files, filepath.Clean(file))
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	for _, file := range sorted(files) {
		m, err := readFile(file)
		if err != nil {
			return nil, err
		}
		set = append(set, m)
	}
	return set, nil
}

// skipped reports whether the pattern ./... skips a folder.
func skipped(folder string) bool {
	return folder == "vendor" || folder == "testdata" || strings.HasPrefix(folder, ".") ||
		strings.HasPrefix(folder, "_")
}

// ref reads the manifests of a commit, by paths relative to the working directory.
func ref(ctx context.Context, name string, dirs []string) (set []*Manifest, err error) {
	commit, err := git(ctx, "rev-parse", "--verify", "--quiet", "--end-of-options",
		name+"^{commit}")
	if err != nil {
		return nil, fmt.Errorf("%q is neither a file nor a commit of this git repository; a "+
			"shallow clone may lack it: %w", name, err)
	}
	id := strings.TrimSpace(string(commit))
	prefix, err := git(ctx, "rev-parse", "--show-prefix")
	if err != nil {
		return nil, err
	}
	list, err := git(ctx, "ls-tree", "-r", "-z", "--name-only", "--full-tree", id)
	if err != nil {
		return nil, err
	}
	within := strings.TrimSpace(string(prefix)) // ends with a slash, or is empty
	for file := range strings.SplitSeq(string(list), "\x00") {
		if path.Base(file) != manifestName || !slices.ContainsFunc(dirs,
			func(dir string) bool { return matches(path.Join(within, dir), path.Dir(file)) }) {
			continue
		}
		text, err := git(ctx, "cat-file", "blob", id+":"+file)
		if err != nil {
			return nil, err
		}
		m, err := Read(relative(within, file), text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		set = append(set, m)
	}
	return set, nil
}

// matches reports whether a folder fits a pattern; both are relative to the root.
func matches(pattern, folder string) bool {
	dir, below := strings.CutSuffix(pattern, "...")
	dir = path.Clean(dir)
	if dir == folder {
		return true
	}
	rest, inside := strings.CutPrefix(folder, dir+"/")
	if dir == "." {
		rest, inside = folder, true
	}
	return below && inside && !slices.ContainsFunc(strings.Split(rest, "/"), skipped)
}

// relative is a file of the repository, relative to a folder of it.
func relative(within, file string) string {
	if rel, err := filepath.Rel(filepath.FromSlash(within+"."), filepath.FromSlash(file)); err == nil {
		return filepath.ToSlash(rel)
	}
	return file
}

func git(ctx context.Context, args ...string) ([]byte, error) {
	var errs bytes.Buffer
	command := exec.CommandContext(ctx, "git", args...)
	command.Stderr = &errs
	out, err := command.Output()
	if err != nil {
		// An exec.ExitError would be the exit code of the command.
		return nil, fmt.Errorf("git %s: %s", args[0],
			cmp.Or(strings.TrimSpace(errs.String()), err.Error()))
	}
	return out, nil
}
