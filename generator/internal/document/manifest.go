package document

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/invopop/jsonschema"

	"github.com/mcpgen/mcpgen/generator/internal/model"
)

// manifestVersion is the version of the manifest's format.
const manifestVersion = 3

// manifest is mcp.manifest.json: what a package serves and to whom, for review and for other
// tools. It holds no position and no version of mcpgen, so that it changes only when authority or
// contract does. The lists of the package are always present. In all other places, an empty field
// is left out: a rule without minRole requires no role.
type manifest struct {
	Manifest int            `json:"manifest"` // the version of the format
	Package  string         `json:"package"`  // the import path
	Server   manifestServer `json:"server"`   // what //mcp:server declares
	// Roles are chains, each lowest first, and the main chain first; empty fits any hierarchy.
	Roles [][]string `json:"roles"`
	// Scopes are the lines of //mcp:scopes: a scope, and then the scopes that a token with it has too.
	Scopes    [][]string         `json:"scopes,omitempty"`
	Tools     []manifestTool     `json:"tools"`     // by name
	Prompts   []manifestPrompt   `json:"prompts"`   // by name
	Resources []manifestResource `json:"resources"` // by URI
	// Fields are those with rules of their own, by name. In the contracts of tools, the keyword
	// x-mcpgen-field has the name of the field of a property. Clients do not get the keyword.
	Fields  []manifestField   `json:"fields,omitempty"`
	Ignored []manifestIgnored `json:"ignored"` // by handler
	// Types are those of //mcp:type, by name: their schemas as written.
	Types map[string]string `json:"types,omitempty"`
}

type manifestServer struct {
	Name    string `json:"name"`              // of the server
	Title   string `json:"title,omitempty"`   // the name that people read
	Version string `json:"version,omitempty"` // of the server, if the directive has it
	App     string `json:"app,omitempty"`     // the app label of permissions

	Website string         `json:"website,omitempty"` // a URL
	Icons   []manifestIcon `json:"icons,omitempty"`   // of the server
	// Unannotated is "ignore" if handlers without a directive are no findings, and "strict" if every
	// tool, prompt and resource has a token.
	Unannotated string `json:"unannotated,omitempty"`
	// Client is the directory of the typed client, below the package.
	Client string `json:"client,omitempty"`
}

type manifestIcon struct {
	Source   string   `json:"src"`                // an https or data URI
	MIMEType string   `json:"mimeType,omitempty"` // the media type
	Sizes    []string `json:"sizes,omitempty"`    // as in "48x48", or "any"
	Theme    string   `json:"theme,omitempty"`    // "light" or "dark"
}

type manifestTool struct {
	Name        string         `json:"name"`                  // with the prefix of the package
	Title       string         `json:"title,omitempty"`       // the name that people read
	Handler     string         `json:"handler"`               // the Go func or method
	Params      []string       `json:"params,omitempty"`      // plain ones, in the signature's order
	Description string         `json:"description,omitempty"` // the text for models
	Access      manifestAccess `json:"access"`                // the rule
	// Values are those that a //mcp:rule is about. Their rules include the rule of the tool. If a
	// value has roles of its own, the caller needs one of these and one of the tool's.
	Values []manifestValue `json:"values,omitempty"`
	Denial string          `json:"denial,omitempty"` // "conceal", "forbid" or "challenge"
	Hints  manifestHints   `json:"hints,omitzero"`   // those that are written
	// Facts are "private", "untrusted" and "egress" as far as they are stated, or "none" alone. They
	// are absent if unstated.
	Facts    []string       `json:"facts,omitempty"`
	Limits   manifestLimits `json:"limits"`             // of one call
	Catalogs []string       `json:"catalogs,omitempty"` // by name
	Input    contract       `json:"input"`              // the schema of the arguments, by property
	Output   contract       `json:"output,omitempty"`   // absent if the tool promises none
	// Guarded is the schema of a result with fields that have rules, if clients get no schema of it.
	Guarded contract `json:"guarded,omitempty"`
	// Omits are the properties that results do not contain, though the Go type has them, by
	// //mcp:param.
	Omits []string `json:"omits,omitempty"`
	// Returns is how a result without structured content is sent: "text", "json" for JSON in text,
	// "content", "result" for one that the handler makes, or a media type.
	Returns string   `json:"returns,omitempty"`
	Aliases []string `json:"aliases,omitempty"` // deprecated names, sorted
	Elicits bool     `json:"elicits,omitempty"` // the handler may ask its client for input
	// Task is "optional", "required" or "answered", if calls run as tasks.
	Task string `json:"task,omitempty"`
	// Lenient is whether the arguments are lenient; without it Options.LenientArguments decides.
	Lenient *bool          `json:"lenient,omitempty"`
	Icons   []manifestIcon `json:"icons,omitempty"` // of the tool

	Meta json.RawMessage `json:"_meta,omitempty"` // as in lists
}

type manifestPrompt struct {
	Name        string             `json:"name"`                  // with the prefix of the package
	Title       string             `json:"title,omitempty"`       // the name that people read
	Handler     string             `json:"handler"`               // the Go func or method
	Description string             `json:"description,omitempty"` // the text for people and models
	Access      manifestAccess     `json:"access"`                // the rule
	Denial      string             `json:"denial,omitempty"`      // as of a tool
	Facts       []string           `json:"facts,omitempty"`       // as of a tool
	Limits      manifestLimits     `json:"limits"`                // only timeout or nonblocking
	Arguments   []manifestArgument `json:"arguments,omitempty"`   // in the signature's order
	Elicits     bool               `json:"elicits,omitempty"`     // as of a tool
}

type manifestResource struct {
	URI         string             `json:"uri"`                   // the URI or URI template
	Name        string             `json:"name"`                  // of the resource
	Title       string             `json:"title,omitempty"`       // the name that people read
	Handler     string             `json:"handler"`               // the Go func or method
	Description string             `json:"description,omitempty"` // the text for people and models
	MIMEType    string             `json:"mimeType,omitempty"`    // the media type of the content
	Subscribe   bool               `json:"subscribe,omitempty"`   // clients can subscribe to updates
	Access      manifestAccess     `json:"access"`                // the rule
	Denial      string             `json:"denial,omitempty"`      // as of a tool
	Facts       []string           `json:"facts,omitempty"`       // as of a tool
	Limits      manifestLimits     `json:"limits"`                // only timeout or nonblocking
	Variables   []manifestArgument `json:"variables,omitempty"`   // in the order of the URI
	Elicits     bool               `json:"elicits,omitempty"`     // as of a tool
}

type manifestArgument struct {
	Name        string   `json:"name"`                  // of the argument or variable
	Title       string   `json:"title,omitempty"`       // the name that people read
	Type        string   `json:"type"`                  // "string", "integer" or "boolean"
	Required    bool     `json:"required,omitempty"`    // the caller has to send it
	Values      []string `json:"values,omitempty"`      // of an enum
	Complete    string   `json:"complete,omitempty"`    // the handler of //mcp:complete
	Description string   `json:"description,omitempty"` // what it means
}

type manifestAccess struct {
	Public        bool `json:"public,omitempty"`        // everybody, without a credential
	Authenticated bool `json:"authenticated,omitempty"` // every caller with an identity
	// MinRole are roles of which the caller needs one, or a role above one; absent for none.
	MinRole []string `json:"minRole,omitempty"`
	// Permission is "none" for action=none, and empty without action= and object=.
	Permission string `json:"permission,omitempty"`
	// Verb is the CRUD verb that the action is mapped from. Permissions with different actions and
	// objects can have the same text.
	Verb   string   `json:"verb,omitempty"`
	Action string   `json:"action,omitempty"` // of the permission, as in "change"
	Object string   `json:"object,omitempty"` // of the permission, as in "device"
	Scopes []string `json:"scopes,omitempty"` // all of them are needed
	// OrScopes are further alternatives: in place of scopes, all of one of them.
	OrScopes [][]string `json:"orScopes,omitempty"`
	Allow    []string   `json:"allow,omitempty"` // KIND={argument}[:PATTERN], sorted
	// Constrained reports that the handler honours object constraints. Only such a handler is open
	// to a constrained caller.
	Constrained bool `json:"constrained,omitempty"`
}

type manifestValue struct {
	Argument string         `json:"argument"` // of the tool
	Value    string         `json:"value"`    // of the argument
	Access   manifestAccess `json:"access"`   // the rule
}

type manifestField struct {
	// Field has the import path, the type without type arguments, and the Go field.
	Field  string         `json:"field"`
	Access manifestAccess `json:"access"` // the rule, which holds in addition to those of the tools
	Tools  []string       `json:"tools"`  // whose arguments or results have the field, by name
}

type manifestHints struct {
	ReadOnly    *bool `json:"readOnly,omitempty"`    // changes nothing
	Destructive *bool `json:"destructive,omitempty"` // may destroy what was there
	Idempotent  *bool `json:"idempotent,omitempty"`  // a second call changes nothing more
	OpenWorld   *bool `json:"openWorld,omitempty"`   // reaches beyond the service
}

// manifestLimits are in the words of the directive. Unwritten limits are left out, but for the
// timeout, and the memory of a call in a process of its own, which always has a bound.
type manifestLimits struct {
	Timeout      string   `json:"timeout,omitempty"`      // a Go duration; absent with nonblocking
	NonBlocking  bool     `json:"nonblocking,omitempty"`  // the handler only computes
	Memory       string   `json:"memory,omitempty"`       // of a call in a process of its own
	Output       string   `json:"output,omitempty"`       // of the result
	Concurrency  int      `json:"concurrency,omitempty"`  // calls of one client at a time
	Rate         string   `json:"rate,omitempty"`         // calls of one client, as in "100/m"
	Isolate      string   `json:"isolate,omitempty"`      // "process"
	Capabilities []string `json:"capabilities,omitempty"` // sorted; "none" alone for none
}

type manifestIgnored struct {
	Handler string `json:"handler"` // the Go func or method
	Reason  string `json:"reason"`  // why it is not served
}

// Manifest returns the content of mcp.manifest.json.
func Manifest(s model.Service) ([]byte, error) {
	m := manifest{
		Manifest: manifestVersion,
		Package:  s.Package,
		Server: manifestServer{Name: s.Server.Name, Title: s.Server.Title,
			Version: s.Server.Version, App: s.Server.App, Website: s.Server.Website,
			Icons: iconsOf(s.Server.Icons), Unannotated: s.Server.Unannotated,
			Client: s.Server.Client},
		Roles:     [][]string{},
		Scopes:    s.Scopes.Lines,
		Tools:     []manifestTool{},
		Prompts:   []manifestPrompt{},
		Resources: []manifestResource{},
		Ignored:   []manifestIgnored{},
	}
	if s.Roles.Own {
		m.Roles = s.Roles.Chains
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
			Access:      accessOf(prompt.Access), Denial: prompt.Denial, Facts: prompt.Facts,
			Limits: limitsOf(prompt.Limits), Arguments: argumentsOf(prompt.Arguments),
			Elicits: prompt.Elicits,
		})
	}
	for _, r := range s.Resources {
		m.Resources = append(m.Resources, manifestResource{
			URI: r.URI, Name: r.Name, Title: r.Title, Handler: r.Handler.String(),
			Description: r.Description, MIMEType: r.MIMEType, Subscribe: r.Subscribe,
			Access: accessOf(r.Access), Denial: r.Denial, Facts: r.Facts,
			Limits: limitsOf(r.Limits), Variables: argumentsOf(r.Variables),
			Elicits: r.Elicits,
		})
	}
	for _, f := range s.Fields {
		m.Fields = append(m.Fields, manifestField{f.Name, accessOf(f.Access), f.Tools})
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
		Facts:       tool.Facts,
		Limits:      limitsOf(tool.Limits),
		Catalogs:    tool.Catalogs,
		Aliases:     tool.Aliases,
		Elicits:     tool.Elicits,
		Task:        tool.Task,
		Lenient:     tool.Lenient,
		Omits:       tool.Omits,
		Icons:       iconsOf(tool.Icons),

		Meta: json.RawMessage(tool.Meta),
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
	if err == nil {
		m.Guarded, err = contractOf("", tool.Output.Guarded)
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
	m := manifestAccess{
		Public: a.Public, Authenticated: a.Authenticated, MinRole: a.MinRole,
		Permission: a.RequiredPermission(), Scopes: a.Scopes, OrScopes: a.OrScopes,
		Constrained: a.Constrained,
	}
	if a.Permission != "" {
		m.Verb, m.Action, m.Object = a.Verb, a.Action, a.Object
	}
	return m
}

func limitsOf(l model.Limits) manifestLimits {
	m := manifestLimits{
		NonBlocking: l.NonBlocking, Concurrency: l.Concurrency, Rate: l.Rate.String(),
		Isolate: l.Isolate, Capabilities: l.Capabilities,
	}
	if !l.NonBlocking {
		m.Timeout = l.Timeout.String()
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
func PlainHTML(text []byte) []byte { return []byte(htmlEscapes.Replace(string(text))) }

// htmlEscapes has the escaped backslash first, since what follows one is no escape.
var htmlEscapes = strings.NewReplacer(`\\`, `\\`, `\u003c`, "<", `\u003e`, ">", `\u0026`, "&")

// ClientOf returns the directory of the typed client that a manifest records. It is empty if the
// manifest has none, or cannot be read.
func ClientOf(text []byte) string {
	var m struct {
		Server struct{ Client string }
	}
	if json.Unmarshal(text, &m) != nil || !model.IsClientDir(m.Server.Client) {
		return ""
	}
	return m.Server.Client
}
