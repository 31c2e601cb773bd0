package noninterference

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// maxMessages bounds the messages of the trace that a plant is shrunk to.
const maxMessages = 10

var (
	// A message of a minimal trace, without the handshakes.
	sent   = regexp.MustCompile(`(?m)^\s*(\[server \d\] )?(caller|caller@2|other)> [A-Z]+ `)
	seeded = regexp.MustCompile(`-rapid\.seed=(\d+)`)
	// The file of a diff.
	planted = regexp.MustCompile(`(?m)^--- a/(.+)$`)
)

// TestEachPlantIsFound builds the tests with one fault at a time, which a diff in testdata/plants
// plants, and runs them. Each fault has to be found, and its trace has at most ten messages.
// PLANTS=FOLDER has further plants.
func TestEachPlantIsFound(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles the runtime for each plant")
	}
	plants, err := filepath.Glob("testdata/plants/*.diff")
	if err != nil {
		t.Fatal(err)
	}
	if folder := os.Getenv("PLANTS"); folder != "" {
		if plants, err = filepath.Glob(filepath.Join(folder, "*.diff")); err != nil {
			t.Fatal(err)
		}
	}
	if len(plants) == 0 {
		t.Fatal("no plants")
	}
	without := compile(t, overlay(t, t.TempDir(), nil))
	for _, plant := range plants {
		t.Run(strings.TrimSuffix(filepath.Base(plant), ".diff"), func(t *testing.T) {
			binary := buildWith(t, plant)
			// Equal work takes fewer plans, so that it is tried first. A fault that depends on the order
			// of goroutines cannot be shrunk each time.
			const interferes = "TestHiddenItemsDoNotInterfere"
			outcome := "the fault is not found"
			for _, test := range [][2]string{{"TestHiddenAndUnknownDoEqualWork", "60"},
				{interferes, "10000"}, {interferes, "10000"}, {interferes, "10000"}} {
				out, err := exec.Command(binary, "-test.run", "^"+test[0]+"$", "-rapid.nofailfile",
					"-rapid.checks="+test[1], "-rapid.shrinktime=10s").CombinedOutput()
				if err == nil && test[0] == interferes {
					break
				} else if err == nil {
					continue
				}
				text, rest, _ := strings.Cut(string(out), "To reproduce")
				messages := len(sent.FindAllString(text, -1))
				t.Logf("%d messages\n%s", messages, text)
				seed := seeded.FindStringSubmatch(rest)
				if !strings.Contains(text, "[rapid] failed") || messages > maxMessages || seed == nil {
					outcome = "the fault is not shrunk to ten messages"
					continue
				}
				if out, err := exec.Command(without, "-test.run", "^"+test[0]+"$", "-rapid.nofailfile",
					"-rapid.checks=1", "-rapid.seed="+seed[1]).CombinedOutput(); err != nil {
					t.Errorf("there is a difference without the fault too: %s", out)
				}
				return
			}
			t.Error(outcome)
		})
	}
}

// TestPlantsApply finds a plant that a change of the product has made useless.
func TestPlantsApply(t *testing.T) {
	plants, err := filepath.Glob("testdata/plants/*.diff")
	if err != nil || len(plants) == 0 {
		t.Fatalf("%d plants, %v", len(plants), err)
	}
	for _, plant := range plants {
		withPlant(t, plant)
	}
}

// buildWith compiles the tests of this package with the fault of a diff.
func buildWith(t *testing.T, plant string) string {
	t.Helper()
	dir, replace := withPlant(t, plant)
	return compile(t, overlay(t, dir, replace))
}

// withPlant copies the files of a diff into a folder, and applies the diff there.
func withPlant(t *testing.T, plant string) (dir string, replace map[string]string) {
	t.Helper()
	root := rootOf(t)
	plant, err := filepath.Abs(plant)
	if err != nil {
		t.Fatal(err)
	}
	diff, err := os.ReadFile(plant)
	if err != nil {
		t.Fatal(err)
	}
	dir, replace = t.TempDir(), map[string]string{}
	for _, m := range planted.FindAllStringSubmatch(string(diff), -1) {
		source, err := os.ReadFile(filepath.Join(root, m[1]))
		if err != nil {
			t.Fatal(err)
		}
		copied := filepath.Join(dir, m[1])
		if err := os.MkdirAll(filepath.Dir(copied), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(copied, source, 0o600); err != nil {
			t.Fatal(err)
		}
		replace[filepath.Join(root, m[1])] = copied
	}
	command(t, dir, nil, "git", "apply", "--whitespace=nowarn", plant)
	return dir, replace
}
