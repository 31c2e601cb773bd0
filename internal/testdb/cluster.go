package testdb

import (
	"bufio"
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
)

const (
	user = "postgres"
	port = "5432" // names the socket only: the cluster listens on no network
)

// cluster is a PostgreSQL cluster of this process.
type cluster struct {
	dir      string // of the socket
	admin    *sql.DB
	strategy string       // the end of CREATE DATABASE, or empty
	made     atomic.Int64 // databases, so that each has a name of its own
	// keeper is the standard input of the shell that keeps the cluster. It is never written to and
	// closed by the end of this process alone, however that comes about.
	keeper io.Closer
}

// shared is the cluster of this process, made at its first use.
var shared = sync.OnceValues(start)

// keep makes a cluster in a directory of its own, prints the directory, and waits for the end of
// its standard input, which is the end of the process that started it: a panic, a timeout or a kill
// leaves nothing behind. The directory is below /tmp because the name of a socket has at most 107
// bytes. Nothing is synchronised to the disk, which matters only if the machine crashes.
const keep = `
trap '' HUP INT TERM
dir=$(mktemp -d /tmp/testdb.XXXXXX) || exit 1
out=$("$1/initdb" -D "$dir/data" -U ` + user + ` -A trust -E UTF8 --no-locale -N 2>&1 &&
	"$1/pg_ctl" -D "$dir/data" -w -l "$dir/log" -o "-k $dir -p ` + port + ` -c listen_addresses= -c fsync=off -c synchronous_commit=off -c full_page_writes=off ` +
	`-c wal_level=minimal -c max_wal_senders=0 -c autovacuum=off -c jit=off" start 2>&1) &&
	echo "$dir" && exec >&- 2>&- && cat >/dev/null ||
	{ echo "$out" >&2; cat "$dir/log" >&2; }
"$1/pg_ctl" -D "$dir/data" -m immediate -w stop >/dev/null 2>&1
rm -rf "$dir"
`

func start() (*cluster, error) {
	bin, err := binaries()
	if err != nil {
		return nil, err
	}
	command := []string{"sh", "-c", keep, "sh", bin}
	if os.Geteuid() == 0 { // PostgreSQL refuses to run as root; its package brings a user for it.
		command = slices.Concat([]string{"setpriv", "--reuid=" + user, "--regid=" + user,
			"--init-groups", "--"}, command)
	}
	var problem bytes.Buffer
	sh := exec.Command(command[0], command[1:]...)
	sh.Dir, sh.Stderr = "/", &problem // PostgreSQL's user may not enter the directory of the test
	sh.Env = append(os.Environ(), "LC_ALL=C")
	stdin, err := sh.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := sh.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := sh.Start(); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		stdin.Close()
		err = sh.Wait()
		return nil, fmt.Errorf("a private cluster does not start: %w\n%s", err,
			strings.TrimSpace(problem.String()))
	}
	c := &cluster{dir: strings.TrimSpace(line), keeper: stdin}
	if c.admin, err = sql.Open("pgx", c.dsn("postgres")); err != nil {
		return nil, err
	}
	// Copying the files takes a tenth of the time of copying by the log, the default since version
	// 15. Before 15 the files are always copied.
	var version int
	err = c.admin.QueryRow("SELECT current_setting('server_version_num')::int").Scan(&version)
	if version >= 150000 {
		c.strategy = " STRATEGY FILE_COPY"
	}
	return c, err
}

// binaries is the directory of PostgreSQL's own programs: Debian keeps them out of PATH, one
// directory a version.
func binaries() (string, error) {
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if err != nil {
		return "", err
	}
	if len(found) > 0 {
		version := func(path string) int {
			n, _ := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(path))))
			return n
		}
		return filepath.Dir(slices.MaxFunc(found,
			func(a, b string) int { return version(a) - version(b) })), nil
	}
	path, err := exec.LookPath("initdb")
	if err != nil {
		return "",
			errors.New(
				"initdb is not installed; `make setup` or `apt-get install postgresql` installs it")
	}
	return filepath.Dir(path), nil
}

func (c *cluster) dsn(database string) string {
	return fmt.Sprintf("host=%s port=%s user=%s dbname=%s sslmode=disable", c.dir, port, user,
		database)
}

// create copies a database that nobody is connected to, and returns the copy's name.
func (c *cluster) create(ctx context.Context, template string) (string, error) {
	name := "test" + strconv.FormatInt(c.made.Add(1), 10)
	if _, err := c.admin.ExecContext(ctx, "CREATE DATABASE "+name+" TEMPLATE "+template+
		c.strategy); err != nil {
		return "", fmt.Errorf("database %s: %w", name, err)
	}
	return name, nil
}

// drop removes a database and ends the connections to it. It runs at the end of a test, when the
// context of the test has ended.
func (c *cluster) drop(name string) error {
	if _, err := c.admin.Exec("DROP DATABASE " + name + " WITH (FORCE)"); err != nil {
		return fmt.Errorf("database %s: %w", name, err)
	}
	return nil
}
