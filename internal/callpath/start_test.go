package callpath

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// The start of a server is linear: with twice the items, the module executes about twice the
// statements, whatever the items have. Sorting alone grows faster.
func TestStartIsLinear(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles the runtime with counters")
	}
	program := filepath.Join(t.TempDir(), "start")
	build := exec.Command("go", "build", "-cover", "-covermode=count",
		"-coverpkg=github.com/mcpgen/mcpgen/...", "-o", program, "./testdata/start")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, kind := range []string{"tools", "values", "scopes", "aliases", "catalogs", "permissions",
		"apps", "adopted", "prompts", "resources", "templates"} {
		few, many := statements(t, program, kind, 400), statements(t, program, kind, 800)
		t.Logf("%s: %d and %d statements", kind, few, many)
		if few < 400 || many > few*9/4 {
			t.Errorf("%s: twice the items take %.2f times the statements",
				kind, float64(many)/float64(few))
		}
	}
}

// statements runs the program and returns how many statements of the module it has executed.
func statements(t *testing.T, program, kind string, items int) (executed int) {
	t.Helper()
	dir := t.TempDir()
	run := exec.Command(program, kind, strconv.Itoa(items))
	run.Env = append(os.Environ(), "GOCOVERDIR="+dir)
	if out, err := run.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", kind, err, out)
	}
	text := filepath.Join(dir, "counters")
	if out, err := exec.Command("go", "tool", "covdata", "textfmt", "-i="+dir,
		"-o="+text).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	file, err := os.Open(text)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		fields := strings.Fields(lines.Text()) // file:range, statements, and how often
		if len(fields) != 3 {
			continue // the mode
		}
		of, err := strconv.Atoi(fields[1])
		if err != nil {
			t.Fatal(err)
		}
		times, err := strconv.Atoi(fields[2])
		if err != nil {
			t.Fatal(err)
		}
		executed += of * times
	}
	return executed
}
