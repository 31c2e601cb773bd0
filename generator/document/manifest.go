package document

import (
	"cmp"
	"encoding/json"
	"fmt"

	"github.com/invopop/jsonschema"

	"github.com/mcpgen/mcpgen/generator/model"
)

// manifestVersion is the version of the manifest's format.
const manifestVersion = 2

// manifest is mcp.manifest.json: what a package serves and to whom, for review and for other
// tools. It holds no position and no version of mcpgen, so that it changes only when authority or
// contract does. The lists of the package are always present. In all other places, an empty field
// is left out: a rule without minRole requires no role.
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
	Version string `json:"version,omitempty"`
	App     string `json:"app,omitempty"`

	Website string         `json:"website,omitempty"`
	Icons   []manifestIcon `json:"icons,omitempty"`
	// Unannotated is "ignore" if handlers without a directive are no findings.
	Unannotated string `json:"unannotated,omitempty"`
}

type manifestIcon struct {
	Source   string   `json:"src"`
	MIMEType string   `json:"mimeType,omitempty"`
	Sizes    []string `json:"sizes,omitempty"`
	Theme    string   `json:"theme,omitempty"`
}

type manifestTool struct {
	Name        string         `json:"name"`
	Title       string         `json:"title,omitempty"`
	Handler     string         `json:"handler"`
	Params      []string       `json:"params,omitempty"` // plain ones, in the signature's order
	Description string         `json:"description,omitempty"`
	Access      manifestAccess `json:"access"`
	// Values are those that a //mcp:rule is about, with the rule of the tool included.
	Values   []manifestValue `json:"values,omitempty"`
	Denial   string          `json:"denial,omitempty"`
	Hints    manifestHints   `json:"hints,omitzero"` // those that are written
	Limits   manifestLimits  `json:"limits"`
	Catalogs []string        `json:"catalogs,omitempty"` // by name
	Input    contract        `json:"input"`
	Output   contract        `json:"output,omitempty"` // absent if the tool promises none
	// Returns is how a result without structured content is sent: "text", "json" for JSON in text,
	// "content", "result" for one that the handler makes, or a media type.
	Returns string   `json:"returns,omitempty"`
	Aliases []string `json:"aliases,omitempty"` // deprecated names, sorted
	Elicits bool     `json:"elicits,omitempty"`
	// Lenient is whether the arguments are lenient; without it Options.LenientArguments decides.
	Lenient *bool          `json:"lenient,omitempty"`
	Icons   []manifestIcon `json:"icons,omitempty"`

	AnnotationTitle string          `json:"annotationTitle,omitempty"`
	Meta            json.RawMessage `json:"_meta,omitempty"`
}

type manifestPrompt struct {
	Name        string             `json:"name"`
	Title       string             `json:"title,omitempty"`
	Handler     string             `json:"handler"`
	Description string             `json:"description,omitempty"`
	Access      manifestAccess     `json:"access"`
	Denial      string             `json:"denial,omitempty"`
	Limits      manifestLimits     `json:"limits"`
	Arguments   []manifestArgument `json:"arguments,omitempty"`
}

type manifestResource struct {
	URI         string             `json:"uri"` // or URI template
	Name        string             `json:"name"`
	Title       string             `json:"title,omitempty"`
	Handler     string             `json:"handler"`
	Description string             `json:"description,omitempty"`
	MIMEType    string             `json:"mimeType,omitempty"`
	Access      manifestAccess     `json:"access"`
	Denial      string             `json:"denial,omitempty"`
	Limits      manifestLimits     `json:"limits"`
	Variables   []manifestArgument `json:"variables,omitempty"` // in the order of the URI
}

type manifestArgument struct {
	Name        string   `json:"name"`
	Title       string   `json:"title,omitempty"`
	Type        string   `json:"type"`
	Required    bool     `json:"required,omitempty"`
	Values      []string `json:"values,omitempty"`
	Complete    string   `json:"complete,omitempty"` // the handler of //mcp:complete
	Description string   `json:"description,omitempty"`
}

type manifestAccess struct {
	Public        bool   `json:"public,omitempty"`
	Authenticated bool   `json:"authenticated,omitempty"`
	MinRole       string `json:"minRole,omitempty"`
	// Permission is "none" for action=none, and empty without action= and object=.
	Permission string   `json:"permission,omitempty"`
	Scopes     []string `json:"scopes,omitempty"`
	Allow      []string `json:"allow,omitempty"` // KIND={argument}, sorted
	// Constrained reports that the handler honours object constraints. Only such a handler is open
	// to a constrained caller.
	Constrained bool `json:"constrained,omitempty"`
}

type manifestValue struct {
	Argument string         `json:"argument"`
	Value    string         `json:"value"`
	Access   manifestAccess `json:"access"`
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
			Version: s.Server.Version, App: s.Server.App, Website: s.Server.Website,
			Icons: iconsOf(s.Server.Icons), Unannotated: s.Server.Unannotated},
		Roles:     []string{},
		Tools:     []manifestTool{},
		Prompts:   []manifestPrompt{},
		Resources: []manifestResource{},
		Ignored:   []manifestIgnored{},
	}
	if s.Roles.Own {
		m.Roles = s.Roles.Names
	}
	for _, tool := range s.Tools {
		t, err := manifestOf(tool)
		if err != nil {
			return nil, fmt.Errorf("schema of tool %s: %w", tool.Name, err)
		}
		m.Tools = append(m.Tools, t)
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
	text, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	if text, err = layout(text); err != nil {
		return nil, err
	}
	return PlainHTML(text), nil
}

func manifestOf(tool model.Tool) (m manifestTool, err error) {
	m = manifestTool{
		Name:        tool.Name,
		Title:       tool.Title,
		Handler:     tool.Handler.String(),
		Description: tool.Description,
		Access:      accessOf(tool.Access),
		Denial:      tool.Denial,
		Hints:       manifestHints(tool.Hints),
		Limits:      limitsOf(tool.Limits),
		Catalogs:    tool.Catalogs,
		Aliases:     tool.Aliases,
		Elicits:     tool.Elicits,
		Lenient:     tool.Lenient,
		Icons:       iconsOf(tool.Icons),

		AnnotationTitle: tool.AnnotationTitle,
		Meta:            json.RawMessage(tool.Meta),
	}
	m.Access.Allow = tool.Permissions()
	for _, v := range tool.Ruled() {
		m.Values = append(m.Values, manifestValue{v.Argument, v.Value, accessOf(v.Access)})
	}
	for _, param := range tool.Input.Params {
		m.Params = append(m.Params, param.Name)
	}
	in := tool.Input.Schema
	if in == nil {
		in = &jsonschema.Schema{Type: "object", AdditionalProperties: jsonschema.FalseSchema}
	}
	m.Returns = cmp.Or(tool.Output.MIMEType, map[model.OutputKind]string{
		model.TextOutput: "text", model.JSONOutput: "json", model.ContentOutput: "content",
		model.SDKOutput: "result",
	}[tool.Output.Kind])
	if m.Input, err = contractOf(tool.Input.Written, in); err != nil {
		return m, err
	}
	if tool.Output.Written != "" || tool.Output.Kind != model.NoOutput &&
		tool.Output.Schema != nil {
		m.Output, err = contractOf(tool.Output.Written, tool.Output.Schema)
	}
	return m, err
}

func iconsOf(icons []model.Icon) (list []manifestIcon) {
	for _, i := range icons {
		list = append(list, manifestIcon(i))
	}
	return list
}

func accessOf(a model.Access) manifestAccess {
	return manifestAccess{
		Public: a.Public, Authenticated: a.Authenticated, MinRole: a.MinRole, Permission: a.Asks(),
		Scopes: a.Scopes, Constrained: a.Constrained,
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
	var list []manifestArgument
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
