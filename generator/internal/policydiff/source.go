package policydiff

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
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
// vendor, testdata, those whose names begin with "." or "_", those that go.mod ignores, and other
// modules and git worktrees. It reads a package there nevertheless if a main package imports it. It
// checks nothing out.
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
	var found selection
	disk := folders{has: func(file string) bool {
		_, err := os.Lstat(filepath.FromSlash(file))
		return err == nil
	}, goFiles: func(folder string) (files []string) {
		entries, _ := os.ReadDir(filepath.FromSlash(folder)) // the go command reports it
		for _, entry := range entries {
			if isSource(entry.Name()) && entry.Type().IsRegular() {
				files = append(files, path.Join(folder, entry.Name()))
			}
		}
		return files
	}, read: func(files []string) (texts [][]byte, err error) {
		for _, file := range files {
			text, err := os.ReadFile(filepath.FromSlash(file))
			if err != nil {
				return nil, err
			}
			texts = append(texts, text)
		}
		return texts, nil
	}}
	names := map[string]string{} // as the pattern has them, by absolute folder
	for _, dir := range dirs {
		dir, below := strings.CutSuffix(dir, "/...")
		start, err := filepath.Abs(filepath.FromSlash(dir))
		if err != nil {
			return nil, err
		}
		p := disk.pattern(filepath.ToSlash(start))
		err = filepath.WalkDir(start, func(file string, entry fs.DirEntry, err error) error {
			folder := filepath.ToSlash(file)
			switch {
			case err != nil:
				return err
			case !entry.IsDir():
				return nil
			case file != start && (!below || p.match(folder) == outside):
				return fs.SkipDir
			}
			rel, err := filepath.Rel(start, file)
			names[folder] = path.Join(dir, filepath.ToSlash(rel))
			found.add(disk, folder, p.match(folder))
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	list, err := found.served(disk)
	for _, folder := range list {
		var m *Manifest
		if m, err = readFile(path.Join(names[folder], manifestName)); err != nil {
			return nil, err
		}
		set = append(set, m)
	}
	return set, err
}

// ref reads the manifests of a commit, by paths relative to the working directory.
func ref(ctx context.Context, name string, dirs []string) (set []*Manifest, err error) {
	id, within, err := commitOf(ctx, name)
	if err != nil {
		return nil, err
	}
	list, err := git(ctx, nil, "ls-tree", "-r", "-z", "--name-only", "--full-tree", id)
	if err != nil {
		return nil, err
	}
	files := map[string][]string{} // by folder
	for file := range strings.SplitSeq(strings.TrimSuffix(string(list), "\x00"), "\x00") {
		files[path.Dir(file)] = append(files[path.Dir(file)], path.Base(file))
	}
	tree := folders{has: func(file string) bool {
		return slices.Contains(files[path.Dir(file)], path.Base(file))
	}, goFiles: func(folder string) (list []string) {
		for _, name := range files[folder] {
			if isSource(name) {
				list = append(list, path.Join(folder, name))
			}
		}
		return list
	}, read: func(files []string) ([][]byte, error) { return blobs(ctx, id, files) }}
	var found selection
	for _, dir := range dirs {
		dir, below := strings.CutSuffix(path.Join(within, dir), "...")
		p := tree.pattern(path.Clean(dir))
		for folder := range files {
			if below || folder == p.base {
				found.add(tree, folder, p.match(folder))
			}
		}
	}
	served, err := found.served(tree)
	if err != nil {
		return nil, err
	}
	for i, folder := range served {
		served[i] = path.Join(folder, manifestName)
	}
	texts, err := blobs(ctx, id, served)
	for i, text := range texts {
		m, err := Read(relative(within, served[i]), text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		set = append(set, m)
	}
	return set, err
}

// commitOf returns the id of a commit, and the working directory within the repository, which ends
// with a slash or is empty.
func commitOf(ctx context.Context, name string) (id, within string, err error) {
	commit, err := git(ctx, nil, "rev-parse", "--verify", "--quiet", "--end-of-options",
		name+"^{commit}")
	if err != nil {
		return "", "", fmt.Errorf("%q is neither a file nor a commit of this git repository; a "+
			"shallow clone may lack it: %w", name, err)
	}
	prefix, err := git(ctx, nil, "rev-parse", "--show-prefix")
	return strings.TrimSpace(string(commit)), strings.TrimSpace(string(prefix)), err
}

// blobs returns the contents of files of a commit.
func blobs(ctx context.Context, commit string, files []string) (texts [][]byte, err error) {
	if len(files) == 0 {
		return nil, nil
	}
	var names strings.Builder
	for _, file := range files {
		if strings.Contains(file, "\n") {
			return nil, fmt.Errorf("%q has a line break in its name: rename the folder", file)
		}
		names.WriteString(commit + ":" + file + "\n")
	}
	out, err := git(ctx, strings.NewReader(names.String()), "cat-file", "--batch")
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		line, rest, _ := bytes.Cut(out, []byte("\n"))
		fields := bytes.Fields(line)
		size := -1
		if len(fields) == 3 {
			size, _ = strconv.Atoi(string(fields[2])) // git writes a number
		}
		if size < 0 || size+1 > len(rest) {
			return nil, fmt.Errorf("git cat-file: %s: %s", file, line)
		}
		texts, out = append(texts, rest[:size]), rest[size+1:]
	}
	return texts, nil
}

// relative is a file of the repository, relative to a folder of it.
func relative(within, file string) string {
	if rel, err := filepath.Rel(filepath.FromSlash(within+"."), filepath.FromSlash(file)); err == nil {
		return filepath.ToSlash(rel)
	}
	return file
}

func git(ctx context.Context, in io.Reader, args ...string) ([]byte, error) {
	var errs bytes.Buffer
	command := exec.CommandContext(ctx, "git", args...)
	command.Stdin, command.Stderr = in, &errs
	out, err := command.Output()
	if err != nil {
		// An exec.ExitError would be the exit code of the command.
		return nil, fmt.Errorf("git %s: %s", args[0],
			cmp.Or(strings.TrimSpace(errs.String()), err.Error()))
	}
	return out, nil
}
