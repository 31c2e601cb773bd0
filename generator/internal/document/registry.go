package document

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mcpgen/mcpgen/generator/internal/model"
)

// registrySchema is the format of server.json.
const registrySchema = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"

// Entry is what server.json has besides the source.
type Entry struct {
	Name    string // in the registry, as com.example/parts
	URL     string // of the server
	Version string // replaces that of //mcp:server; empty keeps it
}

type serverJSON struct {
	Schema      string         `json:"$schema"`
	Name        string         `json:"name"`
	Title       string         `json:"title,omitempty"`
	Description string         `json:"description"`
	Version     string         `json:"version"`
	Website     string         `json:"websiteUrl,omitempty"`
	Icons       []manifestIcon `json:"icons,omitempty"`
	Remotes     []remote       `json:"remotes"`
}

type remote struct {
	Type string `json:"type"`
	URL  string `json:"url"`
}

var (
	registryName = regexp.MustCompile(`^[a-zA-Z0-9-]+(\.[a-zA-Z0-9-]+)+/[a-zA-Z0-9._-]+$`)
	// fixedVersion is one version; the registry refuses ranges and "latest".
	fixedVersion = regexp.MustCompile(`^v?[0-9]+(\.[0-9]+)*([-+][0-9A-Za-z.+-]+)?$`)
	// iconTypes are the media types of icons that the registry takes.
	iconTypes = []string{"", "image/png", "image/jpeg", "image/jpg", "image/svg+xml", "image/webp"}
)

// ServerJSON returns server.json of the registry of MCP servers, for a server that clients reach
// over HTTP. Icons that the registry does not take are left out.
func ServerJSON(s model.Service, e Entry) ([]byte, error) {
	out := serverJSON{Schema: registrySchema, Name: e.Name, Title: s.Server.Title,
		Description: s.Server.Description, Version: cmp.Or(e.Version, s.Server.Version),
		Website: s.Server.Website, Remotes: []remote{{"streamable-http", e.URL}}}
	at, err := url.Parse(e.URL)
	switch {
	case !registryName.MatchString(e.Name) || len(e.Name) > 200:
		return nil, fmt.Errorf("the name %q is not one of the registry: write a domain of yours from "+
			"the end, a slash and a name, as in com.example/parts", e.Name)
	case err != nil || at.Scheme != "https" || at.Host == "":
		return nil, fmt.Errorf("the URL %q is not one that the registry takes: write the https URL at "+
			"which clients call the server", e.URL)
	case !fixedVersion.MatchString(out.Version) || len(out.Version) > 255:
		return nil, fmt.Errorf("the version %q is not one that the registry takes: write one version, "+
			"as in 1.4.0", out.Version)
	case out.Description == "" || utf8.RuneCountInString(out.Description) > 100:
		return nil, fmt.Errorf("the first sentence of the doc of package %s has %d characters: write "+
			"one of 1 to 100, which is the description in the registry", s.Package,
			utf8.RuneCountInString(out.Description))
	case utf8.RuneCountInString(out.Title) > 100:
		return nil, fmt.Errorf("the title of //mcp:server has %d characters: write at most 100",
			utf8.RuneCountInString(out.Title))
	}
	for _, icon := range s.Server.Icons {
		if strings.HasPrefix(icon.Source, "https://") && len(icon.Source) <= 255 &&
			slices.Contains(iconTypes, icon.MIMEType) {
			out.Icons = append(out.Icons, manifestIcon(icon))
		}
	}
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	err = encoder.Encode(out)
	return b.Bytes(), err
}
