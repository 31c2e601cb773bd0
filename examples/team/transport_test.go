package main

import (
	"encoding/json"
	"net/http"
	"os"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func transport(url, caller string) *mcp.StreamableClientTransport {
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
	var names []string
	for _, tool := range readManifest(t).Tools {
		names = append(names, tool.Name)
	}
	return names
}

// offersOfManifest reads the names of prompts and the URIs of resources.
func offersOfManifest(t *testing.T) (prompts, resources []string) {
	t.Helper()
	m := readManifest(t)
	for _, p := range m.Prompts {
		prompts = append(prompts, p.Name)
	}
	for _, r := range m.Resources {
		resources = append(resources, r.URI)
	}
	return prompts, resources
}

type manifest struct {
	Tools, Prompts []struct{ Name string }
	Resources      []struct{ URI string }
}

func readManifest(t *testing.T) manifest {
	t.Helper()
	text, err := os.ReadFile("directory/mcp.manifest.json")
	if err != nil {
		t.Fatal(err)
	}
	var m manifest
	if err := json.Unmarshal(text, &m); err != nil {
		t.Fatal(err)
	}
	return m
}
