package command

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// stranger is a server whose holder of the token "t" sees more than others. Its documents are by
// path.
func stranger(t *testing.T, anonymous bool, documents map[string]string) string {
	build := func(tools ...string) *mcp.Server {
		s := mcp.NewServer(&mcp.Implementation{Name: "s"}, nil)
		for _, name := range tools {
			s.AddTool(&mcp.Tool{Name: name, InputSchema: map[string]any{"type": "object"}},
				func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
					return &mcp.CallToolResult{}, nil
				})
		}
		return s
	}
	own := build("list", "look", "move\n")
	own.AddPrompt(&mcp.Prompt{Name: "help"},
		func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) { return nil, nil })
	own.AddResource(&mcp.Resource{URI: "doc://a", Name: "a"}, nil)
	own.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: "doc://{b}", Name: "b"}, nil)
	all := build("look")
	held := func(r *http.Request) bool { return r.Header.Get("Authorization") == "Bearer t" }
	handler := mcp.NewStreamableHTTPHandler(func(r *http.Request) *mcp.Server {
		if held(r) {
			return own
		}
		return all
	}, nil)
	var url string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		document, ok := documents[r.URL.Path]
		switch {
		case r.URL.Path == "/mcp" && (anonymous || held(r)):
			handler.ServeHTTP(w, r)
		case r.URL.Path == "/mcp" || strings.HasPrefix(r.URL.Path, "/api") && !held(r) ||
			strings.HasPrefix(r.URL.Path, "/.well-known") && held(r):
			w.WriteHeader(http.StatusUnauthorized)
		case ok:
			fmt.Fprint(w, strings.ReplaceAll(document, "$URL", url))
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(server.Close)
	url = server.URL
	return url
}

func TestDoctorPrintsWhatTheHolderReaches(t *testing.T) {
	const (
		items = "  tool:list\n  tool:look%s\n  tool:move\\u000a%s\n  prompt:help\n  resource:doc://a\n" +
			"  resource:doc://{b}\n"
		whoami = `{"issuer": "i", "subject": "ada", "client": "agent", ` +
			`"roles": ["A", "B"], "scopes": [], "boundaries": `
		protected = "/.well-known/oauth-protected-resource/mcp"
	)
	for name, test := range map[string]struct {
		anonymous    bool
		documents    map[string]string
		code         int
		want, stderr string
	}{
		"a server without documents": {false, nil, 0, fmt.Sprintf(items, "", ""),
			"note: the identity of the holder is not known: $URL/api/v1/whoami responds with 404\n"},
		"a holder": {true, map[string]string{"/api/v1/whoami": whoami + `"optional", "admin": false}`,
			"/api/v1/mcp/tools": `{"items": [{"name": "move\n", "missing": "needs scope s"}, {"name": "list",
				"choices": [{"argument": "of", "values": ["a", "b c"]}, {"argument": "by", "values": ["d"]}]},
				{"name": "look", "choices": [{"argument": "none", "values": []}]}]}`,
			protected:                                   `{"authorization_servers": ["$URL/a", "$URL/b", "$URL/c", "$URL/d"]}`,
			"/a/.well-known/openid-configuration":       `{"issuer": "i"}`,
			"/.well-known/oauth-authorization-server/b": `{"registration_endpoint": "x"}`,
			"/c/.well-known/openid-configuration":       `{"client_id_metadata_document_supported": true}`,
		}, 1, "ada, issuer i, client agent, roles A B, scopes none, boundaries optional\n" +
			"  tool:list of=a\n  tool:list of=b c\n  tool:list by=d\n" + strings.TrimPrefix(
			fmt.Sprintf(items, " (without a token too)", " (its use needs scope s)"), "  tool:list\n") +
			"warning: $URL/b lets clients register (registration_endpoint): a client that registers again " +
			"has no boundary, unless Options.Access.BoundariesOptional is false\n" +
			"warning: $URL/c lets clients register (client_id_metadata_document_supported): a client that " +
			"registers again has no boundary, unless Options.Access.BoundariesOptional is false\n",
			"note: the metadata of $URL/d could not be read: " +
				"$URL/.well-known/oauth-authorization-server/d responds with 404\n"},
		"an administrator": {false, map[string]string{"/api/v1/whoami": whoami +
			`"required", "admin": true}`}, 1,
			"ada, issuer i, client agent, roles A B, scopes none, boundaries required\n" +
				fmt.Sprintf(items, "", "") +
				"warning: the holder administers the server: if it is an agent, set " +
				"Options.Access.Boundaries, and remove its client from admin.Options.Clients\n", ""},
		"required boundaries": {false, map[string]string{
			"/api/v1/whoami": whoami + `"required"}`, protected: `{"authorization_servers": ["$URL/a"]}`,
			"/a/.well-known/openid-configuration": `{"registration_endpoint": "x"}`}, 0,
			"ada, issuer i, client agent, roles A B, scopes none, boundaries required\n" +
				fmt.Sprintf(items, "", ""), ""},
		"an unknown holder": {false, map[string]string{
			protected:                             `{"authorization_servers": ["$URL/a"]}`,
			"/a/.well-known/openid-configuration": `{"registration_endpoint": "x"}`}, 1,
			fmt.Sprintf(items, "", "") + "warning: $URL/a lets clients register " +
				"(registration_endpoint): a client that registers again has no boundary, unless " +
				"Options.Access.BoundariesOptional is false\n",
			"note: the identity of the holder is not known: $URL/api/v1/whoami responds with 404\n"},
		"no JSON": {false, map[string]string{"/api/v1/whoami": "<html>"}, 0, fmt.Sprintf(items, "", ""),
			"note: the identity of the holder is not known: $URL/api/v1/whoami does not " +
				"respond with a JSON " +
				"document of the expected form\n"},
	} {
		url := stranger(t, test.anonymous, test.documents)
		t.Setenv("DOCTOR_TOKEN", "t")
		var stdout, stderr bytes.Buffer
		code := run(t.Context(), []string{"doctor", url + "/mcp", "--token-env", "DOCTOR_TOKEN"}, &stdout,
			&stderr)
		in := func(text string) string { return strings.ReplaceAll(text, "$URL", url) }
		if code != test.code || stdout.String() != in(test.want) || stderr.String() != in(test.stderr) {
			t.Errorf("%s: exit code %d\n%s\nwant\n%s\n%s", name, code, &stdout, in(test.want), &stderr)
		}
	}
}

func TestDoctorNeedsAServer(t *testing.T) {
	url := stranger(t, false, nil)
	for args, want := range map[string]string{
		"doctor":                            "accepts 1 arg(s), received 0",
		"doctor " + url + "/mcp":            "send a valid token",
		"doctor x":                          "write an http or https URL with a host",
		"doctor " + url + "/mcp --header x": "--header must have the form NAME: VALUE",
		"doctor " + url + "/mcp --token-env NONE_OF_THIS": "this one is not set, or empty",
		"doctor http://a.example/mcp --header a:b":        "would be sent in plain text",
	} {
		var stdout, stderr bytes.Buffer
		code := run(t.Context(), strings.Fields(args), &stdout, &stderr)
		if code != 2 || !strings.Contains(stderr.String(), want) || stdout.Len() > 0 {
			t.Errorf("%s: exit code %d, %s", args, code, &stderr)
		}
	}
}
