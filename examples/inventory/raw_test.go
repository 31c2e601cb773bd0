package main

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// raw is a client that compares bytes.
type raw struct {
	t                        testing.TB
	url, token, era, session string
	status                   int // of the last answer
}

// raw opens a session where the version of the protocol has sessions.
func (w *world) raw(token, era string) *raw {
	w.t.Helper()
	c := &raw{t: w.t, url: w.url, token: token, era: era}
	if era == "2026-07-28" {
		return c
	}
	c.send("initialize", "",
		`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"`+era+
			`","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}`)
	c.send("notifications/initialized", "",
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return c
}

// ask sends a request and returns all that comes back, moments aside. name is what it asks for.
func (c *raw) ask(method, name, params string) string {
	c.t.Helper()
	if c.era == "2026-07-28" {
		meta := `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
			`"io.modelcontextprotocol/clientCapabilities":{}}`
		if params != "" {
			meta += ","
		}
		params = meta + params
	}
	return c.send(method, name,
		`{"jsonrpc":"2.0","id":7,"method":"`+method+`","params":{`+params+`}}`)
}

func (c *raw) send(method, name, body string) string {
	c.t.Helper()
	req, err := http.NewRequestWithContext(c.t.Context(), http.MethodPost, c.url,
		strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	req.Header.Set("Authorization", "Bearer "+c.token)
	switch {
	case c.era == "2026-07-28":
		req.Header.Set("Mcp-Protocol-Version", c.era)
		req.Header.Set("Mcp-Method", method)
		if name != "" {
			req.Header.Set("Mcp-Name", name)
		}
	case c.session != "":
		req.Header.Set("Mcp-Protocol-Version", c.era)
		req.Header.Set("Mcp-Session-Id", c.session)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		c.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	if id := res.Header.Get("Mcp-Session-Id"); id != "" {
		c.session = id
	}
	c.status = res.StatusCode
	res.Header.Del("Date")
	var b strings.Builder
	fmt.Fprintf(&b, "%d\n", res.StatusCode)
	for _, key := range slices.Sorted(maps.Keys(res.Header)) {
		fmt.Fprintf(&b, "%s: %s\n", key, res.Header[key])
	}
	return b.String() + "\n" + string(text)
}
