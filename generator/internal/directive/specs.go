package directive

import (
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/generator/internal/model"
)

// Place is a kind of declaration that a directive can be written on.
type Place int

// The places, as a doc comment's owner.
const (
	PackageDoc Place = iota
	TypeDoc
	ConstBlock
	Func            // a func or a method
	InterfaceMethod // a method in an interface type
	StructField     // a field of a struct
	Elsewhere       // a var or an import: no directive is allowed there
)

// String is the name of the place in messages.
func (p Place) String() string {
	return [...]string{
		"the package doc", "a type", "a const block", "a func or method", "an interface method",
		"a struct field", "this declaration",
	}[p]
}

// Kind is the syntax of a key's value.
type Kind int

// The kinds of values.
const (
	Flag   Kind = iota // bare, without a value
	Hint               // bare, or =true or =false
	Text               // a word or a Go string literal
	Label              // letters, digits and underscores, not beginning with a digit
	Choice             // one of Key.Choices
	List               // words or literals apart by commas
	// a list of scopes: printable ASCII without quotes and backslashes (RFC 6749, section 3.3)
	Labels
	Catalogs // a list of names of catalogs
	Duration // a Go duration
	Number   // a JSON number
	Count    // a whole number from 0
	Calls    // a whole number from 1
	Size     // a number of KiB, MiB or GiB, from Key.Least to Key.Most
	Rate     // calls in a second, a minute or an hour
	Choices  // a list of Key.Choices; "none" excludes all others
	Mode     // bare, or one of Key.Choices
)

// String is the notation of a value of the kind in help texts.
func (k Kind) String() string {
	return [...]string{
		"", "[=true|false]", "=TEXT", "=LABEL", "=CHOICE", "=A,B", "=A,B", "=A,B", "=DURATION",
		"=NUMBER", "=COUNT",
		"=COUNT", "=SIZE", "=CALLS/s|m|h", "=CHOICE", "[=CHOICE]",
	}[k]
}

// Form is the syntax between the directive's name and its keys.
type Form int

// The forms.
const (
	Keys      Form = iota // nothing: flags and key=value alone
	Named                 // one bare word, then keys
	Chain                 // words apart by <, or nothing at all; no keys
	Bindings              // KIND={argument}[:PATTERN], once or several times; no keys
	Valued                // ARGUMENT=VALUES, then keys
	Bare                  // nothing at all
	Included              // a scope, >, and scopes apart by commas; no keys
	Qualified             // PACKAGE.TYPE.FIELD in the package doc, and nothing on a field; then keys
)

// Spec is the grammar of one directive. Parsing, `mcpgen explain DIRECTIVE` and the table in the
// documentation are all made from it, so that they agree.
type Spec struct {
	Name    string
	Purpose string  // the predicate of a sentence whose subject is the directive, no full stop
	Places  []Place // the declarations that it may be written on
	Form    Form
	Keys    []Key
	Repeat  bool // may be repeated on one declaration
	Below   bool // only beside //mcp:tool, //mcp:prompt or //mcp:resource
	OfTool  bool // only beside //mcp:tool
	Example string
}

// Key is one flag or key of a directive.
type Key struct {
	Name    string
	Kind    Kind
	Purpose string   // a noun phrase or a predicate, no full stop
	Choices []string // of kinds Choice, Choices and Mode
	Must    bool     // required
	OfTool  bool     // beside //mcp:tool only
	// Least and Most are the limits of a value of kind Size.
	Least, Most model.Size
}

// several reports whether the kind is a list.
func (k Kind) several() bool { return k == List || k == Labels || k == Catalogs || k == Choices }

// Usage is the key as a synopsis shows it.
func (k Key) Usage() string {
	switch k.Kind {
	case Choice:
		return k.Name + "=" + strings.Join(k.Choices, "|")
	case Choices:
		return k.Name + "=" + strings.Join(k.Choices, ",")
	case Mode:
		return k.Name + "[=" + strings.Join(k.Choices, "|") + "]"
	}
	return k.Name + k.Kind.String()
}

// access are the keys of an access rule, on a tool and as a default.
var access = []Key{
	{Name: "public", Kind: Flag,
		Purpose: "every caller, also one without an identity; excludes the other rules"},
	{Name: "authenticated", Kind: Flag, Purpose: "every caller with an identity"},
	{Name: "minrole", Kind: List,
		Purpose: "callers with one of these roles or a role above it; lowest and highest fit any " +
			"hierarchy"},
	{Name: "scopes", Kind: Labels, Purpose: "callers whose token has all of these scopes"},
	{Name: "anyscope", Kind: Labels, Purpose: "callers whose token has one of these scopes"},
	{Name: "action", Kind: Label, Purpose: "the action of the host's permission " +
		"<app>.<action>_<object>, or the whole permission without app= and object=; mcpgen " +
		"maps CRUD verbs; none means no rule"},
	{Name: "object", Kind: Label,
		Purpose: "the object of the host's permission; requires app= on //mcp:server"},
}

// output is the key that sets the encoding of a tool's result.
func output(purpose string, choices ...string) Key {
	return Key{Name: "output", Kind: Choice, Choices: choices, Purpose: purpose}
}

// elicits is the key of handlers that may ask their client.
var elicits = Key{Name: "elicits", Kind: Flag,
	Purpose: "the handler may ask the client for input, by runtime.Elicit, runtime.Sample or " +
		"runtime.Roots: a form, a message of the model, or its folders"}

// facts is the key of the facts for the blast radius of agents.
var facts = Key{Name: "facts", Kind: Choices, Choices: []string{model.Private, model.Untrusted,
	model.Egress, "none"},
	Purpose: "for mcpgen radius. private: it returns data that outsiders must not see. " +
		"untrusted: it " +
		"returns text that outsiders wrote. egress: it can send data out. Without this key, all three " +
		"count; openworld=false removes egress"}

// lenient is the key that makes the arguments of a tool lenient.
func lenient(purpose string) Key { return Key{Name: "lenient", Kind: Hint, Purpose: purpose} }

// named and refusing are the keys that tools, prompts and resources have besides their access rule.
var (
	named = []Key{
		{Name: "name", Kind: Text,
			Purpose: "the name that clients use; default: snake_case of the Go name"},
		{Name: "title", Kind: Text, Purpose: "the display name"},
		{Name: "description", Kind: Text, Purpose: "the text for models, instead of the doc " +
			"comment; @Name is the value of a string constant of the package"},
	}
	refusing = []Key{
		{Name: "denial", Kind: Choice, Choices: []string{"conceal", "forbid", "challenge"},
			Purpose: "the response to a refused call; default: the server's setting. challenge " +
				"requires scopes= or anyscope=; a caller who lacks only scopes gets their names"},
		{Name: "constrained", Kind: Flag, Purpose: "the handler applies the host's object constraints"},
	}
)

var specs = []Spec{
	{
		Name: "server", Purpose: "names the server and sets defaults for the package",
		Places: []Place{PackageDoc},
		Keys: []Key{
			{Name: "name", Kind: Text,
				Purpose: "the server's name; default: the package name"},
			{Name: "title", Kind: Text, Purpose: "the display name"},
			{Name: "version", Kind: Text,
				Purpose: "the server's version; default: the version of the build"},
			{Name: "website", Kind: Text, Purpose: "the URL of the server's website"},
			{Name: "app", Kind: Label, Purpose: "the app label of the host's permissions"},
			{Name: "prefix", Kind: Text,
				Purpose: "a prefix for the name of every tool and prompt of the package"},
			{Name: "unannotated", Kind: Choice, Choices: []string{"error", "ignore", "strict"},
				Purpose: "handlers without a directive. error, the default: mcpgen reports them. " +
					"ignore: it does not report them; it does not serve them either. strict: as error, " +
					"and every tool, prompt and resource has a token: a last parameter of the type " +
					"<Handler>Annotated, which mcpgen declares"},
			{Name: "optional", Kind: Choice, Choices: []string{"null"},
				Purpose: "optional arguments may be null, which means the same as an absent " +
					"argument; strict modes of model providers need this. Arguments with " +
					"//mcp:rule may not be null"},
			{Name: "required", Kind: Choice, Choices: []string{"tags"},
				Purpose: "a field of a struct is required only if its jsonschema tag has required, as with " +
					"RequiredFromJSONSchemaTags of invopop's Reflector. Default: without omitempty, omitzero " +
					"and a default"},
			{Name: "client", Kind: Text,
				Purpose: "the directory below the package for a generated typed client of its tools, " +
					"as client=client; default: none"},
		},
		Example: `//mcp:server name=inventory version=1.4.0 app=dcim`,
	},
	{
		Name: "roles",
		Purpose: "declares the role hierarchy. Each line is a chain, lowest first. Several are " +
			"a partial " +
			"order together, and the first is the main chain: lowest and highest are its ends. On a " +
			"const block, without roles: the constants by ascending value are the main chain. " +
			"Default: Viewer < Member < Manager < Admin",
		Places: []Place{PackageDoc, ConstBlock}, Form: Chain, Repeat: true,
		Example: `//mcp:roles Viewer < Member < Manager < Admin`,
	},
	{
		Name: "scopes",
		Purpose: "declares that a token with the scope before > has the scopes behind it too. " +
			"Each scope " +
			"has one line. Rules of the package are compiled with all alternatives, of which a rule has " +
			"at most 16",
		Places: []Place{PackageDoc}, Form: Included, Repeat: true,
		Example: `//mcp:scopes repo > public_repo, repo:status`,
	},
	{
		Name: "default",
		Purpose: "sets the default access rule for the package or the methods of a type. " +
			"authenticated, minrole=, scopes= or anyscope= on a handler replace the default rule. action= " +
			"and object= are inherited separately. public inherits nothing",
		Places: []Place{PackageDoc, TypeDoc},
		Keys: slices.Concat(access, []Key{output("the default for output=, public tools "+
			"included", "none", "structured"),
			lenient("the default for lenient=, public tools included"), facts}),
		Example: `//mcp:default minrole=Viewer object=device`,
	},
	{
		Name: "type",
		Purpose: "sets the schema of a type that has JSON methods of its own, for the whole " +
			"package. The name is the package name or import path, a dot and the type name. The " +
			"decoder checks a value before the type's method reads it. schema=integer,enum makes the " +
			"constants of an integer type its only values. schema=string on a string type with " +
			"constants takes any string",
		Places: []Place{PackageDoc}, Form: Named, Repeat: true,
		Keys: []Key{
			{Name: "schema", Kind: List, Must: true,
				Purpose: "the JSON type, then keys of the jsonschema tag, or integer,enum; quote a value " +
					"with a comma"},
		},
		Example: `//mcp:type strfmt.DateTime schema=string,format=date-time`,
	},
	{
		Name: "tool", Purpose: "serves the handler as a tool",
		Places: []Place{Func, InterfaceMethod},
		Keys: slices.Concat(named, access, []Key{
			{Name: "readonly", Kind: Hint, Purpose: "hint: changes nothing"},
			{Name: "destructive", Kind: Hint, Purpose: "hint: may destroy data"},
			{Name: "idempotent", Kind: Hint,
				Purpose: "hint: a second call with the same arguments has no further effect"},
			{Name: "openworld", Kind: Hint, Purpose: "hint: interacts with systems outside the service"},
			facts,
		}, refusing, []Key{
			{Name: "catalog", Kind: Catalogs,
				Purpose: "the catalogs of the tool. A client can request the list of one catalog; " +
					"the list contains the tools that the caller may use. A catalog gives no access"},
			output("the encoding of the result. structured, the default: structured content, with an "+
				"output schema. none: text without an output schema, JSON for results other "+
				"than a string. text: as none, but for a string or a []byte only",
				"none", "structured", "text"),
			{Name: "mimetype", Kind: Text,
				Purpose: "the media type of a []byte with output=text, for example image/png: the " +
					"server sends an image, audio or an embedded resource"},
			{Name: "alias", Kind: List,
				Purpose: "deprecated names of the tool, without the prefix; clients can call them, " +
					"but lists omit them"},
			{Name: "ui", Kind: Text,
				Purpose: "the ui:// URI of the MCP App that shows the result: a //mcp:resource of the " +
					"package, which gets the rule of the tool if it has none of its own"},
			lenient(
				"the decoder converts arguments of a wrong type if the meaning is clear, for " +
					"example \"5\" to 5, and ignores unknown properties and null for an " +
					"optional one. Arguments with //mcp:allow, //mcp:rule or an HTTP header " +
					"stay strict"),
			elicits,
			{Name: "task", Kind: Mode, Choices: []string{"required", "answered"},
				Purpose: "a client that supports tasks gets the id of a task at once, and reads " +
					"the result later; others wait for the result. required: other clients " +
					"cannot call the tool. answered: the call becomes a task once the user has " +
					"answered the first question"},
		}),
		Example: `//mcp:tool minrole=Member action=napalm_read object=device openworld`,
	},
	{
		Name: "prompt", Purpose: "serves the handler as a prompt; its arguments are strings",
		Places:  []Place{Func, InterfaceMethod},
		Keys:    slices.Concat(named, access, refusing, []Key{facts, elicits}),
		Example: `//mcp:prompt minrole=Viewer title="Write a welcome"`,
	},
	{
		Name: "resource",
		Purpose: "serves the handler as a resource, or as a resource template if the URI has " +
			"{variables}, which are parameters of the handler",
		Places: []Place{Func, InterfaceMethod},
		Keys: slices.Concat([]Key{
			{Name: "uri", Kind: Text, Must: true,
				Purpose: "the URI, or an RFC 6570 template with {name} and {+name}; {+name} matches " +
					"slashes"},
			{Name: "mimetype", Kind: Text,
				Purpose: "the media type of the content, for example text/markdown"},
			{Name: "subscribe", Kind: Flag, Purpose: "clients can subscribe to updates of the " +
				"resource, which the program reports with Server.ResourceUpdated"},
		}, named, access, refusing, []Key{facts, elicits}),
		Example: `//mcp:resource uri=team://people/{id} minrole=Viewer mimetype=application/json`,
	},
	{
		Name: "complete",
		Purpose: "completes an argument of a prompt or a variable of a resource, for callers who " +
			"may use the prompt or resource. mcpgen completes enums without it",
		Places: []Place{Func, InterfaceMethod},
		Keys: []Key{
			{Name: "ref", Kind: Text, Must: true,
				Purpose: "the prompt's name, or the resource's uri= unchanged"},
			{Name: "argument", Kind: Text, Must: true, Purpose: "the argument or the variable"},
		},
		Example: `//mcp:complete ref=welcome argument=name`,
	},
	{
		Name: "param",
		Purpose: "describes and limits one plain parameter, with keys of the jsonschema tag. " +
			"optional, omit and header= also apply to a field of a struct of another module, in the " +
			"arguments and in the result, by the names of its properties: filter.page_size",
		Places: []Place{Func, InterfaceMethod}, Form: Named, Repeat: true, Below: true,
		Keys: []Key{
			{Name: "title", Kind: Text, Purpose: "the display name"},
			{Name: "description", Kind: Text, Purpose: "what the parameter means"},
			{Name: "default", Kind: Text,
				Purpose: "the value if the caller sends none; makes the parameter optional"},
			{Name: "nullable", Kind: Flag,
				Purpose: "null is allowed; null and an absent argument both decode to nil"},
			{Name: "enum", Kind: List, Purpose: "the allowed values"},
			{Name: "anyof_type", Kind: List, Purpose: "the JSON types of any, or of its elements"},
			{Name: "minimum", Kind: Number, Purpose: "the smallest value"},
			{Name: "maximum", Kind: Number, Purpose: "the largest value"},
			{Name: "minLength", Kind: Count, Purpose: "the smallest number of code points in a string"},
			{Name: "maxLength", Kind: Count, Purpose: "the largest number of code points in a string"},
			{Name: "pattern", Kind: Text, Purpose: "the regular expression that a string must match"},
			{Name: "format", Kind: Text, Purpose: "the format of a string, for example date-time"},
			{Name: "minItems", Kind: Count, Purpose: "the smallest number of elements in a list"},
			{Name: "maxItems", Kind: Count, Purpose: "the largest number of elements in a list"},
			{Name: "optional", Kind: Flag, OfTool: true,
				Purpose: "the argument may be absent, which means the zero value"},
			{Name: "omit", Kind: Flag, OfTool: true, Purpose: "clients do not see the field: it is no " +
				"argument, and results do not contain it"},
			{Name: "header", Kind: Text, OfTool: true,
				Purpose: "clients repeat the argument in this HTTP header, for proxies; the name begins " +
					"with Mcp-Param-"},
		},
		Example: `//mcp:param limit minimum=1 maximum=65536 default=4096`,
	},
	{
		Name: "limit", Purpose: "limits calls of the handler",
		Places: []Place{Func, InterfaceMethod}, Below: true,
		Keys: []Key{
			{Name: "timeout", Kind: Duration,
				Purpose: "the time after which a call ends, from 1ms to 24h; default: 30s"},
			{Name: "nonblocking", Kind: Flag,
				Purpose: "promises that the handler only computes, for a few milliseconds at most. Its " +
					"calls are cheaper: they have no second goroutine and no time limit. Not allowed " +
					"beside timeout=, isolate=, task, elicits, //mcp:allow or go-sdk's shape"},
			{Name: "memory", Kind: Size, OfTool: true, Least: 4 * model.MiB, Most: 1024 * model.GiB,
				Purpose: "the memory of a call with isolate=process, on top of the memory of the " +
					"started process, from 4MiB to 1024GiB; default: 512MiB"},
			{Name: "output", Kind: Size, OfTool: true, Least: model.KiB, Most: model.GiB,
				Purpose: "the largest size of the result, from 1KiB to 1GiB"},
			{Name: "concurrency", Kind: Calls, OfTool: true,
				Purpose: "the largest number of calls that one client runs at a time; further calls fail"},
			{Name: "rate", Kind: Rate, OfTool: true,
				Purpose: "the largest number of calls that one client starts in a second, a minute " +
					"or an hour; further calls fail"},
			{Name: "isolate", Kind: Choice, Choices: []string{"process"}, OfTool: true,
				Purpose: "runs each call in a process of its own, with access to the granted " +
					"resources only"},
			{Name: "capabilities", Kind: Choices,
				Choices: []string{"files", "network", "exec", "none"}, OfTool: true,
				Purpose: "the code capabilities that the handler may have, or none; mcpgen prove " +
					"checks them. Without this key, mcpgen prove records them only"},
		},
		Example: `//mcp:limit timeout=10s rate=100/m`,
	},
	{
		Name: "allow",
		Purpose: "allows a call only if the client has a grant for the resource that the argument " +
			"names. The server checks this after decoding and before the handler. KIND is " +
			"file.read or file.write (the handler calls grant.File, grant.Dir or " +
			"grant.TruePath), system.command (a list of strings; grant.Command), net.connect " +
			"(grant.Dial, grant.HTTP or grant.Connect), or a kind of your own. PATTERN is the " +
			"pattern of a grant that bounds all clients: the opened file, the command or the host " +
			"must match it, too. For files, *.txt is **/*.txt. Quote {ARGUMENT}:PATTERN if it has " +
			"a space or a comma",
		Places: []Place{Func, InterfaceMethod}, Form: Bindings, Repeat: true, OfTool: true,
		Example: `//mcp:allow file.read={path}`,
	},
	{
		Name: "rule",
		Purpose: "restricts some values of an enum argument, in addition to the tool's access rule. " +
			"For a caller who may not send a value, schema and calls behave as if the value did " +
			"not exist. If the caller may send none of the values, the tool is hidden too. A " +
			"value has at most one rule",
		Places: []Place{Func, InterfaceMethod}, Form: Valued, Repeat: true, OfTool: true,
		Keys: []Key{
			{Name: "authenticated", Kind: Flag, Purpose: "every caller with an identity"},
			{Name: "minrole", Kind: List,
				Purpose: "callers with one of these roles or a role above it, beside the roles of the " +
					"tool's rule; lowest and highest fit any hierarchy"},
			{Name: "scopes", Kind: Labels, Purpose: "callers whose token has all of these scopes"},
			{Name: "anyscope", Kind: Labels, Purpose: "callers whose token has one of these scopes"},
		},
		Example: `//mcp:rule action=delete,purge minrole=Admin`,
	},
	{
		Name: "field",
		Purpose: "restricts a struct field, in addition to the access rule of each tool whose " +
			"arguments or results have its type. For a caller without the rule the field does not " +
			"exist: schemas and results lack it, and in arguments it is an unknown property. " +
			"An argument is a pointer with omitempty, or a toolset.Optional with omitzero, so that an " +
			"absent field stays unchanged. In the package doc, the name of a field of another module " +
			"comes first: the package name or import path, the type and the field, separated by dots",
		Places: []Place{StructField, PackageDoc}, Form: Qualified, Repeat: true,
		Keys: append(slices.Clone(access[1:5]),
			Key{Name: "action", Kind: Label, Purpose: "the action of the host's permission " +
				"<app>.<action>_<object>, or the whole permission without app= and object=; mcpgen " +
				"maps CRUD verbs"}, access[6]),
		Example: `//mcp:field minrole=Manager`,
	},
	{
		Name: "worker",
		Purpose: "creates the receiver of methods with isolate=process, in the process of the call. " +
			"The func has no parameter or a context.Context, and returns the receiver, or the " +
			"receiver and an error",
		Places: []Place{Func}, Form: Bare,
		Example: `//mcp:worker`,
	},
	{
		Name: "schema",
		Purpose: "sets the tool's schemas by hand, for types that mcpgen cannot read: JSON Schema " +
			"2020-12, in files of the module",
		Places: []Place{Func, InterfaceMethod}, OfTool: true,
		Keys: []Key{
			{Name: "input", Kind: Text,
				Purpose: "the file with the schema of the arguments, an object; relative to the package"},
			{Name: "output", Kind: Text,
				Purpose: "the file with the schema of the result, of any JSON type"},
		},
		Example: `//mcp:schema input=schemas/query.json output=schemas/device.json`,
	},
	{
		Name: "meta",
		Purpose: "adds a member to the _meta of the tool in lists. The member icon is an icon " +
			"instead: of the tool, or in the package doc of the server",
		Places: []Place{PackageDoc, Func, InterfaceMethod}, Form: Named, Repeat: true, OfTool: true,
		Keys: []Key{
			{Name: "value", Kind: Text, Purpose: "a string, and for an icon its https or data URI; " +
				"@Name is the value of a string constant"},
			{Name: "json", Kind: Text, Purpose: "any JSON value, and for an icon an object with src, " +
				"mimeType, sizes and theme as in MCP; @Name is the value of a string constant, also " +
				"as src"},
		},
		Example: `//mcp:meta example.com/template value=ui://board.html`,
	},
	{
		Name: "ignore", Purpose: "excludes the handler: mcpgen does not serve it",
		Places: []Place{Func, InterfaceMethod},
		Keys: []Key{
			{Name: "reason", Kind: Text, Must: true, Purpose: "the reason, for readers of the code"},
		},
		Example: `//mcp:ignore reason="called by the scheduler only"`,
	},
}

// Specs returns the directives, in the order of the documentation.
// The result shares its parts with the table: read it only.
func Specs() []Spec { return slices.Clone(specs) }

// Lookup returns the spec of a directive's name.
func Lookup(name string) (Spec, bool) {
	i := slices.IndexFunc(specs, func(s Spec) bool { return s.Name == name })
	if i < 0 {
		return Spec{}, false
	}
	return specs[i], true
}

// AllowedOn reports whether the directive may be written on such a declaration.
func (s Spec) AllowedOn(p Place) bool { return slices.Contains(s.Places, p) }

// key returns the key of that name.
func (s Spec) key(name string) (Key, bool) {
	i := slices.IndexFunc(s.Keys, func(k Key) bool { return k.Name == name })
	if i < 0 {
		return Key{}, false
	}
	return s.Keys[i], true
}
