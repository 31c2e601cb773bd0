package main

import (
	"bufio"
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/examples/team/directory"
	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/identity"
)

var update = flag.Bool("update", false, "write the recorded streams anew")

// asked is what the streams ask, in every version of the protocol: lists, allowed and refused uses,
// unknown ones, and what is wrong.
var asked = []struct{ method, params, name string }{
	{"tools/list", ``, ""}, {"prompts/list", ``, ""}, {"resources/list", ``,
		""}, {"resources/templates/list", ``, ""},
	{"tools/call", `"name":"get_public_info","arguments":{}`, "get_public_info"},
	{"tools/call", `"name":"get_by_id","arguments":{"id":1}`, "get_by_id"},
	{"tools/call", `"name":"get_by_id","arguments":{"id":"x"}`, "get_by_id"},
	{"tools/call", `"name":"update","arguments":{"id":999,"email":"x@example.org"}`, "update"},
	{"tools/call", `"name":"promote_to_manager","arguments":{"id":999}`, "promote_to_manager"},
	{"tools/call", `"name":"no_such_tool","arguments":{}`, "no_such_tool"},
	{"prompts/get", `"name":"announce","arguments":{"name":"Ada"}`, "announce"},
	{"prompts/get", `"name":"no_such_prompt"`, "no_such_prompt"},
	{"resources/read", `"uri":"team://handbook"`, "team://handbook"},
	{"resources/read", `"uri":"team://people/1"`, "team://people/1"},
	{"resources/read", `"uri":"team://ranks/Manager"`, "team://ranks/Manager"},
	{"completion/complete",
		`"ref":{"type":"ref/resource","uri":"team://people/{id}"},"argument":{"name":"id","value":"1"}`,
		""},
	{"subscriptions/listen", `"notifications":{"toolsListChanged":true}`, ""},
	{"server/discover", ``, ""}, {"resources/subscribe", `"uri":"team://handbook"`,
		""}, {"no/such/method", ``, ""},
}

// eventIDs are the events that only name their place in a stream, and the ids of the others.
var eventIDs = regexp.MustCompile(`event: prime\nid: \S+\ndata: \n\n|(?m:^id: \S+\n)`)

const handshake = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"%s",` +
	`"capabilities":{},"clientInfo":{"name":"streams","version":"1"}}}`

// The bytes of this file were recorded before there was permission-aware discovery, but for the
// audience of what is wrong with arguments. Where that is off, nothing of it may show.
func TestStreamsAreTheBytesOfBefore(t *testing.T) {
	dir, err := directory.Open(context.Background(), "Orange",
		filepath.Join(t.TempDir(), "team.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	var got bytes.Buffer
	for _, denial := range []access.Denial{access.Conceal, access.Forbid} {
		server, err := runtime.New(runtime.Options{
			Identity: identity.Static(tokens()), Anonymous: true,
			Access: runtime.AccessOptions{Denial: denial},
			Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
		}, directory.Toolset(dir))
		if err != nil {
			t.Fatal(err)
		}
		for _, era := range eras[1:] {
			for _, caller := range []string{"nobody", "mel", "ada"} {
				overHTTP(t, &got, server, era, caller, denial)
				overLines(t, &got, server, era, caller, denial)
			}
		}
	}
	golden := filepath.Join("testdata", "streams.golden")
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
		a, b := strings.Split(got.String(), "\n"), strings.Split(string(want), "\n")
		for i := range min(len(a), len(b)) {
			if a[i] != b[i] {
				t.Fatalf("line %d:\n%s\nwas\n%s", i+1, a[i], b[i])
			}
		}
		t.Fatalf("%d lines, were %d", len(a), len(b))
	}
}

// message is a request of an era.
func message(era, method, params string) string {
	if era == "2026-07-28" {
		meta := `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
			`"io.modelcontextprotocol/clientCapabilities":{}}`
		if params != "" {
			meta += ","
		}
		params = meta + params
	}
	return `{"jsonrpc":"2.0","id":7,"method":"` + method + `","params":{` + params + `}}`
}

func overHTTP(t *testing.T, out io.Writer, server *runtime.Server, era, caller string,
	denial access.Denial) {
	t.Helper()
	web := httptest.NewServer(server.Handler())
	defer web.Close()
	session := ""
	send := func(method, name, body string) {
		req, err := http.NewRequest(http.MethodPost, web.URL+runtime.PathMCP,
			strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		if caller != "nobody" {
			req.Header.Set("Authorization", "Bearer demo-"+caller)
		}
		switch {
		case era == "2026-07-28":
			req.Header.Set("Mcp-Protocol-Version", era)
			req.Header.Set("Mcp-Method", method)
			if name != "" {
				req.Header.Set("Mcp-Name", name)
			}
		case session != "":
			req.Header.Set("Mcp-Protocol-Version", era)
			req.Header.Set("Mcp-Session-Id", session)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		if id := res.Header.Get("Mcp-Session-Id"); id != "" {
			session = id
			res.Header.Set("Mcp-Session-Id", "(a session)")
		}
		res.Header.Del("Date")
		fmt.Fprintf(out, "== http %s %s %s %s %s\n%d\n", denial, era, caller, method, name,
			res.StatusCode)
		for _, key := range slices.Sorted(maps.Keys(res.Header)) {
			fmt.Fprintf(out, "%s: %s\n", key, res.Header[key])
		}
		fmt.Fprintf(out, "%s\n", bytes.TrimRight(eventIDs.ReplaceAll(text, nil), "\n"))
	}
	if era != "2026-07-28" {
		send("initialize", "", fmt.Sprintf(handshake, era))
		send("notifications/initialized", "",
			`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	}
	for _, a := range asked {
		send(a.method, a.name, message(era, a.method, a.params))
	}
}

func overLines(t *testing.T, out io.Writer, server *runtime.Server, era, caller string,
	denial access.Denial) {
	t.Helper()
	in, toServer := io.Pipe()
	fromServer, serverOut := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := server.RunIO(context.Background(), in, serverOut, users[caller])
		serverOut.CloseWithError(io.EOF)
		ended <- err
	}()
	lines := bufio.NewReader(fromServer)
	send := func(method, name, body string, answers int) {
		if _, err := io.WriteString(toServer, body+"\n"); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(out, "== lines %s %s %s %s %s\n", denial, era, caller, method, name)
		for range answers {
			text, err := lines.ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprint(out, text)
		}
	}
	if era != "2026-07-28" {
		send("initialize", "", fmt.Sprintf(handshake, era), 1)
		send("notifications/initialized", "",
			`{"jsonrpc":"2.0","method":"notifications/initialized"}`, 0)
	}
	for _, a := range asked {
		if a.method == "subscriptions/listen" {
			continue // it answers twice, in an order of its own
		}
		send(a.method, a.name, message(era, a.method, a.params), 1)
	}
	if err := toServer.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
