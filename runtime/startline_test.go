package runtime_test

import (
	"context"
	"io"
	stdlog "log"
	"log/slog"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/identity"
)

// leaky is a source that exposes its secret when printed.
type leaky struct{ Secret string }

func (leaky) Identify(*http.Request) (identity.Identity, error) {
	return identity.Identity{}, identity.ErrNoCredentials
}
func (s leaky) String() string               { return s.Secret }
func (s leaky) GoString() string             { return s.Secret }
func (s leaky) LogValue() slog.Value         { return slog.StringValue(s.Secret) }
func (s leaky) MarshalText() ([]byte, error) { return []byte(s.Secret), nil }

func TestServerLogsItsConfigurationOnceWithoutSecrets(t *testing.T) {
	t.Parallel()
	var log lines
	_, err := runtime.New(runtime.Options{
		Identity: leaky{"t0psecret"}, Anonymous: true,
		Audit: runtime.AuditOptions{Sink: &keeper{}},
		Access: runtime.AccessOptions{Denial: access.Forbid, AdminRole: "Manager",
			Boundaries: failingBoundaries{}, BoundariesOptional: true},
		Logger: log.at(slog.LevelInfo),
		Observe: runtime.ObserveOptions{
			Observer: watchers{},
			Readiness: map[string]func(context.Context) error{"b": nothingToCheck,
				"a": nothingToCheck},
		},
		HTTP: runtime.HTTPOptions{
			Origins:        []string{"https://app.example"},
			Hosts:          []string{"mcp.example"},
			TrustedProxies: []netip.Prefix{netip.MustParsePrefix("10.1.2.0/24")},
			MaxBody:        5,
			MaxSessions:    7,
			SessionTimeout: time.Minute,
			Path:           "/tools/mcp",
		},
		Protocol: runtime.ProtocolOptions{
			StateKey: []byte("t0psecret-t0psecret-t0psecret-t0psecret")},
	}, directory(&desk{}), library())
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"level": "INFO", "msg": "MCP server", "name": "team", "version": "1.0.0", "tools": 6.0,
		"prompts": 4.0, "resources": 6.0,
		"roles": []any{"Viewer", "Member", "Manager", "Admin"}, "admin_role": "Manager",
		"boundaries": "runtime_test.failingBoundaries", "boundaries_optional": true,
		"identity": "runtime_test.leaky", "anonymous": true, "admin": false,
		"catalogs_strict": false, "read_only": false, "masker": false,
		"packages":  []any{"example.com/team", "example.com/library"},
		"manifests": []any{"example.com/team sha256:1", "example.com/library unknown"},
		"audit":     "*runtime_test.keeper", "audit_intent": "nonReadonly", "denial": "forbid",
		"list_all": false, "record_only": false, "host": "none", "catalogs": "none",
		"grants": "none", "roots": []any{}, "sandbox": "none", "interceptors": 0.0,
		"readiness": []any{"a", "b"}, "observer": "runtime_test.watchers", "adopted": false,
		"path":    "/tools/mcp",
		"origins": []any{"https://app.example"}, "hosts": []any{"mcp.example"},
		"trusted_proxies": []any{"10.1.2.0/24"}, "max_body": 5.0, "max_connections": 7.0,
		"idle_timeout": "1m0s",
	}
	all := log.of(t, "MCP server")
	if len(all) != 1 {
		t.Fatalf("%v", all)
	}
	for name, value := range want {
		if !reflect.DeepEqual(all[0][name], value) {
			t.Errorf("%s: %v, want %v", name, all[0][name], value)
		}
	}
	for name := range without(all[0], "time") {
		if _, known := want[name]; !known {
			t.Errorf("%s: %v", name, all[0][name])
		}
	}
	if strings.Contains(log.String(), "t0psecret") || strings.Contains(log.String(), "***") {
		t.Error(log.String())
	}
}

func nothingToCheck(context.Context) error { return nil }

func TestServerThatCannotStartLogsNoConfiguration(t *testing.T) {
	t.Parallel()
	var log lines
	if _, err := runtime.New(runtime.Options{Logger: log.at(slog.LevelDebug), Identity: users(),
		Access: runtime.AccessOptions{AdminRole: "King"}}, directory(&desk{})); err == nil {
		t.Error("it starts")
	}
	if all := log.of(t, "MCP server"); all != nil {
		t.Errorf("%v", all)
	}
}

// TestStartIsAShortLineOnATerminal replaces the standard error of the process, so it runs alone.
func TestStartIsAShortLineOnATerminal(t *testing.T) {
	terminal, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0) // a character device as well
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	stderr, original := os.Stderr, slog.Default()
	t.Cleanup(func() {
		os.Stderr = stderr
		slog.SetDefault(original)
		stdlog.SetOutput(stderr)
		_, _ = terminal.Close(), file.Close()
	})
	start := func(to *os.File, output io.Writer, o runtime.Options) string {
		t.Helper()
		os.Stderr = to
		stdlog.SetOutput(output)
		o.Identity, o.Anonymous = users(), true
		s, err := runtime.New(o, directory(&desk{}))
		if err != nil {
			t.Fatal(err)
		}
		return s.StartLine()
	}
	const usual = "INFO MCP server name=team version=1.0.0 tools=6 prompts=0 resources=0 " +
		"identity=identity.bearer anonymous=true audit=none denial=conceal"
	const date = len("2006/01/02 15:04:05 ")
	if line := start(terminal, terminal, runtime.Options{}); date+len(line) > 200 || line != usual {
		t.Errorf("%d bytes: %s", date+len(line), line)
	}
	wider := runtime.Options{Lists: runtime.ListOptions{ListAll: true},
		Access: runtime.AccessOptions{AdminRole: "Manager", Boundaries: failingBoundaries{},
			BoundariesOptional: true},
		HTTP: runtime.HTTPOptions{
			Origins:        []string{"https://app.example"},
			Hosts:          []string{"mcp.example"},
			TrustedProxies: []netip.Prefix{netip.MustParsePrefix("10.1.2.0/24")},
		}}
	if line := start(terminal, terminal,
		wider); line != usual+" boundaries=runtime_test.failingBoundaries "+
		"boundaries_optional=true admin_role=Manager list_all=true "+
		"origins=[https://app.example] hosts=[mcp.example] "+
		"trusted_proxies=[10.1.2.0/24]" {
		t.Errorf("a server that allows more: %s", line)
	}
	complete := func(where, line string) {
		t.Helper()
		if !strings.Contains(line, " idle_timeout=") {
			t.Errorf("%s, the record is short: %s", where, line)
		}
	}
	var log lines
	complete("in a file", start(file, file, runtime.Options{}))
	complete("in another output", start(terminal, file, runtime.Options{}))
	complete("in a logger of the program", start(terminal, terminal,
		runtime.Options{Logger: log.at(slog.LevelInfo)}))
	slog.SetDefault(log.at(slog.LevelInfo))
	complete("in another default logger", start(terminal, terminal, runtime.Options{}))
}
