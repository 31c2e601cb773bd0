package main

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/examples/inventory/dcim"
	"github.com/mcpgen/mcpgen/internal/testdb"
)

var update = flag.Bool("update", false, "write what -doctor prints anew")

// TestMain lets the test binary be the program that a client starts.
func TestMain(m *testing.M) {
	if text := os.Getenv("INVENTORY_ARGS"); text != "" {
		var args []string
		if err := json.Unmarshal([]byte(text), &args); err != nil {
			panic(err)
		}
		os.Args = append(os.Args[:1], args...)
		main()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// program is this binary as the example.
func program(t testing.TB, args ...string) *exec.Cmd {
	t.Helper()
	text, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	cmd := command(t, os.Args[0])
	// Under the race detector a program waits a second before it ends, unless an option prevents it.
	cmd.Env = append(os.Environ(), "INVENTORY_ARGS="+string(text), "GORACE=atexit_sleep_ms=0")
	return cmd
}

// demonstration is a file that -seed has made.
func demonstration(t testing.TB) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "demo.db")
	if err := run(context.Background(), io.Discard, []string{"-seed", "-db", file}); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestDemonstrationIsAHostAsDjangoReadsIt holds the list of each user over stdio to what a real
// Django reads from the tables that -seed has made.
func TestDemonstrationIsAHostAsDjangoReadsIt(t *testing.T) {
	file := demonstration(t)
	answers := hostOf(t, file).permissions()
	if len(answers) != len(people) {
		t.Fatalf("Django reads %d users, want %d", len(answers), len(people))
	}
	for _, u := range answers {
		for _, role := range []string{"", "Manager"} {
			args := []string{"-as", u.Name, "-role", role, "-db", file}
			if !u.Active {
				out, err := program(t, append(args, "-stdio")...).CombinedOutput()
				if err == nil || !strings.Contains(
					string(out), fmt.Sprintf("the host has no active user %q", u.Name)) {
					t.Errorf("%s: %v, %s", u.Name, err, out)
				}
				continue
			}
			c := stdio(t, args...)
			for kind, lists := range map[string][2][]string{
				"tools":     {c.tools(), names(tools, role, u)},
				"prompts":   {c.prompts(), names(prompts, role, u)},
				"resources": {c.resources(), names(resources, role, u)},
			} {
				if slices.Sort(lists[0]); !slices.Equal(lists[0], lists[1]) {
					t.Errorf("%s with role %q lists %s %q, Django says %q", u.Name, role, kind,
						lists[0], lists[1])
				}
			}
			for name, p := range tools {
				err := c.use("tool", name, p.ask)
				if hidden := err != nil && strings.Contains(
					err.Error(), fmt.Sprintf("unknown tool %q", name)); hidden == p.may(role, u) {
					t.Errorf("%s with role %q calls %s: %v", u.Name, role, name, err)
				}
			}
		}
	}
}

// stdio starts the program as a client does.
func stdio(t testing.TB, args ...string) *client {
	t.Helper()
	sdk := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	transport := &mcp.CommandTransport{Command: program(t, append(args, "-stdio")...)}
	session, err := sdk.Connect(t.Context(), transport, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := session.Close(); err != nil {
			t.Error(err)
		}
	})
	return &client{ClientSession: session, t: t}
}

func TestDoctorReportsWhoSeesWhatAndWhyNot(t *testing.T) {
	file := demonstration(t)
	var got bytes.Buffer
	// A host that is there already is left as it is.
	if err := run(t.Context(), &got, []string{
		"-seed", "-doctor", "-db", file, "-role", "Member", "-client",
		"agent=dns-agent"}); err != nil {
		t.Fatal(err)
	}
	golden := filepath.Join("testdata", "doctor.golden")
	if *update {
		if err := os.WriteFile(golden, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got.Bytes(), want) {
		t.Errorf("-doctor prints\n%s\nwant\n%s", &got, want)
	}
	got.Reset()
	if err := run(t.Context(), &got, []string{"-doctor", "-as", "nina", "-db", file}); err != nil {
		t.Fatal(err)
	}
	if text := got.String(); !strings.HasPrefix(
		text, "nina (asked for), issuer host, client nina, user nina of the host\n  not ") ||
		strings.Contains(text, "sees") {
		t.Errorf("-as nina: %s", text)
	}
}

// TestSignalReloadsTheHostsPermissions runs the program as it is run: over HTTP, with tokens of a
// real provider.
func TestSignalReloadsTheHostsPermissions(t *testing.T) {
	file := demonstration(t)
	h := hostOf(t, file)
	p := newProvider(t, map[string]claims{"agent": {}})
	cmd := program(t, "-http", "127.0.0.1:0", "-db", file, "-django", "sqlite:"+file, "-issuer",
		p.issuer, "-client", "agent=dns-agent", "-cache", "1h", "-v")
	served := start(t, cmd)
	url, ok := strings.CutPrefix(served.line(), "serving ")
	if !ok {
		t.Fatalf("it says %q", url)
	}
	w := &world{t: t, provider: p, url: url}
	c := w.connect(w.token("agent"), "2025-11-25")
	before := c.tools()
	if want := []string{"get_dns_record", "list_dns_records", "rename_device"}; !slices.Equal(
		before, want) {
		t.Fatalf("%q, want %q", before, want)
	}
	h.send("take", "dns-agent", "dcim.rename_device")
	if got := c.tools(); !slices.Equal(got, before) {
		t.Errorf("before the signal: %q", got)
	}
	if err := cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	if kind := c.next(); kind != "tools" {
		t.Errorf("the list of %s has changed", kind)
	}
	if got := c.tools(); slices.Contains(got, "rename_device") {
		t.Errorf("after the signal: %q", got)
	}
	served.problems.await("SIGHUP: the cached permissions are dropped")
	_ = c.Close()
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if rest, err := io.ReadAll(served.out); err != nil || len(rest) > 0 {
		t.Errorf("it says %q at its end, %v", rest, err)
	}
}

func TestCommandLinesThatCannotBeMeantAreRefused(t *testing.T) {
	file := demonstration(t)
	missing := filepath.Join(t.TempDir(), "missing.db")
	db := testdb.SQLite(t)
	files := map[string]string{"FILE": file, "MISSING": missing, "DB": db.File}
	for line, want := range map[string]string{
		"":                                    "want one of -http, -stdio and -doctor",
		"-stdio -doctor":                      "want one of -http, -stdio and -doctor",
		"-stdio":                              "-stdio needs -as",
		"-http 127.0.0.1:0":                   "-http needs -issuer",
		"-doctor -issuer https://login":       "-issuer needs -http",
		"-doctor -scope tools":                "-scope needs -http",
		"-http x -issuer y -as ada":           "-as and -role go with -stdio and -doctor",
		"-http x -issuer y -role Admin":       "-as and -role go with -stdio and -doctor",
		"-doctor -django sqlite:x -netbox y":  "want one host",
		"-stdio -as x -netbox-release 9":      "want 4.4 for it and later, 4.3,",
		"-doctor -client x":                   "want CLIENT=USER",
		"-doctor -denial loud":                "-denial loud: want conceal or forbid",
		"-doctor more":                        `"more": want flags only`,
		"-doctor -django none":                "-doctor without a host needs -as",
		"-nonsense":                           "flag provided but not defined",
		"-stdio -as bob -db $FILE":            `the host has no active user "bob"`,
		"-stdio -as ada -role Boss -db $FILE": `a role of the principal is "Boss"`,
		"-doctor -client a=gone -db $FILE":    `the host has no active user "gone"`,
		"-doctor -db $DB": db.File +
			" has no tables of a host; write a demonstration",
		"-doctor -db $MISSING": missing +
			" does not exist; write a demonstration to the file of -db with -seed, or name",
		"-stdio -as ada -db $MISSING": missing +
			" does not exist; write a demonstration",
		"-doctor -db /dev/null/file": "/dev/null/file: not a directory",
		"-stdio -as ada -db $FILE -boundaries $MISSING": missing +
			": no such file",
		"-doctor -django sqlite:$MISSING": missing +
			" does not exist",
		"-doctor -as gone -db $FILE": "-doctor found problems: 1 of 1",
		"-seed -db /no/such/place/file": "inventory " +
			"/no/such/place/file",
		"-http x -issuer https://login": "-http needs " +
			"-user-claim, the claim of a token that names the user of the host, or -client",
		"-http nonsense -user-claim u -issuer https://login": "nonsense",
		"-http nonsense -django none -issuer https://login":  "nonsense",
		"-http :0 -user-claim u -issuer https://login": "needs -audience: " +
			"the URL of the server as clients write it, such as https://NAME/mcp",
		"-http 127.0.0.1:0 -audience x -user-claim u -issuer https://login": "-issuer " +
			"https://login, -audience x and the flags of claims: oidc: Resource.URL",
		"-http 127.0.0.1:0 -user-claim u -issuer http://127.0.0.1:1 -db $FILE": "http:" +
			"//127.0.0.1:1",
	} {
		words := strings.Fields(line)
		for i, word := range words {
			words[i] = os.Expand(word, func(name string) string { return files[name] })
		}
		err := run(t.Context(), io.Discard, words)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", line, err, want)
		}
	}
	if there, err := exists(missing); there || err != nil {
		t.Errorf("a file was made where there was none: %v, %v", there, err)
	}
}

func TestMistypedFlagIsReportedOnceAndFlagsOnlyOnRequest(t *testing.T) {
	for arg, want := range map[string]struct {
		status        int
		out, problems string
	}{
		"-nonsense": {
			1, "", "inventory: flag provided but not defined: -nonsense; -h lists the flags\n"},
		"-client=x": {
			1, "",
			"inventory: invalid value \"x\" for flag -client: want CLIENT=USER; -h lists the " +
				"flags\n"},
		"-h": {0, "Usage of inventory:\n", ""},
	} {
		cmd := program(t, arg)
		var out, problems bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &problems
		_ = cmd.Run() // its status says
		if first, _, _ := strings.Cut(out.String(),
			"  -"); cmd.ProcessState.ExitCode() != want.status || first != want.out ||
			problems.String() != want.problems {
			t.Errorf("%s: %s, %q, %q", arg, cmd.ProcessState, first, &problems)
		}
	}
}

func TestDoctorLooksAtAHostWithoutAnInventory(t *testing.T) {
	file, missing := demonstration(t), filepath.Join(t.TempDir(), "missing.db")
	var got bytes.Buffer
	if err := run(t.Context(), &got, []string{
		"-doctor", "-as", "vera", "-db", missing, "-django", "sqlite:" + file}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(got.String(), "sees tool list_devices") {
		t.Errorf("it prints %s", &got)
	}
	if there, err := exists(missing); there || err != nil {
		t.Errorf("a file was made: %v, %v", there, err)
	}
}

// TestStatusOfDoctorReportsWhetherSomebodyHasAProblem: a user whom the host made inactive is none,
// unless it was asked for.
func TestStatusOfDoctorReportsWhetherSomebodyHasAProblem(t *testing.T) {
	file := demonstration(t)
	for as, status := range map[string]int{"": 0, "ada": 0, "gone": 1, "nobody": 1} {
		cmd := program(t, "-doctor", "-as", as, "-db", file)
		out, err := cmd.CombinedOutput()
		if got := cmd.ProcessState.ExitCode(); got != status ||
			(status == 1) != strings.Contains(string(out), "-doctor found problems: 1 of 1") {
			t.Errorf("-as %q: status %d, want %d: %v, %s", as, got, status, err, out)
		}
	}
}

// TestSuperuserWithoutARoleLacksWhatNeedsOne: the host lets ada do everything, and roles are a
// ceiling.
func TestSuperuserWithoutARoleLacksWhatNeedsOne(t *testing.T) {
	file := demonstration(t)
	for role, want := range map[string]string{
		"":        "not  tool delete_device: role fails",
		"none":    "not  tool delete_device: role fails",
		"Member":  "not  tool delete_device: role fails",
		"Manager": "sees tool delete_device\n",
	} {
		var got bytes.Buffer
		if err := run(t.Context(), &got, []string{
			"-doctor", "-as", "ada", "-role", role, "-db", file}); err != nil ||
			!strings.Contains(got.String(), want) {
			t.Errorf("-role %q: %v, %s", role, err, &got)
		}
	}
}

func TestSeedReportsThatItLeavesAHostAsItIs(t *testing.T) {
	file := filepath.Join(t.TempDir(), "demo.db")
	for _, again := range []bool{false, true} {
		out, err := program(t, "-seed", "-db", file).CombinedOutput()
		if err != nil || strings.Contains(string(out),
			"contains a host, which stays as it is; remove the file") != again {
			t.Errorf("again %v: %v, %s", again, err, out)
		}
		if _,
			err := sqlOpen(t, file).Exec(
			"DELETE FROM auth_user WHERE username = 'nina'"); err != nil {
			t.Fatal(err)
		}
	}
}

// sqlOpen opens the file of a demonstration for the length of a test.
func sqlOpen(t testing.TB, file string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", dcim.Source(file, ""))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

func TestForeignTablesAreNotSeededOver(t *testing.T) {
	db := testdb.SQLite(t)
	if _, err := db.Exec("CREATE TABLE auth_group (id integer)"); err != nil {
		t.Fatal(err)
	}
	if _, err := seed(t.Context(), db.File); err == nil ||
		!strings.Contains(err.Error(), "auth_group") {
		t.Errorf("%v", err)
	}
	var n int
	if err := db.QueryRow("SELECT count(*) FROM sqlite_master WHERE name = 'auth_user'").Scan(
		&n); err != nil || n != 0 {
		t.Errorf("%d tables are left half made, %v", n, err)
	}
}
