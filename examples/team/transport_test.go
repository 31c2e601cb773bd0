package main

import (
	"encoding/json"
	"net/http"
	"os"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func transport(url, caller string) mcp.Transport {
	return &mcp.StreamableClientTransport{
		Endpoint:   url,
		HTTPClient: &http.Client{Transport: as(caller)},
	}
}

// as sends the token of a caller with each request; nobody has none.
type as string

func (caller as) RoundTrip(r *http.Request) (*http.Response, error) {
	if caller != "nobody" {
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer demo-"+string(caller))
	}
	return http.DefaultTransport.RoundTrip(r)
}

// toolsOfManifest reads the names from the committed manifest.
func toolsOfManifest(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile("directory/mcp.manifest.json")
	if err != nil {
		t.Fatal(err)
	}
	var manifest struct{ Tools []struct{ Name string } }
	if err := json.Unmarshal(text, &manifest); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range manifest.Tools {
		names = append(names, tool.Name)
	}
	return names
}
