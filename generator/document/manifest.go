package document

import (
	"bytes"
	"encoding/json"

	"github.com/invopop/jsonschema"

	"github.com/mcpgen/mcpgen/generator/model"
)

// manifestVersion is the version of the manifest's format.
const manifestVersion = 1

// manifest is mcp.manifest.json: what a package serves and to whom, for review, for mcpgen
// diff and for other tools. It holds no position and no version of the tool, so that it changes
// only when authority or contract does. Lists that other parts of a service fill are always
// present; titles only where they are written.
type manifest struct {
	Manifest  int                `json:"manifest"`
	Package   string             `json:"package"`
	Server    manifestServer     `json:"server"`
	Roles     []string           `json:"roles"`     // lowest first; empty fits any hierarchy
	Tools     []manifestTool     `json:"tools"`     // by name
	Prompts   []manifestPrompt   `json:"prompts"`   // by name
	Resources []manifestResource `json:"resources"` // by URI
	Ignored   []manifestIgnored  `json:"ignored"`   // by handler
	// Types are those of //mcp:type, by name: their schemas as written.
	Types map[string]string `json:"types,omitempty"`
}

type manifestServer struct {
	Name    string `json:"name"`
	Title   string `json:"title,omitempty"`
	Version string `json:"version"`
	App     string `json:"app"`
}

type manifestTool struct {
	Name        string         `json:"name"`
	Title       string         `json:"title,omitempty"`
	Handler     string         `json:"handler"`
	Params      []string       `json:"params"` // plain parameters in the order of the signature
	Description string         `json:"description"`
	Access      manifestAccess `json:"access"`
	Denial      string         `json:"denial"`
	Hints       manifestHints  `json:"hints"` // those that are written
	Limits      manifestLimits `json:"limits"`
	Catalogs    []string       `json:"catalogs"` // by name
	Input       any            `json:"input"`    // a JSON Schema
	Output      any            `json:"output"`   // null where the tool promises none
}

type manifestPrompt struct {
	Name        string             `json:"name"`
	Title       string             `json:"title,omitempty"`
	Handler     string             `json:"handler"`
	Description string             `json:"description"`
	Access      manifestAccess     `json:"access"`
	Denial      string             `json:"denial"`
	Limits      manifestLimits     `json:"limits"`
	Arguments   []manifestArgument `json:"arguments"`
}

type manifestResource struct {
	URI         string             `json:"uri"` // or URI template
	Name        string             `json:"name"`
	Title       string             `json:"title,omitempty"`
	Handler     string             `json:"handler"`
	Description string             `json:"description"`
	MIMEType    string             `json:"mimeType"`
	Access      manifestAccess     `json:"access"`
	Denial      string             `json:"denial"`
	Limits      manifestLimits     `json:"limits"`
	Variables   []manifestArgument `json:"variables"` // in the order of the URI
}

type manifestArgument struct {
	Name        string   `json:"name"`
	Title       string   `json:"title,omitempty"`
	Description string   `json:"description"`
	Type        string   `json:"type"`
	Required    bool     `json:"required"`
	Values      []string `json:"values,omitempty"`
	Complete    string   `json:"complete,omitempty"` // the handler of //mcp:complete
}

type manifestAccess struct {
	Public        bool   `json:"public"`
	Authenticated bool   `json:"authenticated"`
	MinRole       string `json:"minRole"`
	// "none" for action=none, empty where nothing is said
	Permission string   `json:"permission"`
	Scopes     []string `json:"scopes"`
	Allow      []string `json:"allow"` // KIND={argument}, sorted
	// Constrained is left out where it is false: only a handler that honours object
	// constraints is open to a constrained caller.
	Constrained bool `json:"constrained,omitempty"`
}

type manifestHints struct {
	ReadOnly    *bool `json:"readOnly,omitempty"`
	Destructive *bool `json:"destructive,omitempty"`
	Idempotent  *bool `json:"idempotent,omitempty"`
	OpenWorld   *bool `json:"openWorld,omitempty"`
}

// manifestLimits are in the words of the directive. What is not written is left out, but for the
// memory of a call in a process of its own, which always has a bound.
type manifestLimits struct {
	Timeout      string   `json:"timeout"` // a Go duration
	Memory       string   `json:"memory,omitempty"`
	Output       string   `json:"output,omitempty"`
	Concurrency  int      `json:"concurrency,omitempty"`
	Rate         string   `json:"rate,omitempty"`
	Isolate      string   `json:"isolate,omitempty"`
	Capabilities []string `json:"capabilities,omitempty"` // sorted; "none" alone for none
}

type manifestIgnored struct {
	Handler string `json:"handler"`
	Reason  string `json:"reason"`
}

// Manifest returns the content of mcp.manifest.json.
func Manifest(s model.Service) ([]byte, error) {
	m := manifest{
		Manifest: manifestVersion,
		Package:  s.Package,
		Server: manifestServer{Name: s.Server.Name, Title: s.Server.Title,
			Version: s.Server.Version, App: s.Server.App},
		Roles:     []string{},
		Tools:     []manifestTool{},
		Prompts:   []manifestPrompt{},
		Resources: []manifestResource{},
		Ignored:   []manifestIgnored{},
	}
	if s.Roles.Own {
		m.Roles = listed(s.Roles.Names)
	}
	for _, tool := range s.Tools {
		m.Tools = append(m.Tools, manifestOf(tool))
	}
	for _, prompt := range s.Prompts {
		m.Prompts = append(m.Prompts, manifestPrompt{
			Name: prompt.Name, Title: prompt.Title, Handler: prompt.Handler.String(),
			Description: prompt.Description,
			Access:      accessOf(prompt.Access), Denial: prompt.Denial,
			Limits: limitsOf(prompt.Limits), Arguments: argumentsOf(prompt.Arguments),
		})
	}
	for _, r := range s.Resources {
		m.Resources = append(m.Resources, manifestResource{
			URI: r.URI, Name: r.Name, Title: r.Title, Handler: r.Handler.String(),
			Description: r.Description, MIMEType: r.MIMEType,
			Access: accessOf(r.Access), Denial: r.Denial,
			Limits: limitsOf(r.Limits), Variables: argumentsOf(r.Variables),
		})
	}
	for _, t := range s.Types {
		if m.Types == nil {
			m.Types = map[string]string{}
		}
		m.Types[t.Name] = t.Schema
	}
	for _, i := range s.Ignored {
		m.Ignored = append(m.Ignored, manifestIgnored{Handler: i.Handler, Reason: i.Reason})
	}
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(m); err != nil {
		return nil, err
	}
	return PlainHTML(b.Bytes()), nil
}

func manifestOf(tool model.Tool) manifestTool {
	m := manifestTool{
		Name:        tool.Name,
		Title:       tool.Title,
		Handler:     tool.Handler.String(),
		Params:      []string{},
		Description: tool.Description,
		Access:      accessOf(tool.Access),
		Denial:      tool.Denial,
		Hints:       manifestHints(tool.Hints),
		Limits:      limitsOf(tool.Limits),
		Catalogs:    listed(tool.Catalogs),
		Input:       tool.Input.Schema,
	}
	m.Access.Allow = listed(tool.Permissions())
	for _, param := range tool.Input.Params {
		m.Params = append(m.Params, param.Name)
	}
	switch {
	case tool.Input.Written != "":
		m.Input = json.RawMessage(tool.Input.Written)
	case tool.Input.Schema == nil:
		m.Input = &jsonschema.Schema{Type: "object", AdditionalProperties: jsonschema.FalseSchema}
	}
	switch {
	case tool.Output.Written != "":
		m.Output = json.RawMessage(tool.Output.Written)
	case tool.Output.Kind != model.NoOutput && tool.Output.Schema != nil:
		m.Output = tool.Output.Schema
	}
	return m
}

func accessOf(a model.Access) manifestAccess {
	return manifestAccess{
		Public: a.Public, Authenticated: a.Authenticated, MinRole: a.MinRole, Permission: a.Asks(),
		Scopes: listed(a.Scopes), Allow: []string{}, Constrained: a.Constrained,
	}
}

func limitsOf(l model.Limits) manifestLimits {
	m := manifestLimits{
		Timeout: l.Timeout.String(), Concurrency: l.Concurrency, Rate: l.Rate.String(),
		Isolate: l.Isolate, Capabilities: l.Capabilities,
	}
	if l.Memory > 0 {
		m.Memory = l.Memory.String()
	}
	if l.Output > 0 {
		m.Output = l.Output.String()
	}
	return m
}

func argumentsOf(arguments []model.Argument) []manifestArgument {
	list := []manifestArgument{}
	for _, a := range arguments {
		m := manifestArgument{Name: a.Name, Title: a.Title, Description: a.Description,
			Type: a.Type, Required: a.Required, Values: a.Values}
		if a.Complete != nil {
			m.Complete = a.Complete.String()
		}
		list = append(list, m)
	}
	return list
}

// listed is a list that JSON writes as [] where it is empty.
func listed(values []string) []string { return append([]string{}, values...) }

// PlainHTML undoes the HTML escapes of a JSON document.
func PlainHTML(text []byte) []byte {
	plain := make([]byte, 0, len(text))
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' {
			plain = append(plain, text[i])
			continue
		}
		if i+6 <= len(text) {
			if c, ok := htmlEscapes[string(text[i:i+6])]; ok {
				plain = append(plain, c)
				i += 5
				continue
			}
		}
		plain = append(plain, text[i], text[i+1]) // an escape of two bytes, or the start of \uXXXX
		i++
	}
	return plain
}

var htmlEscapes = map[string]byte{`\u003c`: '<', `\u003e`: '>', `\u0026`: '&'}
