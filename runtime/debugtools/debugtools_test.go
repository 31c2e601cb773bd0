package debugtools_test

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/debugtools"
	"github.com/mcpgen/mcpgen/runtime/mcptest"
	"github.com/mcpgen/mcpgen/runtime/redact"
)

const mask = redact.Mask

// Secrets of the tests. None of them is one.
const (
	jwt = "eyJhbGciOiJSUzI1NiIsImtpZCI6IjEifQ.eyJzdWIiOiJhZGEifQ.c2lnbmF0dXJlLW9mLW5vYm9keQ"
	ghp = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"
	aws = "AKIAIOSFODNN7EXAMPLE"
)

// shown are names and values, and what becomes of each: one rule for variables, headers, parameters
// and claims.
var shown = []struct{ name, value, want string }{
	// By each part of names, wherever it stands and in any case.
	{"GITHUB_TOKEN", "hunter2", mask}, {"token", "hunter2", mask}, {"MyTokens", "hunter2", mask},
	{"KEY", "hunter2", mask}, {"Public_Key_Id", "hunter2", mask}, {"MONKEY", "hunter2", mask},
	{"CLIENT_SECRET", "hunter2", mask}, {"secretary", "hunter2", mask},
	{"PGPASSWORD", "hunter2", mask}, {"Password", "hunter2", mask}, {"DB_PASSWD", "hunter2", mask},
	{"SSH_PASSPHRASE", "hunter2", mask},
	{"AWS_CREDENTIALS", "hunter2", mask}, {"credential", "hunter2", mask},
	{"API_KEY", "hunter2", mask}, {"myapikey", "hunter2", mask},
	{"DB_CONNECTION_STRING", "hunter2", mask}, {"ConnectionString", "hunter2", mask},
	{"Db-Connection-String", "hunter2", mask},
	{"PRIVATE", "hunter2", mask}, {"privately", "hunter2", mask},
	{"AUTH", "hunter2", mask}, {"X_AUTHOR", "hunter2", mask},
	{"MYSQL_PWD", "hunter2", mask}, {"Pwd_File", "hunter2", mask}, {"DB_PASS", "hunter2", mask},
	{"SENTRY_DSN", "hunter2", mask}, {"dsn", "hunter2", mask},
	{"LAST_COOKIE", "hunter2", mask}, {"SESSION", "hunter2", mask},
	{"asession_id", "hunter2", mask},

	// By the form of the value, whatever the name.
	{"DATABASE_URL", "postgres://ann:hunter2@db.example/app", "postgres://ann:" + mask +
		"@db.example/app"},
	{"REMOTE", "https://16c7e42f292c6912e7710c83@git.example/app", "https://" + mask +
		"@git.example/app"},
	{"MYSQL", "ann:hunter2@tcp(db:3306)/app", "ann:" + mask + "@tcp(db:3306)/app"},
	{"CERT", "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\n-----END RSA PRIVATE KEY-----", mask},
	{"LAST", jwt, mask}, {"NOTE", "use " + jwt + " then", "use " + mask + " then"},
	{"GH", ghp, mask}, {"ACCOUNT", aws, mask}, {"BOT", "xoxb-1234567890-abcdef", mask},
	{"LLM", "sk-proj-abcdefghijklmnop", mask},
	{"GITLAB", "glpat-abcdefghijklmnopqrst", mask}, {"MAPS", "AIzaSyA1234567890abcdefghijk", mask},
	{"CURL", "-H 'Bearer abcDEF123456'", "-H 'Bearer " + mask + "'"},
	{"ARGS", "--password=hunter2 -v", "--password=" + mask + " -v"},

	// Near misses stay.
	{"PWD", "/srv/app", "/srv/app"}, {"OLDPWD", "/srv", "/srv"}, {"COMPASS", "north", "north"},
	{"PASSAGE", "west", "west"},
	{"PRIVACY", "policy", "policy"}, {"TOKE", "hunter2", "hunter2"},
	{"SECRE", "hunter2", "hunter2"}, {"DNS", "1.1.1.1", "1.1.1.1"},
	{"COOK", "ada", "ada"}, {"SESS", "s", "s"}, {"CONNECTION", "pooled", "pooled"},
	{"KE_Y", "hunter2", "hunter2"},
	{"URL", "https://ann@db.example:5432/app?page=2", "https://ann@db.example:5432/app?page=2"},
	{"GH_SHORT", "ghp_short", "ghp_short"}, {"AK", "AKIA", "AKIA"},
	{"HALF", "eyJhbGciOiJSUzI1NiJ9", "eyJhbGciOiJSUzI1NiJ9"},
	{"PEM", "BEGIN CERTIFICATE", "BEGIN CERTIFICATE"},
	{"PROSE", "the bearer of the token: expired", "the bearer of the token: expired"},
	{"PATH", "/usr/bin:/bin", "/usr/bin:/bin"}, {"LANG", "de_DE.UTF-8", "de_DE.UTF-8"},
	{"NPM", "npm_config_registry", "npm_config_registry"},

	// Whether a secret is set is worth knowing.
	{"EMPTY_TOKEN", "", ""}, {"EMPTY", "", ""},
}

// environment is all that the process has until the test ends.
func environment(t *testing.T, variables map[string]string) {
	t.Helper()
	t.Setenv("PWD", os.Getenv("PWD")) // which a parallel test may not
	before := os.Environ()
	t.Cleanup(func() {
		os.Clearenv()
		for _, entry := range before {
			name, value, _ := strings.Cut(entry, "=")
			_ = os.Setenv(name, value) // as it was
		}
	})
	os.Clearenv()
	for name, value := range variables {
		if err := os.Setenv(name, value); err != nil {
			t.Fatal(err)
		}
	}
}

// checkText holds the text of a result against what it shows.
func checkText(t *testing.T, res *mcp.CallToolResult, out any) {
	t.Helper()
	want, err := json.MarshalIndent(out, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	var same, shown any
	got := mcptest.Text(res)
	if err := json.Unmarshal([]byte(got), &shown); err != nil {
		t.Fatalf("%s: %v", got, err)
	}
	_ = json.Unmarshal(want, &same) // marshalled above
	if !reflect.DeepEqual(shown, same) || strings.Count(got, "\n") != strings.Count(
		string(want), "\n") || !strings.HasPrefix(got, "{\n  \"") {
		t.Errorf("%s\nwant %s", got, want)
	}
}

func TestEnvironmentIsMaskedByNameAndByForm(t *testing.T) {
	variables, want, masked := map[string]string{}, map[string]string{}, 0
	for _, s := range shown {
		variables[s.name], want[s.name] = s.value, s.want
		if s.value != s.want {
			masked++
		}
	}
	environment(t, variables)
	res, env, err := debugtools.New(debugtools.Options{}).PrintEnv(
		t.Context(), nil, debugtools.Nothing{})
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range want {
		if got, there := env.Variables[name]; !there || got != value {
			t.Errorf("%s=%s is shown as %q, want %q", name, variables[name], got, value)
		}
	}
	if env.TotalCount != len(shown) || len(env.Variables) != len(shown) ||
		env.MaskedCount != masked {
		t.Errorf("%d variables, %d in all, %d masked; want %d and %d", len(env.Variables),
			env.TotalCount, env.MaskedCount, len(shown), masked)
	}
	checkText(t, res, env)
}

func TestEmptySecretIsShownAsSetAndEmpty(t *testing.T) {
	environment(t, map[string]string{"EMPTY_TOKEN": "", "SHORT_TOKEN": "x", "EMPTY": "",
		"LONG_TOKEN": strings.Repeat("hunter2", 100), "is_" + ghp: ""})
	res, env, err := debugtools.New(debugtools.Options{}).PrintEnv(t.Context(), nil,
		debugtools.Nothing{})
	if err != nil {
		t.Fatal(err)
	}
	checkText(t, res, env)
	empty := []string{"EMPTY", "EMPTY_TOKEN", "is_" + mask}
	if !slices.Equal(env.EmptyVariables, empty) {
		t.Errorf("empty: %v", env.EmptyVariables)
	}
	want := map[string]string{"EMPTY": "", "EMPTY_TOKEN": "", "is_" + mask: "",
		"SHORT_TOKEN": mask, "LONG_TOKEN": mask} // and no UNSET_TOKEN
	if !maps.Equal(env.Variables, want) {
		t.Errorf("variables: %v", env.Variables)
	}
}

func TestSecretInTheNameOfAVariableIsMasked(t *testing.T) {
	environment(t, map[string]string{"is_" + ghp: "yes", "A": "<b> & c"})
	res, env, err := debugtools.New(debugtools.Options{}).PrintEnv(
		t.Context(), nil, debugtools.Nothing{})
	if err != nil || !maps.Equal(env.Variables,
		map[string]string{"is_" + mask: "yes", "A": "<b> & c"}) || env.TotalCount != 2 ||
		env.MaskedCount != 1 {
		t.Errorf("%+v, %v", env, err)
	}
	if !strings.Contains(mcptest.Text(res), "<b> & c") {
		t.Errorf("not for people to read: %s", mcptest.Text(res))
	}
}

func TestVariablesWhoseNamesAreMaskedAlikeAreAllShown(t *testing.T) {
	environment(t, map[string]string{"is_" + ghp: "yes", "is_" + ghp + "x": "yes", "is_" +
		mask: "yes", "B": "c"})
	_, env, err := debugtools.New(debugtools.Options{}).PrintEnv(
		t.Context(), nil, debugtools.Nothing{})
	if err != nil || !maps.Equal(env.Variables,
		map[string]string{"is_" + mask: "yes", "is_" + mask + " (2)": "yes", "is_" + mask +
			" (3)": "yes", "B": "c"}) || env.TotalCount != 4 || env.MaskedCount != 2 {
		t.Errorf("%+v, %v", env, err)
	}
}

func TestInspectorKnowsFurtherSecrets(t *testing.T) {
	environment(t, map[string]string{"USER_PIN": "1234", "CARD": "no. 4111-1111", "OTHER": "x"})
	names := []string{"pin"}
	inspector := debugtools.New(debugtools.Options{
		Masker: redact.Masker{Names: names, Values: []*regexp.Regexp{
			regexp.MustCompile(`\d{4}-\d{4}`)}}})
	names[0] = "changed" // it has its own
	_, env, err := inspector.PrintEnv(t.Context(), nil, debugtools.Nothing{})
	if err != nil || !maps.Equal(env.Variables,
		map[string]string{"USER_PIN": mask, "CARD": "no. " + mask, "OTHER": "x"}) ||
		env.MaskedCount != 2 {
		t.Errorf("%+v, %v", env, err)
	}
}

func TestEachCallReadsAnew(t *testing.T) {
	environment(t, map[string]string{"STATE": "before"})
	inspector := debugtools.New(debugtools.Options{})
	debugtools.Toolset(inspector)
	for _, state := range []string{"one", "two"} {
		t.Setenv("STATE", state)
		directory := filepath.Join(t.TempDir(), state)
		if err := os.Mkdir(directory, 0o700); err != nil {
			t.Fatal(err)
		}
		t.Chdir(directory)
		_, env, err := inspector.PrintEnv(t.Context(), nil, debugtools.Nothing{})
		if err != nil || env.Variables["STATE"] != state {
			t.Errorf("%+v, %v", env, err)
		}
		_, info, err := inspector.GetServerInfo(t.Context(), nil, debugtools.Nothing{})
		if err != nil || filepath.Base(info.WorkingDirectory) != state {
			t.Errorf("%+v, %v", info, err)
		}
	}
}

func TestServerInfoOutsideOfARequestIsThatOfTheProcess(t *testing.T) {
	started := time.Now().Add(-26*time.Hour - 3*time.Minute - 5*time.Second)
	res, info, err := debugtools.New(debugtools.Options{Started: started}).GetServerInfo(
		t.Context(), nil, debugtools.Nothing{})
	if err != nil {
		t.Fatal(err)
	}
	checkText(t, res, info)
	if info.GoVersion != runtime.Version() || info.OperatingSystem != runtime.GOOS ||
		info.ProcessorCount != runtime.NumCPU() || !strings.HasPrefix(info.Uptime, "26h3m") {
		t.Errorf("%+v", info)
	}
	if info.ServerName != "" || info.Version != "" || info.Transport != "" ||
		len(info.Transports) > 0 ||
		info.ProtocolVersion != "" || len(info.ProtocolVersions) > 0 {
		t.Errorf("facts of a server without one: %+v", info)
	}
	if info.BuildVersion == "" {
		t.Error("no version of the build")
	}
	if b := info.Build; b.Module != "github.com/mcpgen/mcpgen" || b.GOOS != runtime.GOOS ||
		b.GOARCH != runtime.GOARCH {
		t.Errorf("%+v", b)
	}
	_, young, err := debugtools.New(debugtools.Options{}).GetServerInfo(
		t.Context(), nil, debugtools.Nothing{})
	if up, failed := time.ParseDuration(young.Uptime); err != nil || failed != nil || up < 0 ||
		up > time.Minute {
		t.Errorf("up for %s, %v, %v", young.Uptime, failed, err)
	}
}

func TestSecretInTheWorkingDirectoryIsMasked(t *testing.T) {
	directory := filepath.Join(t.TempDir(), ghp, "app")
	if err := os.MkdirAll(directory, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Chdir(directory)
	_, info, err := debugtools.New(debugtools.Options{}).GetServerInfo(
		t.Context(), nil, debugtools.Nothing{})
	if err != nil || !strings.HasSuffix(filepath.ToSlash(info.WorkingDirectory), "/"+mask+"/app") {
		t.Errorf("%s, %v", info.WorkingDirectory, err)
	}
}

func TestHTTPToolsOutsideOfARequestSayThatThereIsNone(t *testing.T) {
	inspector := debugtools.New(debugtools.Options{})
	res, headers, err := inspector.GetHTTPHeaders(t.Context(), nil, debugtools.Nothing{})
	if err != nil || !reflect.DeepEqual(headers,
		debugtools.HTTPHeaders{Message: "No HTTP context available",
			Headers: map[string]string{}}) {
		t.Errorf("%+v, %v", headers, err)
	}
	checkText(t, res, headers)
	res, claims, err := inspector.GetUserClaims(t.Context(), nil, debugtools.Nothing{})
	if err != nil || !reflect.DeepEqual(claims,
		debugtools.UserClaims{Message: "No HTTP context available", Claims: map[string]any{}}) {
		t.Errorf("%+v, %v", claims, err)
	}
	checkText(t, res, claims)
}

// The names of the fields are a promise to programs that read results.
func TestResultsHaveTheFieldsThatAreDocumented(t *testing.T) {
	for _, test := range []struct {
		out  any
		want []string
	}{
		{debugtools.Environment{}, []string{"variables", "emptyVariables", "totalCount",
			"maskedCount"}},
		{debugtools.ServerInfo{}, []string{"serverName", "version", "buildVersion", "transport",
			"transports", "protocolVersion", "protocolVersions", "goVersion", "operatingSystem",
			"processorCount", "workingDirectory", "uptime", "build"}},
		{debugtools.ServerInfo{}.Build, []string{"module", "moduleVersion", "vcs", "vcsRevision",
			"vcsTime",
			"vcsModified", "goos", "goarch", "cgoEnabled"}},
		{debugtools.HTTPHeaders{}, []string{"available", "message", "headers", "method", "path",
			"queryString"}},
		{debugtools.UserClaims{}, []string{"available", "isAuthenticated", "authenticationType",
			"message", "claims"}},
	} {
		var got []string
		for i := range reflect.TypeOf(test.out).NumField() {
			name, _, _ := strings.Cut(reflect.TypeOf(test.out).Field(i).Tag.Get("json"), ",")
			got = append(got, name)
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%T: %v", test.out, got)
		}
	}
}
