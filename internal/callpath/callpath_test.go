package callpath

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"
)

var (
	tree     = flag.String("tree", "../..", "root `directory` of the checkout to measure")
	without  = flag.String("without", "", "comma-separated `files` to leave out of the figures")
	showPath = flag.Bool("path", false, "log the entered functions in order")
)

// The limits of one tools/call. Package session is between the transport and the guard on both
// ways, and between the guard and package invoke. mcpgen owns the server side of the protocol, so
// that its encoding, the answer of a session and the boundary of a client are within the path.
const (
	maxFileChanges    = 97
	maxPackageChanges = 42
)

// figures describe the functions that one message enters, of all goroutines in order of time.
type figures struct {
	functions, files, fileChanges, packages, packageChanges int
}

func figuresOf(entries []entry) figures {
	f := figures{functions: len(entries)}
	files, packages := map[string]bool{}, map[string]bool{}
	for i, e := range entries {
		pkg := path.Dir(e.File)
		files[e.File], packages[pkg] = true, true
		if i == 0 {
			continue
		}
		before := entries[i-1].File
		if before != e.File {
			f.fileChanges++
		}
		if path.Dir(before) != pkg {
			f.packageChanges++
		}
	}
	f.files, f.packages = len(files), len(packages)
	return f
}

// median returns the run with the median number of changes, without the entries to leave out.
func median(runs [][]entry, leaveOut func(entry) bool) []entry {
	if len(runs) == 0 {
		return nil
	}
	for i := range runs {
		runs[i] = slices.DeleteFunc(runs[i], leaveOut)
	}
	slices.SortStableFunc(runs, func(a, b []entry) int {
		x, y := figuresOf(a), figuresOf(b)
		return cmp.Or(cmp.Compare(x.fileChanges, y.fileChanges),
			cmp.Compare(x.packageChanges, y.packageChanges))
	})
	return runs[len(runs)/2]
}

func TestCallPathIsShort(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a server")
	}
	root, err := filepath.Abs(*tree)
	if err != nil {
		t.Fatal(err)
	}
	traces := record(t, root)
	names := strings.Split(*without, ",")
	leftOut := func(e entry) bool { return slices.Contains(names, e.File) }
	all := map[string]figures{}
	var table strings.Builder
	w := tabwriter.NewWriter(&table, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "method\tfunctions\tfiles\tchanges of file\tpackages\tchanges of package\t")
	for _, method := range []string{"tools/call", "tools/list"} {
		entries := median(traces[method], leftOut)
		if len(entries) == 0 {
			t.Fatalf("%s entered no function", method)
		}
		f := figuresOf(entries)
		all[method] = f
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%d\t\n",
			method, f.functions, f.files, f.fileChanges, f.packages, f.packageChanges)
		if *showPath {
			logPath(t, method, entries)
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	t.Logf("\n%s", &table)

	// A checkout from before the division of package runtime (-tree) has no limits.
	if _, err := os.Stat(filepath.Join(root, "runtime", "internal", "guard")); err != nil {
		t.Logf("no limits: %v", err)
		return
	}
	call, list := all["tools/call"], all["tools/list"]
	if call.fileChanges > maxFileChanges {
		t.Errorf("tools/call changes file %d times, limit %d", call.fileChanges, maxFileChanges)
	}
	if call.packageChanges > maxPackageChanges {
		t.Errorf("tools/call changes package %d times, limit %d",
			call.packageChanges, maxPackageChanges)
	}
	if list.packageChanges >= call.packageChanges {
		t.Errorf("tools/list changes package %d times, tools/call %d times: "+
			"the list must need fewer", list.packageChanges, call.packageChanges)
	}
}

// logPath logs one line for each run of functions of one file.
func logPath(t *testing.T, method string, entries []entry) {
	var b strings.Builder
	for i, e := range entries {
		if i == 0 || entries[i-1].File != e.File {
			fmt.Fprintf(&b, "\n%s", e.File)
		}
		fmt.Fprintf(&b, ":%d", e.Line)
	}
	t.Logf("%s%s", method, &b)
}

func TestFiguresCountChanges(t *testing.T) {
	got := figuresOf([]entry{
		{"runtime/a.go", 1}, {"runtime/a.go", 9}, {"runtime/internal/guard/a.go", 1},
		{"runtime/internal/guard/b.go", 1}, {"runtime/a.go", 1},
	})
	want := figures{functions: 5, files: 3, fileChanges: 3, packages: 2, packageChanges: 2}
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
