package systemtest

import (
	"bytes"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/internal/testdb"
	"github.com/mcpgen/mcpgen/internal/testserver"
)

// TestNoToolOfTheExamplesDrawsAWarningFromTheInspector lists the tools of examples over stdio with
// the official MCP Inspector, which judges in strict mode whether their schemas suit all clients.
// `make setup` installs it, with a node that is new enough; without it the test is skipped, and in
// CI it fails.
func TestNoToolOfTheExamplesDrawsAWarningFromTheInspector(t *testing.T) {
	inspect := newInspector(t)
	tests := []struct {
		name    string
		command []string
		lists   string // a tool that only the highest role sees
	}{
		{"inventory", []string{program(t, "inventory"), "-seed", "-stdio", "-as", "ada",
			"-role", "Admin", "-db", filepath.Join(t.TempDir(), "inventory.db")}, `"delete_device"`},
		{"team", []string{program(t, "team"), "-stdio", "ada", "-db",
			filepath.Join(t.TempDir(), "team.db")}, `"promote_to_manager"`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			listed, findings := inspect(t, test.command...)
			if !strings.Contains(listed, test.lists) {
				t.Errorf("the Inspector does not list %s:\n%s", test.lists, listed)
			}
			if findings != "" {
				t.Errorf("the Inspector warns:\n%s", findings)
			}
		})
	}
	t.Run("a tool that does not suit all clients", func(t *testing.T) {
		_, node := testdb.Npm(t, "")
		server := filepath.Join(t.TempDir(), "server.mjs")
		if err := os.WriteFile(server, []byte(questionable), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, findings := inspect(t, node, server); !strings.Contains(
			findings, "inputSchema.properties.either") {
			t.Errorf("the Inspector does not warn: %q", findings)
		}
	})
}

// TestInspectorListsACatalogByTheURLAlone holds that a stock client, which knows nothing of
// catalogs, can be given one. The catalog is made through the API, on both engines.
func TestInspectorListsACatalogByTheURLAlone(t *testing.T) {
	inspect := newInspector(t)
	for engine, kept := range testdb.Stores {
		t.Run(engine, func(t *testing.T) {
			server := testserver.Run(t, exec.Command(program(t, "team"), "-addr", "127.0.0.1:0", "-db",
				filepath.Join(t.TempDir(), "team.db"), "-store", kept(t)))
			const catalogs = "/admin/mcp/tool_catalogs"
			server.Must(t, http.StatusCreated, "demo-ada", "POST", catalogs,
				map[string]string{"name": "research kit"})
			server.Must(t, http.StatusCreated, "demo-ada", "POST", catalogs+"/1/entries",
				map[string]string{"tool_name": "get_all"})
			listed, findings := inspect(t, server.Base+"/mcp?catalog=research+kit", "--transport", "http",
				"--header", "Authorization: Bearer demo-ada")
			if strings.Count(listed, `"inputSchema"`) != 1 ||
				!strings.Contains(listed, `"get_all"`) || findings != "" {
				t.Errorf("%s\n%s", listed, findings)
			}
		})
	}
}

// questionable is a server whose only tool draws a warning: a test that cannot fail would prove
// nothing.
const questionable = `
let text = '';
process.stdin.on('data', data => {
	text += data;
	for (let end; (end = text.indexOf('\n')) >= 0; text = text.slice(end + 1)) {
		const message = JSON.parse(text.slice(0, end));
		if (message.id === undefined) continue;
		let result = {};
		if (message.method === 'initialize') {
			result = {protocolVersion: message.params.protocolVersion, capabilities: {tools: {}}, serverInfo: {name: 'questionable', version: '1'}};
		} else if (message.method === 'tools/list') {
			result = {tools: [{name: 'ask', inputSchema: {type: 'object', properties: {either: {type: ['string', 'null']}}}}]};
		}
		process.stdout.write(JSON.stringify({jsonrpc: '2.0', id: message.id, result}) + '\n');
	}
});
`

// newInspector returns a func that lists the tools of a server, which is a command or a URL with
// flags of the Inspector's, and what strict mode has to say of them.
func newInspector(t *testing.T) func(t *testing.T, command ...string) (listed, findings string) {
	t.Helper()
	launcher, node := testdb.Npm(t, ".bin/mcp-inspector")
	home := t.TempDir()
	return func(t *testing.T, command ...string) (listed, findings string) {
		t.Helper()
		args := []string{launcher, "--cli", "--strict", "--method", "tools/list"}
		if !strings.HasPrefix(command[0], "http://") {
			args = append(args, "--") // flags of the server's own may follow
		}
		args = append(args, command...)
		cmd := exec.CommandContext(t.Context(), node, args...)
		cmd.Env = append(os.Environ(), "HOME="+home) // it keeps a catalog there
		var stdout, stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		if err := cmd.Run(); err != nil {
			t.Errorf("%v: %v\n%s", cmd, err, stderr.String())
		}
		for line := range strings.Lines(stderr.String()) {
			if strings.HasPrefix(line, "time=") || loggedByDefault.MatchString(line) {
				// the log of a server of ours, as slog writes it or as package log does, which the
				// Inspector passes on
				continue
			}
			findings += line
		}
		return stdout.String(), strings.TrimSpace(findings)
	}
}

// loggedByDefault is how slog's default logger begins a line at info level.
var loggedByDefault = regexp.MustCompile(`^\d{4}/\d\d/\d\d \d\d:\d\d:\d\d INFO `)
