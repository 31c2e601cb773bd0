package directive

import (
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/generator/model"
)

// Place is a kind of declaration that a directive can stand on.
type Place int

// The places, as a doc comment's owner.
const (
	PackageDoc Place = iota
	TypeDoc
	ConstBlock
	Func            // a func or a method
	InterfaceMethod // a method in an interface type
	Elsewhere       // a var, an import, a field: no directive stands there
)

// String names the place as messages do.
func (p Place) String() string {
	return [...]string{
		"the package doc", "a type", "a const block", "a func or method", "an interface method",
		"this declaration",
	}[p]
}

// Kind is how the value of a key is written and read.
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
	Choices  // a list of Key.Choices; "none" stands alone
)

// String says in help texts what to write for a value of the kind.
func (k Kind) String() string {
	return [...]string{
		"", "[=true|false]", "=TEXT", "=LABEL", "=CHOICE", "=A,B", "=A,B", "=A,B", "=DURATION",
		"=NUMBER", "=COUNT",
		"=COUNT", "=SIZE", "=CALLS/s|m|h", "=CHOICE",
	}[k]
}

// Form is what stands between the directive's name and its keys.
type Form int

// The forms.
const (
	Keys     Form = iota // nothing: flags and key=value alone
	Named                // one bare word, then keys
	Chain                // words apart by <, or nothing at all; no keys
	Bindings             // KIND={argument}, once or several times; no keys
	Valued               // ARGUMENT=VALUES, then keys
	Bare                 // nothing at all
)

// Spec is the grammar of one directive. It drives parsing, `mcpgen explain DIRECTIVE` and the
// table of the README, so that none of them can say what the others do not.
type Spec struct {
	Name    string
	Says    string  // what the directive says, one sentence without a full stop
	Places  []Place // where it may stand
	Form    Form
	Keys    []Key
	Repeat  bool // may stand several times on one declaration
	Below   bool // stands beside //mcp:tool, //mcp:prompt or //mcp:resource only
	OfTool  bool // stands beside //mcp:tool only
	Example string
}

// Key is one flag or key of a directive.
type Key struct {
	Name    string
	Kind    Kind
	Says    string
	Choices []string // of kinds Choice and Choices
	Must    bool     // the directive is nothing without it
	OfTool  bool     // beside //mcp:tool only
	// Least and Most bound what is of kind Size.
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
	}
	return k.Name + k.Kind.String()
}

// access are the keys of an access rule, on a tool and as a default.
var access = []Key{
	{Name: "public", Kind: Flag,
		Says: "everybody, callers without identity included; stands alone"},
	{Name: "authenticated", Kind: Flag, Says: "every caller with an identity"},
	{Name: "minrole", Kind: Text,
		Says: "callers whose role is this one or higher; lowest and highest fit any hierarchy"},
	{Name: "scopes", Kind: Labels, Says: "callers whose token has all of these scopes"},
	{Name: "action", Kind: Label, Says: "the action of the host's permission " +
		"<app>.<action>_<object>, or of the bare <action> without app= and object=; " +
		"mcpgen maps CRUD verbs; none is no rule"},
	{Name: "object", Kind: Label,
		Says: "the object of the host's permission; needs app= on //mcp:server"},
}

// output is how the result of a tool is sent.
func output(says string, choices ...string) Key {
	return Key{Name: "output", Kind: Choice, Choices: choices, Says: says}
}

// lenient is whether the arguments of a tool are lenient.
func lenient(says string) Key { return Key{Name: "lenient", Kind: Hint, Says: says} }

// named and refusing are what tools, prompts and resources say besides their access rule.
var (
	named = []Key{
		{Name: "name", Kind: Text,
			Says: "the name that clients use; snake_case of the Go name where nothing is written"},
		{Name: "title", Kind: Text, Says: "the name that people read"},
		{Name: "description", Kind: Text, Says: "the text for models, in place of the doc " +
			"comment; @Name is the value of a string constant of the package"},
	}
	refusing = []Key{
		{Name: "denial", Kind: Choice, Choices: []string{"conceal", "forbid", "challenge"},
			Says: "how a refused call looks; the server's choice where nothing is written. " +
				"challenge needs scopes=, and tells a caller who lacks nothing else which scopes " +
				"would do"},
		{Name: "constrained", Kind: Flag, Says: "the handler honours object constraints"},
	}
)

var specs = []Spec{
	{
		Name: "server", Says: "names the server and sets what everything of the package shares",
		Places: []Place{PackageDoc},
		Keys: []Key{
			{Name: "name", Kind: Text,
				Says: "the server's name; the package name where nothing is written"},
			{Name: "title", Kind: Text, Says: "the name that people read"},
			{Name: "version", Kind: Text,
				Says: "the server's version; that of the build where nothing is written"},
			{Name: "website", Kind: Text, Says: "the URL of the server's website"},
			{Name: "app", Kind: Label, Says: "the app label of permission strings"},
			{Name: "prefix", Kind: Text,
				Says: "stands before the name of every tool and prompt of the package"},
			{Name: "unannotated", Kind: Choice, Choices: []string{"ignore"},
				Says: "handlers without a directive are no findings: mcpgen does not serve them " +
					"and does not list them"},
		},
		Example: `//mcp:server name=inventory version=1.4.0 app=dcim`,
	},
	{
		Name: "roles",
		Says: "declares the role hierarchy, lowest first; bare on a const block, its constants " +
			"by ascending value. Without it: Viewer < Member < Manager < Admin",
		Places: []Place{PackageDoc, ConstBlock}, Form: Chain,
		Example: `//mcp:roles Viewer < Member < Manager < Admin`,
	},
	{
		Name: "default",
		Says: "is the access rule of tools, prompts and resources that write none, for the " +
			"package or the methods of a type: authenticated, minrole= or scopes= on one of them " +
			"replace it and do not add to it; action= and object= are inherited one by one; " +
			"public inherits nothing",
		Places: []Place{PackageDoc, TypeDoc},
		Keys: slices.Concat(access, []Key{output("the output= of tools that write none, "+
			"public ones included", "none", "structured"),
			lenient("the lenient= of tools that write none, public ones included")}),
		Example: `//mcp:default minrole=Viewer object=device`,
	},
	{
		Name: "type",
		Says: "is the schema of a type that reads or writes JSON by its own methods, for " +
			"everything of the package. The name is that of the package, or its import path, " +
			"and the type's. The decoder checks a value before the type's method reads it",
		Places: []Place{PackageDoc}, Form: Named, Repeat: true,
		Keys: []Key{
			{Name: "schema", Kind: List, Must: true,
				Says: "the JSON type, then keys of the jsonschema tag; quote a value with a comma"},
		},
		Example: `//mcp:type strfmt.DateTime schema=string,format=date-time`,
	},
	{
		Name: "tool", Says: "serves the handler as a tool",
		Places: []Place{Func, InterfaceMethod},
		Keys: slices.Concat(named, access, []Key{
			{Name: "readonly", Kind: Hint, Says: "hint: changes nothing"},
			{Name: "destructive", Kind: Hint, Says: "hint: may destroy what was there"},
			{Name: "idempotent", Kind: Hint,
				Says: "hint: a second call with the same arguments changes nothing more"},
			{Name: "openworld", Kind: Hint, Says: "hint: reaches beyond the service"},
		}, refusing, []Key{
			{Name: "catalog", Kind: Catalogs,
				Says: "the catalogs that the tool is in: a client that asks for one is listed " +
					"its tools alone, as far as it may use them; being in one gives no access"},
			output("how the result is sent. structured, the default: with an output schema, and "+
				"as structured content. none: as text without an output schema; a string as it "+
				"is, and other results as JSON. text: the same for a string or a []byte only",
				"none", "structured", "text"),
			{Name: "mimetype", Kind: Text,
				Says: "the media type of a []byte with output=text, as in image/png: the server " +
					"sends an image, audio or an embedded resource"},
			{Name: "alias", Kind: List,
				Says: "deprecated names of the tool, without the prefix: they are not " +
					"listed, and " +
					"a call by one is a call of the tool"},
			{Name: "annotationtitle", Kind: Text,
				Says: "the title among the annotations, for clients that do not read title="},
			lenient(
				"arguments of other types are accepted where their meaning is clear, as \"5\" " +
					"for 5; an unknown property and a null for an absent one are left " +
					"out. Arguments " +
					"with //mcp:allow, //mcp:rule or an HTTP header stay strict"),
			{Name: "elicits", Kind: Flag,
				Says: "the handler asks the person at the client, by runtime.Elicit"},
		}),
		Example: `//mcp:tool minrole=Member action=napalm_read object=device openworld`,
	},
	{
		Name: "prompt", Says: "serves the handler as a prompt; its arguments are strings",
		Places: []Place{Func, InterfaceMethod}, Keys: slices.Concat(named, access, refusing),
		Example: `//mcp:prompt minrole=Viewer title="Write a welcome"`,
	},
	{
		Name: "resource",
		Says: "serves the handler as a resource, or as a family of them where the URI has " +
			"{variables}, which are parameters of the handler",
		Places: []Place{Func, InterfaceMethod},
		Keys: slices.Concat([]Key{
			{Name: "uri", Kind: Text, Must: true,
				Says: "the URI, or an RFC 6570 template of {name} and {+name}, the latter with " +
					"slashes"},
			{Name: "mimetype", Kind: Text,
				Says: "the media type of the content, as in text/markdown"},
		}, named, access, refusing),
		Example: `//mcp:resource uri=team://people/{id} minrole=Viewer mimetype=application/json`,
	},
	{
		Name: "complete",
		Says: "completes an argument of a prompt or a variable of a resource, for callers who " +
			"may use that; the values of enums are completed without it",
		Places: []Place{Func, InterfaceMethod},
		Keys: []Key{
			{Name: "ref", Kind: Text, Must: true,
				Says: "the prompt's name, or the resource's uri= as it is written there"},
			{Name: "argument", Kind: Text, Must: true, Says: "the argument or the variable"},
		},
		Example: `//mcp:complete ref=welcome argument=name`,
	},
	{
		Name:   "param",
		Says:   "describes and limits one plain parameter, with the keys of the jsonschema tag",
		Places: []Place{Func, InterfaceMethod}, Form: Named, Repeat: true, Below: true,
		Keys: []Key{
			{Name: "title", Kind: Text, Says: "the name that people read"},
			{Name: "description", Kind: Text, Says: "what the parameter means"},
			{Name: "default", Kind: Text,
				Says: "the value where the caller sends none; makes the parameter optional"},
			{Name: "nullable", Kind: Flag,
				Says: "null is accepted; an absent argument and null are both nil"},
			{Name: "example", Kind: List, Says: "values to show"},
			{Name: "enum", Kind: List, Says: "the only values"},
			{Name: "minimum", Kind: Number, Says: "the lowest number"},
			{Name: "maximum", Kind: Number, Says: "the highest number"},
			{Name: "exclusiveMinimum", Kind: Number, Says: "the number that all are above"},
			{Name: "exclusiveMaximum", Kind: Number, Says: "the number that all are below"},
			{Name: "multipleOf", Kind: Number, Says: "the number that all are multiples of"},
			{Name: "minLength", Kind: Count, Says: "the fewest code points of a string"},
			{Name: "maxLength", Kind: Count, Says: "the most code points of a string"},
			{Name: "pattern", Kind: Text, Says: "the regular expression that a string matches"},
			{Name: "format", Kind: Text, Says: "the format of a string, as in date-time"},
			{Name: "minItems", Kind: Count, Says: "the fewest elements of a list"},
			{Name: "maxItems", Kind: Count, Says: "the most elements of a list"},
			{Name: "uniqueItems", Kind: Flag, Says: "no element stands twice in the list"},
		},
		Example: `//mcp:param limit minimum=1 maximum=65536 default=4096`,
	},
	{
		Name: "limit", Says: "bounds one call of the handler",
		Places: []Place{Func, InterfaceMethod}, Below: true,
		Keys: []Key{
			{Name: "timeout", Kind: Duration,
				Says: "the time after which the call ends, from 1ms to 24h; 30s where nothing is " +
					"written"},
			{Name: "memory", Kind: Size, OfTool: true, Least: 4 * model.MiB, Most: 1024 * model.GiB,
				Says: "the memory of a call with isolate=process, beyond what its process began " +
					"with, from 4MiB to 1024GiB; 512MiB where nothing is written"},
			{Name: "output", Kind: Size, OfTool: true, Least: model.KiB, Most: model.GiB,
				Says: "how long the result may be, from 1KiB to 1GiB"},
			{Name: "concurrency", Kind: Calls, OfTool: true,
				Says: "how many calls of one client run at a time; one more is an error at once"},
			{Name: "rate", Kind: Rate, OfTool: true,
				Says: "how many calls of one client begin in a second, a minute or an hour; one " +
					"more is an error at once"},
			{Name: "isolate", Kind: Choice, Choices: []string{"process"}, OfTool: true,
				Says: "runs each call in a process of its own, with what is granted and nothing " +
					"else"},
			{Name: "capabilities", Kind: Choices,
				Choices: []string{"files", "network", "exec", "none"}, OfTool: true,
				Says: "what the handler's code reaches at most, or none of the three; without it " +
					"that is recorded and not judged"},
		},
		Example: `//mcp:limit timeout=10s rate=100/m`,
	},
	{
		Name: "allow",
		Says: "binds an argument to a permission on a resource, which a client has by a grant: " +
			"the call is decided on after decoding and before the handler. " +
			"KIND is file.read or file.write, whose file the handler takes from grant.File, " +
			"grant.Dir or grant.TruePath; system.command, of an argument that is a list of " +
			"strings, from grant.Command; " +
			"net.connect, from grant.Dial, grant.HTTP or grant.Connect; or a kind of one's own",
		Places: []Place{Func, InterfaceMethod}, Form: Bindings, Repeat: true, OfTool: true,
		Example: `//mcp:allow file.read={path}`,
	},
	{
		Name: "rule",
		Says: "is the access rule of some values of an argument, an enum: it adds to the rule of " +
			"the tool, so that it only narrows. A caller who may not send a value finds it " +
			"neither in the tool's schema nor by a call; a caller who may send none does not " +
			"find the tool. A value has at most one rule",
		Places: []Place{Func, InterfaceMethod}, Form: Valued, Repeat: true, OfTool: true,
		Keys: []Key{
			{Name: "authenticated", Kind: Flag, Says: "every caller with an identity"},
			{Name: "minrole", Kind: Text,
				Says: "callers whose role is this one or higher; lowest and highest fit any " +
					"hierarchy"},
			{Name: "scopes", Kind: Labels, Says: "callers whose token has all of these scopes"},
		},
		Example: `//mcp:rule action=delete,purge minrole=Admin`,
	},
	{
		Name: "worker",
		Says: "makes the receiver of methods with isolate=process, in the process of a call: a " +
			"func without parameters, or with a context, that returns it, or it and an error",
		Places: []Place{Func}, Form: Bare,
		Example: `//mcp:worker`,
	},
	{
		Name: "schema",
		Says: "gives the tool schemas by hand, for types that cannot be read statically: JSON " +
			"Schema 2020-12, in files of the module",
		Places: []Place{Func, InterfaceMethod}, OfTool: true,
		Keys: []Key{
			{Name: "input", Kind: Text,
				Says: "the file, relative to the package, of the schema of the arguments: an object"},
			{Name: "output", Kind: Text,
				Says: "the file of the schema of the result; one that is no object is sent as " +
					"{\"result\": …}"},
		},
		Example: `//mcp:schema input=schemas/query.json output=schemas/device.json`,
	},
	{
		Name: "icon", Says: "gives an icon to the tool, or in the package doc to the server",
		Places: []Place{PackageDoc, Func, InterfaceMethod}, Repeat: true, OfTool: true,
		Keys: []Key{
			{Name: "src", Kind: Text, Must: true,
				Says: "an https or data URI; @Name is the value of a string constant"},
			{Name: "mimetype", Kind: Text, Says: "the media type, as in image/png"},
			{Name: "sizes", Kind: List, Says: "the sizes, as in 48x48, or any"},
			{Name: "theme", Kind: Choice, Choices: []string{"light", "dark"},
				Says: "the background that the icon is for"},
		},
		Example: `//mcp:icon src=https://example.com/tool.png mimetype=image/png sizes=48x48`,
	},
	{
		Name: "meta", Says: "adds a member to the _meta of the tool in lists",
		Places: []Place{Func, InterfaceMethod}, Form: Named, Repeat: true, OfTool: true,
		Keys: []Key{
			{Name: "value", Kind: Text,
				Says: "a text; @Name is the value of a string constant"},
			{Name: "json", Kind: Text,
				Says: "any JSON value; @Name is the value of a string constant"},
		},
		Example: `//mcp:meta example.com/template value=ui://board.html`,
	},
	{
		Name: "ignore", Says: "says that the handler is deliberately not served, and why",
		Places: []Place{Func, InterfaceMethod},
		Keys: []Key{
			{Name: "reason", Kind: Text, Must: true, Says: "why"},
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

// Stands reports whether the directive may stand there.
func (s Spec) Stands(p Place) bool { return slices.Contains(s.Places, p) }

// key returns the key of that name.
func (s Spec) key(name string) (Key, bool) {
	i := slices.IndexFunc(s.Keys, func(k Key) bool { return k.Name == name })
	if i < 0 {
		return Key{}, false
	}
	return s.Keys[i], true
}
