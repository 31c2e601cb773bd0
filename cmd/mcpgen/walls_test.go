package main

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/internal/testrepo"
)

const modulePath = "github.com/mcpgen/mcpgen"

// mayImport are the imports within this module, by package, tests left aside. "…/..." allows a
// package and all below it. The packages of kernel have their rule there. A package without a rule
// fails.
var mayImport = map[string][]string{
	"cmd/mcpgen": {"generator/command", "generator/extension", "internal/escape",
		"runtime/audit/chain"},
	"cmd/mcpgen-openapi":       {"cmd/mcpgen-openapi/stubs", "generator/extension"},
	"cmd/mcpgen-openapi/stubs": {"generator/extension"},
	"cmd/mcpgen-prove":         {"cmd/mcpgen-prove/reach", "generator", "generator/extension"},
	"cmd/mcpgen-prove/reach":   {"generator/extension"},

	// Generated tests and the generator compute one hash; it imports nothing of either side.
	"sourcehash": {},

	"generator": {"generator/internal/...", "sourcehash"},
	"generator/command": {"generator", "generator/vet", "generator/internal/...",
		"internal/boundaryfile", "internal/editdistance", "internal/escape"},
	"generator/extension": {"generator/internal/..."},
	"generator/vet": {"generator/internal/check", "generator/internal/diag",
		"generator/internal/directive", "generator/internal/load", "generator/internal/model",
		"generator/internal/scan", "generator/internal/typedclient", "internal/editdistance"},
	"generator/vet/golangci": {"generator/vet"},

	// Both sides read URI templates by the same rules; it knows nothing of either.
	"internal/uritemplate": {},
	// Both sides order roles by the same rules.
	"internal/roleorder": {},
	// Both sides compile and compare scopes by the same rules.
	"internal/scopeorder": {},
	// Both sides know the output schemas of each version of MCP.
	"internal/structured": {}, "internal/guardedtype": {},
	// Grants, the pages of their administration and //mcp:allow read patterns by the same rules.
	"internal/pattern": {}, "internal/hiddentext": {},
	// All outputs for people escape what hides text.
	"internal/escape": {},
	// Both sides suggest names for misspelt ones.
	"internal/editdistance": {},
	// Writes that share what makes them durable: files, chains and the store alike.
	"internal/groupcommit": {},
	// Databases of tests: no package may import it, and tests are left aside here.
	"internal/testdb": {}, "internal/testdisk": {"internal/testdb"},
	// It counts what tests cover.
	"internal/testcoverage": {},
	// Switches in copies of packages that tests measure.
	"internal/mutant": {},
	// It checks the language of texts.
	"internal/prose": {},
	// It measures the commands of the README.
	"internal/fresh": {},
	// Servers of tests, and modules of many packages, likewise.
	"internal/testserver": {}, "internal/scaletest": {},
	// Connections of tests, without sockets.
	"internal/memnet": {},
	// It writes the documentation as a site, in a module of its own.
	"internal/site": {},
	// The checkout for tests, likewise.
	"internal/testrepo": {}, "generator/internal/testgo": {"internal/testrepo", "sourcehash"},
	// Schemas in tests, likewise.
	"internal/testschema": {},
	// Scenarios of servers, which it knows by their HTTP handler and stdio alone.
	"internal/scenario": {"internal/memnet", "internal/txtar"}, "internal/txtar": {},
	// It measures the runtime from outside, by a test alone.
	"internal/callpath": {}, "internal/callpath/trace": {},
	// It compares servers from outside, by tests alone.
	"internal/noninterference": {},
	// The cache loader of stores, identities, catalogs and host permissions.
	"internal/descriptors": {},
	"internal/loader":      {},

	// The contracts: generated code, observers and sandboxes against the server.
	"runtime/toolset":   {"runtime/access", "runtime/decode"},
	"runtime/observe":   {"runtime/access", "runtime/audit", "runtime/decode"},
	"runtime/intercept": {},
	"runtime/isolate":   {"internal/guardedtype", "runtime/grant", "runtime/toolset"},

	"runtime/access":      {"internal/roleorder", "internal/scopeorder"},
	"runtime/audit":       {"internal/escape", "internal/groupcommit", "runtime/access"},
	"runtime/audit/chain": {"internal/groupcommit", "runtime/audit"},
	"runtime/capability":  {"runtime/access"},
	"runtime/debugtools": {"runtime", "runtime/access", "runtime/decode", "runtime/redact",
		"runtime/toolset"},
	"runtime/decode":           {"runtime/decode/internal/..."},
	"runtime/decode/validator": {"runtime/decode", "runtime/decode/internal/decimal"},
	"runtime/grant":            {"internal/hiddentext", "internal/pattern"},
	"runtime/identity":         {"runtime/access", "runtime/redact"},
	"runtime/identity/oidc": {"internal/loader", "runtime/access", "runtime/decode",
		"runtime/identity", "runtime/internal/credential", "runtime/redact"},
	"runtime/toolclient": {},
	"runtime/mcptest": {"internal/memnet", "runtime", "runtime/access", "runtime/decode",
		"runtime/identity", "runtime/toolset"},
	"runtime/redact": {"internal/escape"},
	"runtime/sandbox": {"runtime/internal/invoke", "runtime/internal/notify",
		"runtime/isolate", "runtime/sandbox/internal/...", "runtime/toolset"},
	"runtime/sandbox/internal/cgroup":   {},
	"runtime/sandbox/internal/folder":   {},
	"runtime/sandbox/internal/landlock": {"runtime/sandbox/internal/threads"},
	"runtime/sandbox/internal/mounts":   {"runtime/sandbox/internal/threads"},
	"runtime/sandbox/internal/proc":     {"runtime/sandbox/internal/folder"},
	"runtime/sandbox/internal/rlimit":   {"runtime/sandbox/internal/threads"},
	"runtime/sandbox/internal/seccomp":  {},
	"runtime/sandbox/internal/threads":  {},

	"runtime/telemetry": {"runtime/access", "runtime/audit", "runtime/decode", "runtime/observe"},
	"runtime/store": {"internal/boundaryitem", "internal/groupcommit", "runtime/access",
		"runtime/audit", "runtime/boundary", "runtime/grant",
		"runtime/internal/storechange", "runtime/store/internal/...", "runtime/task"},
	"runtime/internal/storechange":   {},
	"runtime/store/internal/fault":   {},
	"runtime/store/internal/migrate": {},
	"runtime/store/internal/postgres": {"runtime/store/internal/fault",
		"runtime/store/internal/migrate"},
	"runtime/store/internal/sqlite": {"runtime/store/internal/fault",
		"runtime/store/internal/migrate"},
	"runtime/task":    {},
	"runtime/catalog": {"runtime/access"},
	"runtime/catalog/stored": {"internal/loader", "runtime/access", "runtime/catalog",
		"runtime/internal/storechange", "runtime/store"},
	"runtime/grant/stored": {"internal/loader", "runtime/audit", "runtime/grant",
		"runtime/internal/storechange", "runtime/store"},

	"runtime/admin": {"runtime", "runtime/admin/internal/...", "runtime/audit", "runtime/boundary",
		"runtime/catalog",
		"runtime/catalog/stored", "runtime/grant"},
	"runtime/admin/internal/authority": {"runtime/access", "runtime/catalog/stored",
		"runtime/store"},
	"runtime/admin/internal/front": {"runtime", "runtime/access", "runtime/audit", "runtime/catalog",
		"runtime/grant", "runtime/isolate", "runtime/store"},
	"runtime/admin/internal/clients": {"internal/boundaryitem", "runtime/access", "runtime/audit",
		"runtime/boundary", "runtime/store"},
	"runtime/admin/internal/ids": {},
	"runtime/admin/internal/api": {"internal/boundaryitem", "internal/escape",
		"internal/hiddentext", "internal/pattern",
		"runtime", "runtime/access",
		"runtime/admin/internal/api/internal/ifmatch",
		"runtime/admin/internal/api/internal/input", "runtime/admin/internal/api/internal/problem",
		"runtime/admin/internal/authority", "runtime/admin/internal/clients",
		"runtime/admin/internal/front", "runtime/admin/internal/ids",
		"runtime/audit", "runtime/boundary", "runtime/catalog",
		"runtime/grant", "runtime/internal/discovery", "runtime/isolate", "runtime/redact",
		"runtime/store"},
	"runtime/admin/internal/api/internal/ifmatch": {"runtime/admin/internal/api/internal/problem",
		"runtime/admin/internal/ids", "runtime/store"},
	"runtime/admin/internal/api/internal/input": {"runtime/admin/internal/api/internal/problem",
		"runtime/admin/internal/front", "runtime/admin/internal/ids", "runtime/audit",
		"runtime/decode"},
	"runtime/admin/internal/api/internal/problem": {"internal/escape",
		"runtime/admin/internal/front", "runtime/catalog", "runtime/grant", "runtime/redact",
		"runtime/store"},
	"runtime/admin/internal/console": {"internal/boundaryitem", "internal/hiddentext",
		"internal/pattern", "runtime",
		"runtime/access",
		"runtime/admin/internal/console/internal/...",
		"runtime/admin/internal/authority", "runtime/admin/internal/clients",
		"runtime/admin/internal/front", "runtime/admin/internal/ids",
		"runtime/audit", "runtime/boundary", "runtime/catalog", "runtime/grant",
		"runtime/isolate", "runtime/redact", "runtime/store", "runtime/toolset"},
	"runtime/admin/internal/console/internal/asset":  {},
	"runtime/admin/internal/console/internal/cookie": {"runtime", "runtime/identity"},
	"runtime/admin/internal/console/internal/matrix": {"internal/scopeorder", "runtime",
		"runtime/access", "runtime/toolset"},
	"runtime/admin/internal/console/internal/visible": {"internal/hiddentext"},

	// Parts of the decoder.
	"runtime/decode/internal/decimal": {},
	"runtime/decode/internal/format":  {"runtime/decode/internal/regex"},
	"runtime/decode/internal/regex":   {},
	"runtime/decode/internal/secret":  {},

	// The tool by which a client clears its workspace.
	"runtime/sandbox/workspacetools": {"runtime", "runtime/access", "runtime/decode",
		"runtime/isolate", "runtime/toolset"},
	// The tools by which a client requests permissions.
	"runtime/grant/permissionrequest": {
		"runtime", "runtime/access", "runtime/audit", "runtime/decode", "runtime/grant",
		"runtime/redact", "runtime/toolset",
	},

	// Adapters know the contract and how a host's tables are read, and no other part of the
	// runtime.
	"runtime/capability/dialect":           {},
	"runtime/capability/internal/hostuser": {"runtime/capability"},
	"internal/hostcheck": {
		"runtime/capability", "runtime/capability/dialect",
	},
	"runtime/capability/django": {
		"runtime/access", "runtime/capability", "runtime/capability/dialect",
		"internal/hostcheck", "runtime/capability/internal/hostuser",
	},
	"runtime/capability/objectperm": {
		"runtime/access", "runtime/capability", "runtime/capability/dialect",
		"internal/hostcheck", "runtime/capability/internal/hostuser",
	},
	"runtime/capability/hasperm": {
		"runtime/access", "runtime/capability", "runtime/capability/internal/hostuser",
	},
	"runtime/capability/static": {"internal/configfile", "runtime/access", "runtime/capability",
		"runtime/decode"},

	// A contract, and a source of it.
	"runtime/boundary":        {"internal/boundaryitem"},
	"runtime/boundary/static": {"internal/boundaryfile", "runtime/boundary"},
	"runtime/boundary/stored": {"runtime/boundary", "runtime/internal/storechange", "runtime/store"},
	// Sources and commands read files of boundaries by the same rules.
	"internal/boundaryfile": {"internal/boundaryitem", "internal/configfile"},
	// Sources and the server read items by the same rules.
	"internal/boundaryitem": {"internal/editdistance", "internal/uritemplate"},
	// Files of settings have one reader.
	"internal/configfile": {},
}

// mayImportBelow are the imports of the packages below generator/internal. Names without a slash in
// front are below it as well.
var mayImportBelow = map[string][]string{
	"commandline": {"/generator", "diag", "report", "writefiles"},
	// It is a client of a server's admin API.
	"verify": {"document", "policydiff", "report", "toollist"},
	// It writes what commands found, and knows no command.
	"report": {"diag", "/internal/escape"},

	"model":      {"/internal/roleorder", "/internal/scopeorder"},
	"builds":     {},
	"diag":       {"model"},
	"directive":  {"diag", "model", "/internal/editdistance", "/internal/pattern"},
	"ordered":    {},
	"schemafile": {"ecma", "ordered", "schema"},
	// It compares regular expressions of two languages.
	"ecma":   {"/internal/hiddentext"},
	"codec":  {"gotype", "model", "schema"},
	"naming": {},
	"gotype": {"model"},
	"check": {"diag", "model", "/internal/roleorder", "/internal/scopeorder",
		"/internal/uritemplate"},
	"document": {"directive", "model", "ordered", "/internal/boundaryfile", "/internal/boundaryitem",
		"/internal/editdistance", "/internal/roleorder", "/internal/scopeorder"},
	"emit": {"diag", "document", "model", "naming", "/sourcehash"},
	"schema": {"ecma", "gotype", "model", "naming", "schema/internal/structtag",
		"/internal/editdistance"},
	"schema/internal/structtag": {"/internal/editdistance"},
	"importer": {"builds", "directive", "ecma", "emit", "ordered", "schema", "schemafile",
		"writefiles", "/internal/structured"},
	// It is an MCP client. No other package of the generator imports it.
	"toollist": {"document", "schemafile", "/internal/structured"},
	// It compares manifests as other programs read them: files alone.
	"policydiff": {"builds", "/internal/boundaryfile", "/internal/boundaryitem",
		"/internal/editdistance", "/internal/pattern", "/internal/roleorder", "/internal/scopeorder",
		"/internal/uritemplate"},
	// It reads schemas as clients get them: JSON alone.
	"providers":  {},
	"writefiles": {"emit"},
	// It loads packages again with the clients that generation will write.
	"typedclient": {"emit", "load", "scan", "writefiles"},
	"runcache":    {},
	"starter":     {"emit", "writefiles"},
	"prove":       {"diag", "model"},

	"compileguard": {"gotype", "model"},
	"load":         {"builds", "diag", "directive", "model", "naming", "schema"},
	"scan": {"codec", "compileguard", "diag", "directive", "gotype", "load", "model", "naming",
		"scan/...", "schema", "schemafile", "/internal/editdistance", "/internal/roleorder",
		"/internal/scopeorder",
		"/internal/structured",
		"/internal/uritemplate"},
	"scan/annotated": {"diag", "directive", "load", "model"},
	"scan/faults":    {"diag", "model", "schema"},
	"scan/grantuse":  {"load"},
	"scan/loguse":    {"load", "model"},
	"scan/secrets":   {"diag", "directive", "load", "model", "naming", "scan/annotated", "schema"},

	// Packages for tests: they build modules with a checkout.
	"load/loadtest": {"load", "testgo", "/internal/testrepo"},
	"testgo":        {"/internal/testrepo", "/sourcehash"},
	// It measures which changes of the source the tests find.
	"mutate": {"/internal/mutant"},
	// It writes the generated parts of docs/reference, from both sides: the one package of the
	// generator that imports the runtime.
	"docs": {"diag", "directive", "providers", "schema", "/runtime", "/runtime/access",
		"/runtime/decode", "/runtime/identity", "/runtime/toolset"},
}

// outside are the modules a package may link besides the standard library and go-sdk with its
// own dependencies. What is not here may link neither.
var outside = map[string]links{
	"internal/roleorder":   {},
	"internal/scopeorder":  {},
	"internal/uritemplate": {},
	"internal/structured":  {},
	"internal/guardedtype": {},
	"internal/pattern":     {},
	"sourcehash":           {},
	"internal/groupcommit": {},
	"runtime/audit/chain":  {},
	"runtime":              {sdk: true},
	"runtime/audit":        {},
	"runtime/access":       {},
	"runtime/capability":   {},
	"runtime/catalog":      {},
	"runtime/task":         {},
	"runtime/debugtools":   {sdk: true},
	"runtime/decode":       {},
	"runtime/grant":        {},
	"runtime/identity":     {},
	"runtime/identity/oidc": {modules: []string{"github.com/go-jose/go-jose/v4",
		"golang.org/x/oauth2", "golang.org/x/sync"}},
	"runtime/redact":     {},
	"runtime/sandbox":    {sdk: true, modules: isolation},
	"runtime/mcptest":    {sdk: true},
	"runtime/toolclient": {sdk: true},
	"runtime/telemetry":  {modules: openTelemetry},
	"runtime/toolset":    {}, // each generated package links it
	"runtime/observe":    {},
	"runtime/intercept":  {sdk: true},
	"runtime/isolate":    {},
	"runtime/decode/validator": {modules: []string{"github.com/santhosh-tekuri/jsonschema/v6",
		"golang.org/x/text"}},

	"runtime/grant/permissionrequest": {sdk: true},
	"runtime/sandbox/workspacetools":  {sdk: true},

	// The user of an adapter brings the driver of its database.
	"runtime/capability/django":     {},
	"runtime/capability/hasperm":    {},
	"runtime/capability/objectperm": {},
	"runtime/capability/static":     {modules: []string{"go.yaml.in/yaml/v4"}},
	"runtime/boundary/static":       {modules: []string{"go.yaml.in/yaml/v4"}},
	"internal/boundaryfile":         {modules: []string{"go.yaml.in/yaml/v4"}},
	"runtime/boundary":              {},

	// A server without a database links none of these; the runtime itself imports none.
	"runtime/store":                    {modules: databases},
	"runtime/boundary/stored":          {modules: databases},
	"runtime/catalog/stored":           {modules: databases},
	"runtime/grant/stored":             {modules: databases},
	"runtime/admin/internal/authority": {modules: databases},
	"runtime/admin/internal/clients":   {modules: databases},
	"runtime/admin/internal/front":     {sdk: true, modules: databases},
	"runtime/admin/internal/console":   {sdk: true, modules: databases},
	"runtime/admin/internal/api":       {sdk: true, modules: append(databases, openAPI)},
	"runtime/admin":                    {sdk: true, modules: append(databases, openAPI)},

	// make demo compiles it on a new machine.
	"examples/demo": {sdk: true, modules: isolation},
}

// links are what a package may link from outside.
type links struct {
	sdk     bool
	modules []string
}

// isolation is what the sandbox links.
var isolation = []string{
	"github.com/landlock-lsm/go-landlock", "kernel.org/pub/linux/libs/security/libcap/psx",
	"golang.org/x/sys",
}

// databases are both drivers and the migrations.
var databases = []string{
	"github.com/pressly/goose/v3", "github.com/mfridman/interpolate",
	"github.com/sethvargo/go-retry", "go.uber.org/multierr", "golang.org/x/sync",
	"github.com/jackc/pgx/v5", "github.com/jackc/pgpassfile", "github.com/jackc/pgservicefile",
	"github.com/jackc/puddle/v2", "golang.org/x/text",
	"modernc.org/sqlite", "modernc.org/libc", "modernc.org/mathutil", "modernc.org/memory",
	"golang.org/x/sys",
	"github.com/dustin/go-humanize", "github.com/google/uuid", "github.com/remyoudompheng/bigfft",
}

// openTelemetry is its API, and what that links: no SDK and no exporter.
var openTelemetry = []string{
	"go.opentelemetry.io/otel", "go.opentelemetry.io/otel/metric", "go.opentelemetry.io/otel/trace",
	"go.opentelemetry.io/otel/log", "go.opentelemetry.io/auto/sdk",
	"github.com/cespare/xxhash/v2", "github.com/go-logr/logr", "github.com/go-logr/stdr",
}

const openAPI = "github.com/danielgtaylor/huma/v2"

func TestWallsBetweenPackages(t *testing.T) {
	for _, p := range packagesOf(t, "-e", "work") {
		name := strings.TrimPrefix(p.ImportPath, modulePath+"/")
		if within(name, "examples/...") || within(name, "internal/systemtest/...") ||
			within(name, "generator/internal/systemtest/...") || strings.Contains(name, "testdata/") {
			continue
		}
		allowed, known := importsAllowed(name)
		if !known {
			t.Errorf("package %s has no import rule: add it to mayImport or to kernel", name)
			continue
		}
		for _, imported := range p.Imports {
			own, inside := strings.CutPrefix(imported, modulePath+"/")
			if inside && !slices.ContainsFunc(allowed, func(a string) bool {
				return within(own, a)
			}) {
				t.Errorf("%s imports %s", name, own)
			}
		}
		if strings.HasPrefix(name, "generator") || strings.HasPrefix(name, "runtime") {
			other := "runtime"
			if strings.HasPrefix(name, "runtime") {
				other = "generator"
			}
			for _, imported := range slices.Concat(p.TestImports, p.XTestImports) {
				if own, inside := strings.CutPrefix(imported, modulePath+"/"); inside &&
					within(own, other+"/...") {
					t.Errorf("a test of %s imports %s", name, own)
				}
			}
		}
	}
}

func TestWallsToTheOutside(t *testing.T) {
	sdk := map[string]bool{}
	for _, p := range packagesOf(t, "-deps", "github.com/modelcontextprotocol/go-sdk/...") {
		if p.Module != nil {
			sdk[p.Module.Path] = true
		}
	}
	all := map[string]listed{}
	for _, p := range packagesOf(t, "-deps", "work") {
		all[p.ImportPath] = p
	}
	for name, may := range linksAllowed(t) {
		links := linked(all, name)
		if len(links) == 0 {
			t.Errorf("there is no package %s", name)
		}
		for _, p := range links {
			if p.Standard || within(p.Module.Path, modulePath+"/...") || may.sdk &&
				sdk[p.Module.Path] ||
				slices.Contains(may.modules, p.Module.Path) {
				continue
			}
			t.Errorf("%s links %s", name, p.ImportPath)
		}
	}
}

// linked returns the packages of a name or pattern, and those that they link.
func linked(all map[string]listed, name string) map[string]listed {
	found := map[string]listed{}
	var add func(string)
	add = func(path string) {
		p, known := all[path]
		if _, again := found[path]; again || !known { // C and unsafe are not listed
			return
		}
		found[path] = p
		for _, imported := range p.Imports {
			add(imported)
		}
	}
	for path := range all {
		if within(path, modulePath+"/"+name) || name == "." && path == modulePath {
			add(path)
		}
	}
	return found
}

// within reports whether a package is the allowed one, or below an allowed "x/...".
func within(name, allowed string) bool {
	prefix, below := strings.CutSuffix(allowed, "/...")
	return name == prefix || below && strings.HasPrefix(name, prefix+"/")
}

type listed struct {
	ImportPath, Name                   string
	Standard                           bool
	Imports, TestImports, XTestImports []string
	Module                             *struct{ Path string }
}

func packagesOf(t *testing.T, args ...string) []listed {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list",
		"-json=ImportPath,Name,Standard,Imports,TestImports,XTestImports,Module"}, args...)...)
	cmd.Dir = testrepo.Root(t)
	cmd.Env = append(cmd.Environ(), "GOWORK="+filepath.Join(cmd.Dir, "go.work"))
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %v", cmd, err)
	}
	var all []listed
	for decoder := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}
