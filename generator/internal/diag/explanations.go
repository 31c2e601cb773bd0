package diag

// explanations is the registry behind `mcpgen explain`.
var explanations = map[Code]Explanation{
	MissingDirective: {
		Title: "handler without directive",
		Cause: "In a package with //mcp: directives, every exported handler needs one, so that no " +
			"handler is served or left out by accident. A handler is a func whose first parameter is " +
			"context.Context and whose last result is error, or such a method of a type that has a " +
			"tool. Methods promoted from an embedded type of the package count too. A func with a " +
			"parameter that JSON cannot fill, such as a client, an interface, a func or a channel, is " +
			"not a handler.",
		Example: `//mcp:tool minrole=Viewer
func Find(ctx context.Context, in FindInput) (Device, error)

func Purge(ctx context.Context) error`,
		Cure: "Serve it with //mcp:tool and an access rule, or exclude it with //mcp:ignore " +
			"reason=\"…\". Write the directive where the method is declared, or declare a method of " +
			"that name on the type itself. If a package has many handlers that are not tools, write " +
			"unannotated=ignore on its //mcp:server. mcpgen then reports none of them.",
	},
	NoAccessRule: {
		Title: "tool without access rule",
		Cause: "Every tool declares who may use it: public, authenticated, minrole=, scopes=, " +
			"anyscope=, " +
			"action= or object=. The rule is on the tool itself, or in a //mcp:default on its type or " +
			"package. action=none alone is not a rule.",
		Example: `//mcp:tool
func Find(ctx context.Context, in FindInput) (Device, error)`,
		Cure: "Write the rule, for example //mcp:tool minrole=Viewer, or a //mcp:default on the package.",
	},
	UnknownDirective: {
		Title: "unknown directive",
		Cause: "The word after //mcp: is not a directive of mcpgen. mcpgen never skips an unknown " +
			"directive, because it may be a misspelled access rule.",
		Example: `//mcp:tol minrole=Viewer
func Find(ctx context.Context, in FindInput) (Device, error)`,
		Cure: "Write a directive that `mcpgen explain` lists. `mcpgen explain tool` shows a directive " +
			"with its keys.",
	},
	UnknownKey: {
		Title: "unknown key or flag",
		Cause: "The directive has no such key. mcpgen never skips an unknown key, because it may be a " +
			"misspelled access rule.",
		Example: `//mcp:tool minrol=Viewer
func Find(ctx context.Context, in FindInput) (Device, error)`,
		Cure: "Write one of the directive's keys; `mcpgen explain tool` lists those of //mcp:tool.",
	},
	Duplicate: {
		Title: "written twice",
		Cause: "A directive, a key or a list element is written twice, but only one of the two can " +
			"apply.",
		Example: `//mcp:tool minrole=Viewer minrole=Admin
func Find(ctx context.Context, in FindInput) (Device, error)`,
		Cure: "Remove all but one.",
	},
	Misplaced: {
		Title: "misplaced directive",
		Cause: "The directive does not apply to this declaration. Examples: //mcp:tool on a type, " +
			"//mcp:server on a func, //mcp:limit on a func without //mcp:tool, or any directive in a " +
			"test file.",
		Example: `//mcp:tool minrole=Viewer
type Service struct{}`,
		Cure: "Move it to a place that `mcpgen explain DIRECTIVE` names. //mcp:server belongs in the " +
			"comment directly above the package clause.",
	},
	Malformed: {
		Title: "malformed directive",
		Cause: "mcpgen cannot parse the directive. A quote is not closed, a value is missing, the " +
			"arguments contain a trailing // note or an invisible space, or no space follows the name.",
		Example: `//mcp:tool minrole=Viewer // read only
func Find(ctx context.Context, in FindInput) (Device, error)`,
		Cure: "Write the name, then flags and key=value pairs, separated by spaces. Values with spaces " +
			"are Go string literals: title=\"Find a device\".",
	},
	BadValue: {
		Title: "malformed value",
		Cause: "The key does not accept this value. Examples: a malformed duration, a word that is not " +
			"one of the choices, or a label with characters other than letters, digits and underscores.",
		Example: `//mcp:tool minrole=Viewer
//mcp:limit timeout=fast
func Find(ctx context.Context, in FindInput) (Device, error)`,
		Cure: "Write a value of the kind that `mcpgen explain DIRECTIVE` shows for the key.",
	},
	UnknownRole: {
		Title: "unknown role",
		Cause: "minrole= names a role that the hierarchy does not have. Names match exactly, case " +
			"included, so that a misspelled role cannot widen access.",
		Example: `//mcp:tool minrole=Manger
func Find(ctx context.Context, in FindInput) (Device, error)`,
		Cure: "Write roles of //mcp:roles, or lowest or highest. Without //mcp:roles, the roles are " +
			"Viewer, Member, Manager and Admin. minrole=FILL_IN stands for a rule that you choose: " +
			"replace it by public, authenticated, scopes=, action=, or minrole= with a role.",
	},
	NearMiss: {
		Title: "comment that resembles a directive",
		Cause: "A directive is a line comment in lower case that begins with //mcp: and the name. In " +
			"any other form it is plain text, and mcpgen would not enforce its rule. mcpgen reports a " +
			"line if at most 2 edits turn its first letters into mcp and a directive's name. An edit " +
			"inserts, removes or replaces a letter, or swaps two neighbours. At most 1 edit is in mcp, " +
			"and at most 1 for each 3 letters of the name. Separators, markers, upper case and " +
			"invisible characters do not count, and letters that look alike are equal. Prose such as " +
			"\"MCP server\" is not reported. The page about directives has the full rule.",
		Example: `// mcp:tool minrole=Viewer
//mcp.limit timeout=1s
func Find(ctx context.Context, in FindInput) (Device, error)`,
		Cure: "Write //mcp:name as the message suggests, or reword the comment. To comment a directive " +
			"out, write // //mcp:name.",
	},
	Dangling: {
		Title: "directive without a declaration",
		Cause: "The directive is not part of a declaration's doc comment. An empty line separates it " +
			"from the declaration, or it is inside a body or behind code.",
		Example: `//mcp:tool minrole=Viewer

func Find(ctx context.Context, in FindInput) (Device, error)`,
		Cure: "Move it into the doc comment, directly above the declaration. //mcp:server belongs " +
			"directly above the package clause, and so do //mcp:default and //mcp:roles of a package. " +
			"//mcp:field belongs on a line of its own above the field of a struct. Declare a type with a " +
			"directive at package level, not within a func.",
	},
	BadToolName: {
		Title: "invalid tool name",
		Cause: "An MCP tool name has 1 to 128 characters: ASCII letters, digits, underscores, hyphens " +
			"and dots.",
		Example: `//mcp:tool minrole=Viewer name="find device"
func Find(ctx context.Context, in FindInput) (Device, error)`,
		Cure: "Write another name=, or another prefix= on //mcp:server.",
	},
	DuplicateTool: {
		Title: "tool name used twice",
		Cause: "Two tools of one server have the same name, so clients could call only one of them. " +
			"Packages whose //mcp:server has the same name= form one server.",
		Example: `//mcp:tool minrole=Viewer
func (s *Sites) Get(ctx context.Context) (Site, error)

//mcp:tool minrole=Viewer
func (s *Devices) Get(ctx context.Context) (Device, error)`,
		Cure: "Write name= on one of them, for example name=sites_get. For two packages, write prefix= " +
			"on the //mcp:server of one of them. If the two are variants of one tool, for example " +
			"read-only and read-write, write one handler with the verb as an argument, and //mcp:rule on " +
			"the values that some callers may not send.",
	},
	BadShape: {
		Title: "unsupported handler shape",
		Cause: "A tool takes context.Context first and returns error last, with at most one result " +
			"before it. Its parameters are one struct, plain values, or those of go-sdk: " +
			"(*mcp.CallToolRequest, In) with results (*mcp.CallToolResult, Out, error). The result is a " +
			"value, go-sdk content or a *mcp.CallToolResult; with output=text, a string or a []byte. " +
			"Types of other MCP SDKs are not supported.",
		Example: `//mcp:tool minrole=Viewer
func Find(in FindInput) (Device, error)`,
		Cure: "Change the func to one of these shapes, or annotate a small func that calls it. A " +
			"handler that builds its whole result is func(ctx context.Context, in In) " +
			"(*mcp.CallToolResult, error), with go-sdk's mcp; plain parameters can replace in. In " +
			"go-sdk's shape, the input of a tool without arguments is _ struct{}.",
	},
	UnsupportedType: {
		Title: "type without a JSON Schema",
		Cause: "A part of the input or result has no static schema. Examples: funcs, channels, complex " +
			"numbers, maps whose keys JSON cannot represent, and types that decode themselves. A type " +
			"that gets its decoding method from an embedded pointer is not supported either, because " +
			"that pointer is nil. Nor is a type that must contain itself, because no finite document " +
			"fits it. mcpgen reports an unsupported named type once, with the number of places that use " +
			"it. The position is its declaration, or the first use if another module declares the type.",
		Example: `type FindInput struct {
	Match func(Device) bool
}`,
		Cure: "Change the part that the path names; the tag json:\"-\" hides a field from JSON. If a " +
			"type of another module has its own JSON methods, give it a schema with //mcp:type in the " +
			"package doc. If the type has to stay, write the schema by hand and name it with " +
			"//mcp:schema input=FILE or output=FILE below //mcp:tool. A result with output=none needs " +
			"no schema.",
	},
	BadTag: {
		Title: "bad schema tag or pattern",
		Cause: "A key of a jsonschema tag or of //mcp:param is unknown, has a value that does not fit " +
			"the type, or contradicts another key. A tag without a key is a description; mcpgen reports " +
			"it if it resembles a key. mcpgen also reports a struct tag that Go does not parse to its " +
			"end, because Go would ignore the limits after the mistake. A number in a schema beyond " +
			"±(2^53-1) is an error too: JavaScript clients round it, and some model providers then " +
			"reject the whole list of tools. So is a pattern that JavaScript refuses with the flag u, " +
			"or reads differently, also in a file that //mcp:schema names.",
		Example: `type FindInput struct {
	Limit int ` + "`" + `jsonschema:"minimum=10,maximum=1"` + "`" + `
}`,
		Cure: "Fix the tag of the field that the path names, or the //mcp:param of the parameter.",
	},
	UnequalHierarchies: {
		Title: "different roles or scopes",
		Cause: "Packages whose //mcp:server has the same name= form one server, and a server has one " +
			"hierarchy. Otherwise a role would mean more in one package than in another. The packages " +
			"need the same roles, the same order and the same main chain, in whatever lines.\n\n" +
			"Packages with //mcp:scopes about one scope need the same lines about it, and about the " +
			"scopes that it includes. A package without a line about a scope fits: its rules are as " +
			"they are written.",
		Example: `//mcp:server name=inventory
//mcp:roles Guest < Owner
package devices

//mcp:server name=inventory
//mcp:roles Guest < Clerk < Owner
package sites`,
		Cure: "Write the same //mcp:roles and //mcp:scopes in each, or give the packages different " +
			"server names.",
	},
	NoVerb: {
		Title: "object without action",
		Cause: "A permission needs an action. mcpgen derives it if the handler's name begins with " +
			"list, retrieve, get, create, add, update, partial_update, set, delete, remove or destroy. " +
			"This name begins with none of these.",
		Example: `//mcp:tool minrole=Member object=device
func Reboot(ctx context.Context, in RebootInput) error`,
		Cure: "Write action=, for example action=reboot, or action=none to exclude the tool from the " +
			"permission.",
	},
	NotBuilt: {
		Title: "not supported yet",
		Cause: "This version does not support the directive, key or value here: prompts and resources " +
			"support only the limits timeout= and nonblocking. mcpgen reports it because it would not " +
			"enforce the limit or rule.",
		Example: `//mcp:prompt minrole=Viewer
//mcp:limit rate=10/s
func Welcome(ctx context.Context) (string, error)`,
		Cure: "Remove it, or serve the handler as a tool.",
	},
	Contradiction: {
		Title: "contradicting rules",
		Cause: "Two declarations contradict each other. The cases are:\n\n" +
			"- public beside any other rule; readonly beside destructive; //mcp:tool beside //mcp:ignore" +
			"\n" +
			"- denial=challenge without scopes; constrained without a permission; action=none beside " +
			"object=\n" +
			"- //mcp:allow on a public tool: a grant belongs to a client, and a public tool has callers " +
			"without a client\n" +
			"- file.write on a readonly tool; memory= without isolate=process; facts= with egress beside " +
			"openworld=false\n" +
			"- nonblocking beside timeout=, isolate=, task, elicits, //mcp:allow or go-sdk's shape\n" +
			"- a permission for a code capability that capabilities= excludes\n" +
			"- output= beside a result that is content or has a schema by hand; mimetype= without a " +
			"[]byte and output=text\n" +
			"- a role of minrole= that has the rights of another one in the list; a //mcp:rule, or a key " +
			"of it, that adds nothing to the rule of the tool\n" +
			"- authenticated beside minrole=, scopes= or anyscope=, which callers without an identity " +
			"cannot satisfy\n" +
			"- a scope that each token with the rest of scopes= has; a scope of anyscope= that admits no " +
			"further token; anyscope= that needs nothing beyond scopes=\n\n" +
			"One of the two may be inherited from //mcp:default.",
		Example: `//mcp:tool public minrole=Admin
func Find(ctx context.Context, in FindInput) (Device, error)`,
		Cure: "Remove one of the two.",
	},
	Generic: {
		Title: "generic handler",
		Cause: "A generic func or a method of a generic type has many instances, and the declaration " +
			"does not determine which instance handles the call.",
		Example: `//mcp:tool minrole=Viewer
func (r *Repo[T]) Get(ctx context.Context, in GetInput) (T, error)`,
		Cure: "Annotate the method in an interface that the instance satisfies, and pass the instance " +
			"to Toolset.",
	},
	BuildConstraint: {
		Title: "tool under a build constraint",
		Cause: "The tool, or a type of its schema, is in a file that uses cgo, or that has a build " +
			"constraint or an operating system in its file name. The generated files are the same for " +
			"every system, so the declarations that they use must exist in every build.",
		Example: `//go:build linux

package devices

//mcp:tool minrole=Viewer
func Find(ctx context.Context, in FindInput) (Device, error)`,
		Cure: "Annotate a plain handler in a file without a constraint, and call the constrained code " +
			"from it.",
	},
	NameTaken: {
		Title: "generated name is taken",
		Cause: "The package already declares a name that the generated file needs: Toolset, or the " +
			"constant of a tool name. An import may be the declaration. A dot import declares all " +
			"exported names of its package, and each package with directives has Toolset.",
		Example: `const ToolFind = "x"

//mcp:tool minrole=Viewer
func Find(ctx context.Context, in FindInput) (Device, error)`,
		Cure: "Rename the declaration or the handler. Write an import without a dot, or under another " +
			"name.",
	},
	Redeclared: {
		Title: "predeclared name redeclared",
		Cause: "The package declares a name that Go predeclares (string, error, true, …). In the same " +
			"package, generated code would use the package's declaration.",
		Example: `type string struct{}`,
		Cure:    "Rename the declaration.",
	},
	DoesNotCheck: {
		Title: "declaration does not type-check",
		Cause: "A declaration does not compile, in a package with directives or in one that it " +
			"imports. An example is a constraint interface as the type of a parameter, a result or a " +
			"field. mcpgen does not check function bodies.",
		Example: `//mcp:tool minrole=Viewer
func Find(ctx context.Context, in NoSuchType) (Device, error)`,
		Cure: "Fix the error; `go build` reports it too.",
	},
	DoesNotParse: {
		Title:   "source cannot be parsed",
		Cause:   "The file has a Go syntax error, so mcpgen cannot reliably find its directives.",
		Example: `func Find(ctx context.Context`,
		Cure:    "Fix the syntax error.",
	},
	NotOurs: {
		Title: "existing file in the way",
		Cause: "A file has the name of a file that mcpgen writes, but lacks the line \"// Code " +
			"generated by mcpgen\". mcpgen does not overwrite it.",
		Example: "// mcp_gen.go, written by hand\npackage devices",
		Cure:    "Rename the file, or delete it if mcpgen generated it.",
	},
	UnnamedParameter: {
		Title: "parameter without a unique name",
		Cause: "Each plain parameter becomes a property of the input with the parameter's name. The " +
			"name is blank or missing, or two names are equal in snake_case.",
		Example: `//mcp:tool minrole=Viewer
func Find(ctx context.Context, _ string, limit int) (Device, error)`,
		Cure: "Give every parameter a unique name.",
	},
	Variadic: {
		Title: "variadic handler",
		Cause: "A variadic parameter is not supported, because a handler could not distinguish an " +
			"absent argument from an empty list.",
		Example: `//mcp:tool minrole=Viewer
func Find(ctx context.Context, names ...string) (Device, error)`,
		Cure: "Use a slice: names []string.",
	},
	UnknownParameter: {
		Title: "//mcp:param names no parameter",
		Cause: "The handler has no plain parameter with the name after //mcp:param. Handlers with an " +
			"input struct have no plain parameters: describe the fields of the struct.",
		Example: `//mcp:tool minrole=Viewer
//mcp:param limt maximum=10
func Find(ctx context.Context, limit int) (Device, error)`,
		Cure: "Write the parameter's Go name, or put a jsonschema tag on the field of the input struct.",
	},
	MissingKey: {
		Title: "required key is missing",
		Cause: "The directive has no effect without this key:\n\n" +
			"- //mcp:limit: a limit\n" +
			"- //mcp:default: a rule or output=\n" +
			"- //mcp:allow: a permission\n" +
			"- //mcp:rule: an argument, its values and a rule\n" +
			"- //mcp:schema: a file\n" +
			"- //mcp:ignore: reason=\n" +
			"- //mcp:param: a name and a key\n" +
			"- //mcp:resource: uri=\n" +
			"- //mcp:complete: ref= and argument=\n" +
			"- a []byte with output=text: mimetype=\n" +
			"- a package with object=: app= on //mcp:server.",
		Example: `//mcp:ignore
func Purge(ctx context.Context) error`,
		Cure: "Write the key.",
	},
	BadHierarchy: {
		Title: "malformed roles or scopes",
		Cause: "//mcp:roles takes a chain of different names, lowest first, separated by <. Without " +
			"names, it belongs on a const block of one named integer type whose constants have " +
			"different values. lowest and highest are reserved.\n\n" +
			"Several lines are a partial order together. A cycle and more than 64 roles are errors. " +
			"The const block, or else the first line, is the main chain: lowest and highest are its " +
			"ends. So no role may be below its start or above its end.\n\n" +
			"//mcp:scopes takes a scope, >, and the scopes that a token with it has too, separated by " +
			"commas. Each scope has at most one line. A cycle is an error.",
		Example: `//mcp:roles Viewer < Admin
//mcp:roles Admin < Auditor < Viewer
package devices`,
		Cure: "Write each role once in a line, and remove the cycle: //mcp:roles Viewer < Admin and " +
			"//mcp:roles Auditor < Admin.",
	},
	OutOfRange: {
		Title: "limit out of range",
		Cause: "timeout= is from 1ms to 24h, memory= from 4MiB to 1024GiB, output= from 1KiB to 1GiB, " +
			"and rate= at most a million calls. A smaller limit would end every call at once; a larger " +
			"one has no effect.\n\n" +
			"A rule has at most 16 alternatives of scopes. Each scope of anyscope= is one, and so is " +
			"each scope that includes a scope of the rule by //mcp:scopes. Several needs multiply.",
		Example: `//mcp:tool minrole=Viewer
//mcp:limit timeout=0s
func Find(ctx context.Context, in FindInput) (Device, error)`,
		Cure: "Write a value within the range, or remove the key to get the default; see `mcpgen " +
			"explain limit`.",
	},
	HookedType: {
		Title: "type that makes its schema at run time",
		Cause: "The type has a method that invopop/jsonschema calls to make or change its schema: " +
			"JSONSchema, JSONSchemaExtend, JSONSchemaProperty or JSONSchemaAlias. mcpgen cannot " +
			"determine from the source what the method returns.",
		Example: `func (Level) JSONSchema() *jsonschema.Schema`,
		Cure: "Write the schema by hand and name it with //mcp:schema input=FILE or output=FILE below " +
			"//mcp:tool. Or use a type without the method, and describe it with tags, doc comments and " +
			"constants.",
	},
	BadSchemaFile: {
		Title: "unusable schema file",
		Cause: "mcpgen cannot use a file that //mcp:schema names. The causes are:\n\n" +
			"- the file is missing, outside the module, or not JSON\n" +
			"- the schema is not valid under JSON Schema 2020-12, or has a reference to another document" +
			"\n" +
			"- a default does not match its own schema\n" +
			"- a number is beyond ±(2^53-1), which JavaScript clients round\n" +
			"- the schema does not fit the handler: arguments are an object with a property for each " +
			"plain parameter\n\n" +
			"A single struct is not a plain parameter, even if it has its own UnmarshalJSON. The schema " +
			"describes the struct, unless it has a property with the parameter's name.",
		Example: `//mcp:tool minrole=Viewer
//mcp:schema input=query.json
func Find(ctx context.Context, in Query) (Device, error)`,
		Cure: "Fix the file at the position in the message, or the name in the directive. Paths are " +
			"relative to the package's directory.",
	},
	BadURI: {
		Title: "invalid URI or URI template",
		Cause: "uri= takes an absolute URI, or an RFC 6570 template with {name} and {+name}. {name} " +
			"matches text without slashes, {+name} also text with slashes. mcpgen does not support " +
			"other forms of RFC 6570, such as {?q}, {/path}, {a,b}, {name*} and {name:3}. Write them " +
			"out, for example ?q={q}. Literal text must separate two variables, and each variable " +
			"occurs once.",
		Example: `//mcp:resource uri=people/{id} minrole=Viewer
func Person(ctx context.Context, id int) (string, error)`,
		Cure: "Write the scheme and the variables: uri=team://people/{id}.",
	},
	Unbound: {
		Title: "variable without parameter, or parameter without variable",
		Cause: "Each variable in a resource's URI needs a handler parameter, and each parameter needs " +
			"a variable. They match by the property name of the parameter: userID matches {user_id}.",
		Example: `//mcp:resource uri=team://people/{id} minrole=Viewer
func Person(ctx context.Context, name string) (string, error)`,
		Cure: "Give both the same name.",
	},
	Overlap: {
		Title: "one URI, two access rules",
		Cause: "Two resources match the same URI but have different access, so the order of matching " +
			"would decide. Resources that overlap need equal rules and an equal denial=.",
		Example: `//mcp:resource uri=team://people/{id} minrole=Viewer
func Person(ctx context.Context, id string) (string, error)

//mcp:resource uri=team://people/salaries minrole=Admin
func Salaries(ctx context.Context) (string, error)`,
		Cure: "Change one URI so that no URI matches both, for example team://salaries, or give both " +
			"the same rule. Variables of integers and booleans match fewer URIs than those of strings.",
	},
	UnknownReference: {
		Title: "unknown reference in //mcp:complete",
		Cause: "ref= must be the name of a prompt of this package, or the uri= of a resource, " +
			"unchanged. argument= must be one of its arguments or variables.",
		Example: `//mcp:complete ref=welcom argument=name
func CompleteName(ctx context.Context, begun string) ([]string, error)`,
		Cure: "Correct the name; the fix suggests the nearest one.",
	},
	Unbindable: {
		Title: "argument that cannot be bound",
		Cause: "//mcp:allow KIND={argument} binds an existing property of the tool's input, by the " +
			"name that clients use. Its type is a string type; for system.command it is []string or " +
			"grant.Argv. An argument has one kind, or both file.read and file.write. A bound plain " +
			"parameter needs a string type that no other parameter of the handler has, so that swapping " +
			"two arguments does not compile. A single string parameter is fine.\n\n" +
			"//mcp:rule ARGUMENT=VALUE names an enum of strings by the same name. The argument is " +
			"required or has a default, and is not nullable. //mcp:allow does not bind it, and " +
			"generated code decodes the input.",
		Example: `//mcp:tool minrole=Viewer
//mcp:allow file.read={path}
func Read(ctx context.Context, path, encoding string) (string, error)`,
		Cure: "Correct the name, or change the type of the parameter to grant.Path, grant.Host or " +
			"grant.Argv of runtime/grant. For a kind of your own, declare a named type, for example " +
			"type Table string. For //mcp:rule, give the argument a string type with constants.",
	},
	NotOpened: {
		Title: "file that the handler never takes",
		Cause: "The server opens the file before the handler runs, checks the grant on the opened " +
			"file, and hands that file to the handler. A handler that opens the name again may open " +
			"another file, which nobody checked.\n\n" +
			"mcpgen looks for a call of grant.File, grant.Dir or grant.TruePath with the argument's " +
			"name, which is a literal or a constant of the package. It searches the handler's body, and " +
			"funcs and methods of the same package that receive the context or one derived from it. It " +
			"reads the source without types, so it finds mistakes, not deliberate evasion. It cannot " +
			"find implementations of an interface method.",
		Example: `//mcp:tool minrole=Viewer
//mcp:allow file.read={path}
func Read(ctx context.Context, path grant.Path) (string, error) {
	text, err := os.ReadFile(string(path))
	return string(text), err
}`,
		Cure: "Take the file: f, err := grant.File(ctx, \"path\"). Use grant.Dir for a directory, and " +
			"grant.TruePath if the code needs a path. For an interface, annotate the method of the " +
			"implementing type.",
	},
	NoWorker: {
		Title: "isolated method without //mcp:worker",
		Cause: "A method with isolate=process runs in a process of its own, without the server's " +
			"memory. The process creates the receiver with the only //mcp:worker func of the package " +
			"that returns the receiver's type.",
		Example: `//mcp:tool minrole=Viewer
//mcp:limit isolate=process
func (s *Service) Render(ctx context.Context, page string) (string, error)`,
		Cure: "Write //mcp:worker on a func() *Service or func() (*Service, error), which may take a " +
			"context. Or serve a func instead of the method.",
	},
	MoreThanDeclared: {
		Title: "code that does more than capabilities= or facts= declares",
		Cause: "`mcpgen prove` followed the calls of the handler to a func that opens files, uses the " +
			"network or starts programs, but capabilities= does not list that. Or the func uses the " +
			"network, but facts= has no egress. The position is the last " +
			"call of the path that is in your module, and the message has the path. A call through an " +
			"interface leads to all possible types, so the program may never take the path.",
		Example: `//mcp:tool minrole=Viewer
//mcp:limit capabilities=none
func Read(ctx context.Context, name string) (string, error) {
	text, err := os.ReadFile(name)
	return string(text), err
}`,
		Cure: "Add the capability to capabilities=, or remove the call. Without capabilities=, mcpgen " +
			"records the code capabilities and reports none. Or add egress to facts=, or write " +
			"openworld=false on a tool that connects to systems of the service alone.",
	},
	Unprovable: {
		Title: "code with unknown capabilities, and capabilities=",
		Cause: "`mcpgen prove` found code that it cannot follow. Examples: C, assembly, " +
			"unsafe.Pointer, a system call, a call by reflection, an interface method that no type of the " +
			"module implements, and a func value that no visible code sets. mcpgen cannot check " +
			"capabilities= then.",
		Example: `//mcp:tool minrole=Viewer
//mcp:limit capabilities=files
func (s *Service) Render(ctx context.Context, page string) (string, error) {
	return s.render(page) // a func value, set elsewhere
}`,
		Cure: "Call the func by name, or import the implementing package from the handler's package. " +
			"Or remove capabilities=: mcpgen then records the known and unknown code capabilities and " +
			"reports none.",
	},
	WritesReadOnly: {
		Title: "readonly tool that may write files or start programs",
		Cause: "The tool is marked readonly, but `mcpgen prove` followed the calls of its handler to a " +
			"func that starts programs or writes files. Such funcs are os.WriteFile, os.Create, " +
			"os.Remove and similar ones, and the writing methods of *os.File and *os.Root. os.OpenFile " +
			"counts unless its flags are a constant for reading. grant.File, grant.Dir and " +
			"grant.TruePath count if the argument has a permission other than file.read.",
		Example: `//mcp:tool minrole=Viewer readonly
func Peek(ctx context.Context, name string) error {
	return os.WriteFile(name, nil, 0o600)
}`,
		Cure: "Remove readonly or the call. To read a file, use os.Open, or os.OpenFile with " +
			"os.O_RDONLY.",
	},
	HiddenText: {
		Title: "text with invisible characters",
		Cause: "Text that clients receive contains a character that models read and people do not see: " +
			"a bidirectional control, a tag character, a control character or another invisible one. It " +
			"can hide instructions or reorder the displayed text. mcpgen checks comments, tags, " +
			"directives, enums and schemas. It allows joiners and variation selectors within emoji and " +
			"scripts. If a comment in another module has such a character, mcpgen omits that comment.",
		Example: `// Find finds a device.\u202e
//
//mcp:tool minrole=Viewer title="Find\u200b"
func Find(ctx context.Context, in FindInput) (Device, error)`,
		Cure: "Remove the character. Text in right-to-left scripts needs no control characters.",
	},
	StrayConstant: {
		Title: "constant outside its enum",
		Cause: "The enum of a type is the const block with the most constants of the type, if " +
			"it has two or more. This constant of the type is in another block, and its value is not in " +
			"the enum, so the server would reject it as an argument. A constant that repeats a value of " +
			"the enum is not reported.",
		Example: `type Color string

const (
	Red  Color = "red"
	Blue Color = "blue"
)

const Green Color = "green"`,
		Cure: "Move the constant into the block with the others, or declare it without the type. If " +
			"any text is valid, write //mcp:type with schema=string. If any number is valid, remove the " +
			"line //mcp:type of the type.",
	},
	Unguarded: {
		Title: "tool outside the guard",
		Cause: "A package that makes a server with runtime.New also calls AddTool of go-sdk. The tool " +
			"is on another server, without identities, rules and the audit trail, and the manifest " +
			"does not list it. Or AddTool comes after runtime.Adopt of the same server, which " +
			"compares tools with rules and reads their hints once. Only mcpgen vet reports this code, " +
			"because mcpgen check does not read bodies.",
		Example: `server, err := runtime.New(options, Toolset())
mcp.AddTool(other, &mcp.Tool{Name: "reset"}, reset)`,
		Cure: "Write a handler with //mcp:tool, or guard the server with runtime.Adopt after its last " +
			"AddTool. A server that needs no guard belongs in a package of its own.",
	},
	NoToken: {
		Title: "handler without its token",
		Cause: "With unannotated=strict on //mcp:server, every tool, prompt and resource has a token " +
			"as its last parameter. mcpgen declares the type of the token together with the registration of the " +
			"handler. So a handler that mcpgen has not generated does not compile. " +
			"//mcp:ignore and //mcp:complete take no token.",
		Example: `//mcp:server unannotated=strict
package devices

//mcp:tool minrole=Viewer
func Find(ctx context.Context, in FindInput) (Device, error)`,
		Cure: "Write the parameter, here func Find(ctx context.Context, in FindInput, _ FindAnnotated) " +
			"(Device, error), and run go generate. The type of a method's token begins with the name of " +
			"the receiver's type: ServiceFindAnnotated. If the handler has //mcp:ignore, remove the " +
			"parameter.",
	},
	ProviderSchema: {
		Title: "tool that a model provider cannot use",
		Cause: "The message contains the provider and the JSON Pointer of the part. " +
			"A provider can refuse each request with the tool, or have no strict mode for it.\n\n" +
			"The APIs refuse some names of properties and tools, a choice such as anyOf at the root of " +
			"the input schema, and an empty value of an enum. A client offers the tools of all its " +
			"servers in one request, so one such tool ends the session. mcpgen and mcpgen check warn " +
			"of such names of properties and of such roots. The exit code stays 0. The reference about " +
			"schemas has a table of all rules, with sources.\n\n" +
			"With mcpgen check --clients these rules are errors for the named providers. It also " +
			"checks the input schemas against the libraries that translate them for strict modes. " +
			"OpenAI requires closed objects, all of whose properties are required or may be null. " +
			"Anthropic requires a type for each value. Gemini knows few keywords, and enums of strings " +
			"only.",
		Example: `//mcp:tool minrole=Viewer
//mcp:param limit default=50
func Find(ctx context.Context, text string, limit int) ([]string, error)`,
		Cure: "Rename a property in its json tag, its parameter or its schema file. Rename a tool by " +
			"name= of //mcp:tool. In place of a choice at the root, write the condition into the " +
			"description, and check the arguments in the handler.\n\n" +
			"For strict modes, write optional=null on //mcp:server: optional arguments of the " +
			"package may then be " +
			"null. For one argument, write nullable in //mcp:param or in the jsonschema tag. Replace " +
			"maps by lists of structs, and any by a concrete type. In a schema by hand, remove the " +
			"keyword.",
	},
	CannotAsk: {
		Title: "handler without elicits asks its client",
		Cause: "The body of a handler calls runtime.Elicit, ElicitForm, Sample or Roots, and its " +
			"directive has no elicits. Such a call fails: clients get internal error, and the log has the " +
			"reason. A process of isolate=process cannot reach a client. Only mcpgen vet reports this " +
			"code, because mcpgen check does not read bodies. It does not follow calls to other funcs.",
		Example: `//mcp:tool minrole=Member
func Order(ctx context.Context, id string) (Receipt, error) {
	form, err := runtime.Elicit[Confirm](ctx, "confirm", "How many of "+id+"?")
	...
}`,
		Cure: "Write elicits in the //mcp:tool, //mcp:prompt or //mcp:resource. With isolate=process, " +
			"remove the call, or isolate=process.",
	},
	ShownValue: {
		Title: "value with a rule that is shown elsewhere",
		Cause: "A //mcp:rule gives a value of an argument a rule. The type of the argument is used in " +
			"another place, which callers below the rule see. Such a place is another tool, a prompt, a " +
			"resource template, a nested part of the input, or a result. It has the value in an enum, " +
			"a default, an example or a constant, or in quotes in a description or a title. The server " +
			"leaves the value out of the argument itself and of the results of its tool, and of nothing " +
			"else. If several tools have rules for the value, callers who meet one of them may see " +
			"it.\n\n" +
			"The rules of a type are those of the package that declares it, and of packages that import " +
			"this one. So a package gives a rule to a value of another package's type only if that " +
			"package has a rule for the value too.",
		Example: `//mcp:tool minrole=Viewer
//mcp:rule verb=purge minrole=Admin
func Manage(ctx context.Context, verb Verb) error

//mcp:tool minrole=Viewer
func Plan(ctx context.Context, verbs []Verb) (string, error)`,
		Cure: "Write the same //mcp:rule on the other tool, if its argument has the type. Otherwise use " +
			"a type of its own without the value there, or give the other tool, prompt or resource a " +
			"rule as strict. Remove the value from texts.",
	},
	GuardedField: {
		Title: "rule of a field that cannot guard it",
		Cause: "A //mcp:field restricts a struct field, and the server leaves the field out " +
			"for callers " +
			"below the rule. That is possible only where the server reads arguments and results by the Go " +
			"type. It is not possible with a schema by hand, within a type with a JSON or text method, or " +
			"with a handler of go-sdk's shape. It is not possible in a struct without a name, and in the " +
			"arguments of a prompt or a resource. An argument with //mcp:rule, //mcp:allow or an HTTP " +
			"header cannot have such a rule either.\n\n" +
			"A caller who does not see an argument cannot send it. So a guarded argument may be absent, " +
			"which means unchanged: it is a pointer with omitempty or a toolset.Optional with omitzero, " +
			"has no default, and is in no group. Without omitempty or omitzero, encoding/json writes null " +
			"for an absent argument, which would empty the stored field.\n\n" +
			"The code also reports rules without an effect, and texts with the name of the field in " +
			"quotes or backquotes. It reports a package whose tools have a field of another module " +
			"without a rule, or with another rule, if another package of the server has one.\n\n" +
			"Two are warnings. One is a rule on a field that no tool of the package has, and no tool of " +
			"another package in the same run. The other is a guarded argument in a list or map: the list " +
			"replaces the stored one, and from callers below the rule its items lack the field.",
		Example: `type Person struct {
	Name string ` + "`json:\"name\"`" + `
	//mcp:field minrole=Manager
	Salary int ` + "`json:\"salary\"`" + `
}

//mcp:tool minrole=Member
func Update(ctx context.Context, person Person) error`,
		Cure: "Write *int and omitempty, and keep the stored salary if it is nil. For other causes, " +
			"remove what the message names, or use a type without the field in this tool.",
	},
}
