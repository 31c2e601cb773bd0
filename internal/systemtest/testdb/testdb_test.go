package testdb_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	_ "github.com/mcpgen/mcpgen/internal/systemtest/drivers"
	"github.com/mcpgen/mcpgen/internal/testdb"
)

var engines = map[string]func(testing.TB) *testdb.Database{
	"sqlite":     testdb.SQLite,
	"postgresql": testdb.PostgreSQL,
}

func TestEachDatabaseIsEmptyAndTheTestsAlone(t *testing.T) {
	for name, engine := range engines {
		t.Run(name, func(t *testing.T) {
			for range 2 {
				db := engine(t)
				if _, err := db.Exec("CREATE TABLE thing (id INTEGER)"); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

func TestDatabaseIsGoneWhenItsTestHasEnded(t *testing.T) {
	var gone *testdb.Database
	t.Run("test", func(t *testing.T) { gone = testdb.PostgreSQL(t) })
	other := testdb.PostgreSQL(t)
	var n int
	if err := other.QueryRow("SELECT count(*) FROM pg_database WHERE datname = $1", gone.Name).
		Scan(&n); err != nil || n != 0 {
		t.Errorf("%d, %v", n, err)
	}
	if gone.Ping() == nil {
		t.Error("its connections are open")
	}
}

// TestClusterEndsWithItsProcess runs this binary again, kills it while it holds a cluster, and
// waits until the cluster's directory is gone: the pipe that it holds for writing is closed by
// then, which a reader sees as its end.
func TestClusterEndsWithItsProcess(t *testing.T) {
	if os.Getenv("TESTDB_HOLD") != "" {
		os.Stdout.WriteString(testdb.PostgreSQL(t).Host + "\n")
		select {}
	}
	testdb.PostgreSQL(t) // says how to get it
	hold := exec.Command(os.Args[0], "-test.run=^TestClusterEndsWithItsProcess$")
	hold.Env = append(os.Environ(), "TESTDB_HOLD=1")
	out, err := hold.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	// The shell that keeps the cluster inherits this pipe too, and closes it when all is removed.
	ended, held, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	hold.ExtraFiles = []*os.File{held}
	if err := hold.Start(); err != nil {
		t.Fatal(err)
	}
	held.Close()
	dir, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	dir = filepath.Clean(dir[:len(dir)-1])
	if _, err := os.Stat(dir); err != nil {
		t.Error(err)
	}
	if err := hold.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	hold.Wait()
	if _, err := io.Copy(io.Discard, ended); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("%s: %v", dir, err)
	}
}

func TestProbeCountsQueriesAndCutsAnswersShort(t *testing.T) {
	for name, engine := range engines {
		t.Run(name, func(t *testing.T) {
			db := engine(t)
			probe := db.Probe(t)
			count := func() (n int, err error) {
				rows, err := probe.QueryContext(t.Context(), "SELECT 1 UNION SELECT 2")
				if err != nil {
					return 0, err
				}
				defer rows.Close()
				for rows.Next() {
					n++
				}
				return n, rows.Err()
			}
			if n, err := count(); n != 2 || err != nil || probe.Queries() != 1 {
				t.Errorf("%d rows, %v, %d queries", n, err, probe.Queries())
			}
			probe.CutAfter(1)
			if n, err := count(); n != 1 || !errors.Is(err, testdb.ErrLost) || probe.Queries() != 2 {
				t.Errorf("%d rows, %v, %d queries", n, err, probe.Queries())
			}
			if _, err := probe.QueryContext(t.Context(), "SELECT nothing WHERE 1 = $1",
				int64(7)); err == nil {
				t.Error("a query that the engine refuses passes")
			}
			if asked := probe.Recorded(); len(asked) != 3 ||
				asked[2].Text != "SELECT nothing WHERE 1 = $1" ||
				!slices.Equal(asked[2].Args, []any{int64(7)}) {
				t.Errorf("%+v", asked)
			}
		})
	}
}

// outcome is a test that notes how it was ended, and goes on.
type outcome struct {
	testing.TB
	ends []string
}

func (o *outcome) Helper() {}

func (o *outcome) Skipf(format string, args ...any) {
	o.ends = append(o.ends, "skipped: "+fmt.Sprintf(format, args...))
}

func (o *outcome) Fatalf(format string, args ...any) {
	o.ends = append(o.ends, "failed: "+fmt.Sprintf(format, args...))
}

func TestWhatIsMissingSkipsAndFailsInCI(t *testing.T) {
	for ci, want := range map[string]string{"": "skipped: no x", "false": "skipped: no x",
		"true": "failed: no x"} {
		t.Setenv("CI", ci)
		o := &outcome{TB: t}
		testdb.Unavailable(o, "no %s", "x")
		if len(o.ends) == 0 || o.ends[0] != want {
			t.Errorf("CI=%s: %s", ci, o.ends)
		}
	}
}

func TestQuickRunSkipsWhatNeedsMoreThanGo(t *testing.T) {
	o := &outcome{TB: t}
	testdb.Full(o, "x")
	if skipped := len(o.ends) == 1; skipped != testing.Short() {
		t.Errorf("with -short=%t: %s", testing.Short(), o.ends)
	}
}
