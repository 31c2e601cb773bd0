package diag

// explanations is the registry behind `mcpgen explain`, in the order of codes.
var explanations = []Explanation{
	{
		Code:  MissingDirective,
		Title: "handler without directive",
		Cause: "A package with //mcp: directives says of every exported handler whether it is " +
			"served. A handler is a func whose first parameter is context.Context and whose last " +
			"result is error, and every such method of a type that has a tool. A method counts " +
			"as well if the type has it by embedding another type of the package. A " +
			"func that can " +
			"never be a tool is no handler: one with a parameter that no JSON fills, such as a " +
			"client, an interface, a func or a channel.",
		Example: `//mcp:tool minrole=Viewer
func Find(ctx context.Context, in FindInput) (Device, error)

func Purge(ctx context.Context) error`,
		Cure: "Serve it with //mcp:tool and an access rule, or take it out with //mcp:ignore " +
			"reason=\"…\". Write the directive where the method is declared, or declare a method " +
			"of that name on the type itself. If a package has many handlers that are no tools, " +
			"write unannotated=ignore on its //mcp:server. mcpgen then reports none of them.",
	},
	{
		Code:  NoAccessRule,
		Title: "tool without access rule",
		Cause: "Every tool says who may use it: public, authenticated, minrole=, scopes=, " +
			"action= or object=, on the tool itself or by //mcp:default on its type or package. " +
			"action=none alone is no rule.",
		Example: `//mcp:tool
func Find(ctx context.Context, in FindInput) (Device, error)`,
		Cure: "Write the rule, as in //mcp:tool minrole=Viewer, or a //mcp:default on the package.",
	},
	{
		Code:  UnknownDirective,
		Title: "unknown directive",
		Cause: "What follows //mcp: is none of mcpgen's directives. An unknown one is never " +
			"skipped: it may be a rule with a typing error.",
		Example: `//mcp:tol minrole=Viewer
func Find(ctx context.Context, in FindInput) (Device, error)`,
		Cure: "Write one of the directives that the README lists; `mcpgen explain tool` shows one with its keys.",
	},
	{
		Code:  UnknownKey,
		Title: "unknown key or flag",
		Cause: "The directive has no such key. An unknown one is never skipped: it may be a rule " +
			"with a typing error.",
		Example: `//mcp:tool minrol=Viewer
func Find(ctx context.Context, in FindInput) (Device, error)`,
		Cure: "Write one of the directive's keys; `mcpgen explain tool` lists them.",
	},
	{
		Code:  Duplicate,
		Title: "written twice",
		Cause: "A directive, a key or a list element stands twice where it can hold once, and " +
			"only one of the two could count.",
		Example: `//mcp:tool minrole=Viewer minrole=Admin
func Find(ctx context.Context, in FindInput) (Device, error)`,
		Cure: "Remove all but one.",
	},
	{
		Code:  Misplaced,
		Title: "misplaced directive",
		Cause: "The directive does not apply to this declaration: //mcp:tool on a type, " +
			"//mcp:server on a func, //mcp:limit on a func without //mcp:tool, any of them in a " +
			"test file, from which nothing is served.",
		Example: `//mcp:tool minrole=Viewer
type Service struct{}`,
		Cure: "Move it to a place that `mcpgen explain DIRECTIVE` names. //mcp:server belongs " +
			"into the comment directly above the package clause.",
	},
	{
		Code:  Malformed,
		Title: "malformed directive",
		Cause: "The directive cannot be read: a quote is not closed, a value is missing, a " +
			"trailing // note or an invisible space stands among its arguments, or its name runs " +
			"into what follows.",
		Example: `//mcp:tool minrole=Viewer // read only
func Find(ctx context.Context, in FindInput) (Device, error)`,
		Cure: "Write name, then flags and key=value apart by spaces. Values with spaces are Go " +
			"string literals: title=\"Find a device\".",
	},
	{
		Code:  BadValue,
		Title: "malformed value",
		Cause: "The key does not take this value: a duration that is none, a word outside the " +
			"choices, a label with other characters than letters, digits and underscores.",
		Example: `//mcp:tool minrole=Viewer
//mcp:limit timeout=fast
func Find(ctx context.Context, in FindInput) (Device, error)`,
		Cure: "Write a value of the kind that `mcpgen explain DIRECTIVE` names for the key.",
	},
	{
		Code:  UnknownRole,
		Title: "unknown role",
		Cause: "minrole= names a role that the hierarchy does not have. Names match exactly, " +
			"case included: a role with a typing error must never widen access.",
		Example: `//mcp:tool minrole=Manger
func Find(ctx context.Context, in FindInput) (Device, error)`,
		Cure: "Write a role of //mcp:roles (without one: Viewer, Member, Manager, Admin), or " +
			"lowest or highest.",
	},
	{
		Code:  NearMiss,
		Title: "comment that is nearly a directive",
		Cause: "A directive is a line comment in lower case that begins with //mcp: and the name. " +
			"Any other form is plain text, and its rule would not hold. " +
			"A line is near if at most 2 edits make its first letters mcp and a " +
			"directive's name. " +
			"An edit inserts, removes or replaces a letter, or swaps two neighbours. " +
			"At most 1 edit is in mcp, and at most 1 for each 3 letters of the name. " +
			"Separators, markers, upper case and invisible characters do not count, " +
			"and letters that look alike are equal. Prose such as \"MCP server\" is no finding. " +
			"docs/directives.md has the whole rule.",
		Example: `// mcp:tool minrole=Viewer
//mcp.limit timeout=1s
func Find(ctx context.Context, in FindInput) (Device, error)`,
		Cure: "Write //mcp:name as the message suggests it, or reword the comment. " +
			"To comment a directive out, write // //mcp:name.",
	},
	{
		Code:  Dangling,
		Title: "directive on nothing",
		Cause: "The directive does not belong to a declaration's doc comment: an empty line " +
			"parts it from the declaration, or it stands within a body or behind code.",
		Example: `//mcp:tool minrole=Viewer

func Find(ctx context.Context, in FindInput) (Device, error)`,
		Cure: "Put it into the doc comment, directly above the declaration. //mcp:server, and " +
			"the //mcp:default and //mcp:roles of a package, belong directly above the package " +
			"clause.",
	},
	{
		Code:  BadToolName,
		Title: "invalid tool name",
		Cause: "MCP tool names have 1 to 128 characters, which are ASCII letters, digits, " +
			"underscore, hyphen and dot.",
		Example: `//mcp:tool minrole=Viewer name="find device"
func Find(ctx context.Context, in FindInput) (Device, error)`,
		Cure: "Write another name=, or another prefix= on //mcp:server.",
	},
	{
		Code:  DuplicateTool,
		Title: "tool name used twice",
		Cause: "Two tools of one server have the same name, and only one of them could be " +
			"called. Packages whose //mcp:server has the same name= are one server.",
		Example: `//mcp:tool minrole=Viewer
func (s *Sites) Get(ctx context.Context) (Site, error)

//mcp:tool minrole=Viewer
func (s *Devices) Get(ctx context.Context) (Device, error)`,
		Cure: "Write name= on one of them, as in name=sites_get. For two packages, write prefix= " +
			"on //mcp:server of one of them.",
	},
	{
		Code:  BadShape,
		Title: "unsupported handler shape",
		Cause: "A tool takes context.Context first and returns error last, with at most one " +
			"result before it; its parameters are one struct, plain values, or go-sdk's " +
			"(*mcp.CallToolRequest, In) with (*mcp.CallToolResult, Out, error). The result is a " +
			"value, content of go-sdk's or its *mcp.CallToolResult, and with output=text a " +
			"string or a []byte. Types of other MCP SDKs are no results.",
		Example: `//mcp:tool minrole=Viewer
func Find(in FindInput) (Device, error)`,
		Cure: "Bring the func into one of these shapes, or serve a small func that calls it. A " +
			"handler that makes its whole result is func(ctx context.Context, in In) " +
			"(*mcp.CallToolResult, error), with plain parameters instead of in, and with " +
			"go-sdk's mcp. In go-sdk's shape, the input of a tool without arguments is _ struct{}.",
	},
	{
		Code:  UnsupportedType,
		Title: "type without a JSON Schema",
		Cause: "A part of the input or result has no static schema: funcs, channels, complex " +
			"numbers, maps with keys that JSON cannot write, types that decode themselves, or " +
			"that get the method for it from an embedded pointer, which is nil then. Or the type " +
			"must hold itself again, so that no finite document fits. A named type that cannot " +
			"be read is one finding a run, with the number of places that use it: where it is " +
			"declared, or in the first place if another module declares it.",
		Example: `type FindInput struct {
	Match func(Device) bool
}`,
		Cure: "Change the part that the path names; a field can be hidden from JSON with the tag " +
			"json:\"-\". Give a type of another module that reads or writes JSON by its own " +
			"methods a schema with //mcp:type in the package doc. Where another type has to " +
			"stay, write the schema by hand and name it with //mcp:schema input=FILE " +
			"or output=FILE below //mcp:tool. A result with output=none needs no schema.",
	},
	{
		Code:  BadTag,
		Title: "bad schema tag",
		Cause: "A jsonschema tag or a //mcp:param key is unknown, cannot be read as a value of " +
			"the type, or contradicts another; or a tag without a key, which would be a " +
			"description, looks as if it was meant to have one. A struct tag that Go does not " +
			"read to its end is an error as well, since the limits behind the mistake would be " +
			"lost. A number of a schema beyond ±(2^53-1) is an error: clients in JavaScript " +
			"round it, and some model providers then refuse the whole list of tools.",
		Example: `type FindInput struct {
	Limit int ` + "`" + `jsonschema:"minimum=10,maximum=1"` + "`" + `
}`,
		Cure: "Fix the tag of the field that the path names, or the //mcp:param of the parameter.",
	},
	{
		Code:  UnequalHierarchies,
		Title: "unequal role hierarchies",
		Cause: "Packages whose //mcp:server has the same name= are one server, and one server " +
			"has one hierarchy. A role must not mean more in one package than in another.",
		Example: `//mcp:server name=inventory
//mcp:roles Guest < Owner
package devices

//mcp:server name=inventory
//mcp:roles Guest < Clerk < Owner
package sites`,
		Cure: "Write the same //mcp:roles in each, or give the packages different server names.",
	},
	{
		Code:  NoVerb,
		Title: "object without action",
		Cause: "A permission needs an action. It comes from the handler's name for list, retrieve, " +
			"get, create, add, update, partial_update, set, delete, remove and destroy; this " +
			"handler's name begins with none of these.",
		Example: `//mcp:tool minrole=Member object=device
func Reboot(ctx context.Context, in RebootInput) error`,
		Cure: "Write action=, as in action=reboot, or action=none to take the tool out.",
	},
	{
		Code:  NotBuilt,
		Title: "not built yet",
		Cause: "This version does not support the directive, key or value here: of the limits, " +
			"prompts and resources have timeout= alone. It is refused: a limit or rule that is " +
			"read and not enforced would be worse than none.",
		Example: `//mcp:prompt minrole=Viewer
//mcp:limit rate=10/s
func Welcome(ctx context.Context) (string, error)`,
		Cure: "Leave it out, or serve the handler as a tool.",
	},
	{
		Code:  Contradiction,
		Title: "contradicting rules",
		Cause: "Two things that are written, or one written and one inherited, cannot both hold: " +
			"public beside any other rule, readonly beside destructive, denial=challenge without " +
			"scopes to ask for, constrained without a permission, action=none beside object=, " +
			"//mcp:tool beside //mcp:ignore, //mcp:allow on a public tool (grants are a " +
			"client's, and a public tool has callers without one), file.write on a readonly " +
			"tool, memory= without isolate=process, a permission that capabilities= leaves no " +
			"use for, output= beside a result that is content or has a schema by hand, mimetype= " +
			"without a []byte and output=text.",
		Example: `//mcp:tool public minrole=Admin
func Find(ctx context.Context, in FindInput) (Device, error)`,
		Cure: "Remove one of the two.",
	},
	{
		Code:  Generic,
		Title: "generic handler",
		Cause: "A generic func or a method of a generic type is no single func: which instance " +
			"answers is not in the source of the declaration.",
		Example: `//mcp:tool minrole=Viewer
func (r *Repo[T]) Get(ctx context.Context, in GetInput) (T, error)`,
		Cure: "Annotate the method in an interface that the instance satisfies, and pass the " +
			"instance to Toolset.",
	},
	{
		Code:  BuildConstraint,
		Title: "tool under a build constraint",
		Cause: "The tool, or a type that its schema reads, stands in a file with a build " +
			"constraint or a system's name in its file name. The generated files hold for every " +
			"system, so what they serve must exist in every build.",
		Example: `//go:build linux

package devices

//mcp:tool minrole=Viewer
func Find(ctx context.Context, in FindInput) (Device, error)`,
		Cure: "Annotate a plain handler in a file without constraint, and let it call into the " +
			"constrained one.",
	},
	{
		Code:  NameTaken,
		Title: "generated name is taken",
		Cause: "The package declares a name that the generated file has to declare: Toolset, or " +
			"the constant of a tool name.",
		Example: `const ToolFind = "x"

//mcp:tool minrole=Viewer
func Find(ctx context.Context, in FindInput) (Device, error)`,
		Cure: "Rename the declaration or the handler.",
	},
	{
		Code:  Redeclared,
		Title: "predeclared name redeclared",
		Cause: "The package declares a name of its own for something that Go predeclares " +
			"(string, error, true, …). Generated code in the same package would mean the " +
			"package's one.",
		Example: `type string struct{}`,
		Cure:    "Rename the declaration.",
	},
	{
		Code:  DoesNotCheck,
		Title: "declaration does not type-check",
		Cause: "A declaration has an error that the compiler would report as well, in a package " +
			"with directives or in one that it imports. A constraint interface as the type of a " +
			"parameter, a result or a field is such an error. Errors within function bodies do " +
			"not count here.",
		Example: `//mcp:tool minrole=Viewer
func Find(ctx context.Context, in NoSuchType) (Device, error)`,
		Cure: "Fix it; `go build` shows the same error.",
	},
	{
		Code:    DoesNotParse,
		Title:   "source cannot be parsed",
		Cause:   "The file is not Go, so that its directives cannot be read with certainty.",
		Example: `func Find(ctx context.Context`,
		Cure:    "Fix the syntax error.",
	},
	{
		Code:  NotOurs,
		Title: "file in the way",
		Cause: "A file has the name of one that mcpgen writes, without the line \"// Code " +
			"generated by mcpgen\". It is somebody's work and is not overwritten.",
		Example: "// mcp_gen.go, written by hand\npackage devices",
		Cure:    "Rename the file, or delete it if it was generated.",
	},
	{
		Code:  UnnamedParameter,
		Title: "parameter without a name of its own",
		Cause: "Plain parameters become properties of the input under their names. A blank or " +
			"missing name, or two names that are the same in snake_case, leave no " +
			"property to fill.",
		Example: `//mcp:tool minrole=Viewer
func Find(ctx context.Context, _ string, limit int) (Device, error)`,
		Cure: "Give every parameter a name of its own.",
	},
	{
		Code:  Variadic,
		Title: "variadic handler",
		Cause: "A variadic parameter is not part of the supported handler shapes: absent and " +
			"empty would be the same to callers.",
		Example: `//mcp:tool minrole=Viewer
func Find(ctx context.Context, names ...string) (Device, error)`,
		Cure: "Take a slice instead: names []string.",
	},
	{
		Code:  UnknownParameter,
		Title: "//mcp:param names no parameter",
		Cause: "The name after //mcp:param is none of the handler's plain parameters. Handlers " +
			"with an input struct have none: their properties are described by the fields.",
		Example: `//mcp:tool minrole=Viewer
//mcp:param limt maximum=10
func Find(ctx context.Context, limit int) (Device, error)`,
		Cure: "Write the parameter's Go name, or put a jsonschema tag on the field of the input " +
			"struct.",
	},
	{
		Code:  MissingKey,
		Title: "required key is missing",
		Cause: "The directive does nothing, or means nothing, without this key. " +
			"//mcp:limit needs a limit, //mcp:default a rule or output=, //mcp:allow a " +
			"permission, " +
			"//mcp:rule an argument, its values and a rule, " +
			"//mcp:schema a file, " +
			"//mcp:ignore a reason=, //mcp:param a name and a key, //mcp:resource a uri=, " +
			"//mcp:complete a ref= and an argument=, a []byte with output=text a mimetype=. " +
			"A package with object= " +
			"needs app= on //mcp:server.",
		Example: `//mcp:ignore
func Purge(ctx context.Context) error`,
		Cure: "Write the key.",
	},
	{
		Code:  BadHierarchy,
		Title: "malformed role hierarchy",
		Cause: "//mcp:roles takes a chain of different names, lowest first, apart by <; or it " +
			"stands bare on a const block of one named integer type whose constants have " +
			"different values. lowest and highest are reserved.",
		Example: `//mcp:roles Viewer < Admin < Viewer
package devices`,
		Cure: "Write each role once: //mcp:roles Viewer < Member < Admin.",
	},
	{
		Code:  OutOfRange,
		Title: "limit out of range",
		Cause: "A timeout is at least a millisecond and at most a day, memory= is from 4MiB to " +
			"1024GiB, output= from 1KiB to 1GiB, and a rate has at most a million calls. Less " +
			"ends every call before it begins, and more is no limit.",
		Example: `//mcp:tool minrole=Viewer
//mcp:limit timeout=0s
func Find(ctx context.Context, in FindInput) (Device, error)`,
		Cure: "Write a value within the range, or leave it out for the default, which `mcpgen explain limit` tells.",
	},
	{
		Code:  HookedType,
		Title: "type writes its schema at run time",
		Cause: "The type has a method that invopop/jsonschema calls to make or change its " +
			"schema (JSONSchema, JSONSchemaExtend, JSONSchemaProperty, JSONSchemaAlias). What it " +
			"returns cannot be read from source.",
		Example: `func (Level) JSONSchema() *jsonschema.Schema`,
		Cure: "Write the schema by hand and name it with //mcp:schema input=FILE or " +
			"output=FILE below //mcp:tool, or use a type without the method: describe it by " +
			"tags, doc comments and constants.",
	},
	{
		Code:  BadSchemaFile,
		Title: "schema by hand that cannot be used",
		Cause: "A file that //mcp:schema names cannot be read, is outside the module, is no " +
			"JSON, is not valid under JSON Schema 2020-12, refers to something outside itself, " +
			"has a default that it refuses, has a number beyond ±(2^53-1), which clients in " +
			"JavaScript round, or does not fit the handler: arguments are an object " +
			"with a property for each plain parameter. A single struct is no plain parameter, " +
			"not even one with an UnmarshalJSON of its own: the schema describes it, unless it " +
			"has a property named as the parameter.",
		Example: `//mcp:tool minrole=Viewer
//mcp:schema input=query.json
func Find(ctx context.Context, in Query) (Device, error)`,
		Cure: "Fix the file at the position in the message, or the name in the directive. Paths " +
			"are relative to the package's directory.",
	},
	{
		Code:  BadURI,
		Title: "no URI and no URI template",
		Cause: "uri= takes an absolute URI, or an RFC 6570 template of {name} and {+name}. " +
			"{name} stands for text without slashes, {+name} for text with them. The other forms " +
			"of RFC 6570, as in {?q}, {/path}, {a,b}, {name*} and {name:3}, are not built: write " +
			"out what they stand for, as in ?q={q}. Between two variables stands literal text, " +
			"and each stands once.",
		Example: `//mcp:resource uri=people/{id} minrole=Viewer
func Person(ctx context.Context, id int) (string, error)`,
		Cure: "Write the scheme and the variables: uri=team://people/{id}.",
	},
	{
		Code:  Unbound,
		Title: "variable without parameter, or parameter without variable",
		Cause: "The variables of a resource's URI are the handler's parameters, by the names " +
			"that parameters have as properties: userID is {user_id}. Each has the other.",
		Example: `//mcp:resource uri=team://people/{id} minrole=Viewer
func Person(ctx context.Context, name string) (string, error)`,
		Cure: "Give both the same name.",
	},
	{
		Code:  Overlap,
		Title: "one URI, two rules",
		Cause: "A URI may be both resources', and their access differs: which of them decides " +
			"would hang on the order in which they are tried. Resources that overlap have equal " +
			"rules and an equal denial=.",
		Example: `//mcp:resource uri=team://people/{id} minrole=Viewer
func Person(ctx context.Context, id string) (string, error)

//mcp:resource uri=team://people/salaries minrole=Admin
func Salaries(ctx context.Context) (string, error)`,
		Cure: "Change one URI so that they have none in common, as in team://salaries, or give " +
			"both the same rule. Integers and booleans have fewer URIs than strings.",
	},
	{
		Code:  UnknownReference,
		Title: "//mcp:complete refers to nothing",
		Cause: "ref= is the name of a prompt of this package, or the uri= of a resource as it is " +
			"written there, and argument= one of its arguments or variables.",
		Example: `//mcp:complete ref=welcom argument=name
func CompleteName(ctx context.Context, begun string) ([]string, error)`,
		Cure: "Correct the name; the fix suggests the nearest.",
	},
	{
		Code:  Unbindable,
		Title: "argument that cannot be bound",
		Cause: "//mcp:allow KIND={argument} binds a property of the tool's input, by its name as " +
			"clients see it: one that is there, of a string type, or for system.command of type " +
			"[]string or grant.Argv. It has one kind, or file.read and file.write. A plain " +
			"parameter that is bound has a string type that no other parameter of the handler " +
			"has, so that swapping two does not compile: a lone string will do, and not one " +
			"beside another. //mcp:rule ARGUMENT=VALUE names an enum of strings by the same " +
			"name: one that is required or has a default, is not null and not bound by " +
			"//mcp:allow, in a schema that generated code decodes.",
		Example: `//mcp:tool minrole=Viewer
//mcp:allow file.read={path}
func Read(ctx context.Context, path, encoding string) (string, error)`,
		Cure: "Correct the name, or give the parameter the type grant.Path, grant.Host or " +
			"grant.Argv of runtime/grant; for a kind of your own, a named type, as in type Table " +
			"string. For //mcp:rule, give the argument a string type with constants.",
	},
	{
		Code:  NotOpened,
		Title: "file that is decided on and never taken",
		Cause: "What a file permission is decided on is opened before the handler runs, and the " +
			"handler takes that. One that opens the name again opens what stands there by then, " +
			"which nobody has decided on. Looked for is a call of grant.File, grant.Dir or " +
			"grant.TruePath with the argument's name, a literal or a constant of the package, in " +
			"the handler's body, or in a func or method of the same package that is handed its " +
			"context, or a context made of that. This is read from the source without types: it " +
			"finds what was forgotten, not what was meant to get by. The bodies behind a method " +
			"of an interface cannot be found.",
		Example: `//mcp:tool minrole=Viewer
//mcp:allow file.read={path}
func Read(ctx context.Context, path grant.Path) (string, error) {
	text, err := os.ReadFile(string(path))
	return string(text), err
}`,
		Cure: "Take the file: f, err := grant.File(ctx, \"path\"), or grant.Dir for a directory, " +
			"or grant.TruePath for what needs a path. On an interface, annotate the method of " +
			"the type that answers.",
	},
	{
		Code:  NoWorker,
		Title: "receiver that nobody makes",
		Cause: "A method with isolate=process runs in a process of its own, which has nothing of " +
			"the server's memory: its receiver is made there, by the one func of the package " +
			"with //mcp:worker that returns its type.",
		Example: `//mcp:tool minrole=Viewer
//mcp:limit isolate=process
func (s *Service) Render(ctx context.Context, page string) (string, error)`,
		Cure: "Write //mcp:worker on a func() *Service or func() (*Service, error), which may " +
			"take a context, or serve a func.",
	},
	{
		Code:  MoreThanDeclared,
		Title: "code that reaches more than capabilities= declares",
		Cause: "`mcpgen prove` has followed the calls of the handler to a func that opens files, reaches the network or starts programs, and capabilities= does not list that. The finding stands at the last call of the way that is in your module, and names the way. Calls through interfaces lead to all types that can be meant, so a way may be one that is never taken.",
		Example: `//mcp:tool minrole=Viewer
//mcp:limit capabilities=none
func Read(ctx context.Context, name string) (string, error) {
	text, err := os.ReadFile(name)
	return string(text), err
}`,
		Cure: "Add the capability to capabilities=, or remove the call. Without capabilities= " +
			"what is reached is recorded and not judged.",
	},
	{
		Code:  Unprovable,
		Title: "code that may reach anything, with capabilities=",
		Cause: "`mcpgen prove` has met what it cannot follow: C or assembly, an unsafe.Pointer, a system call, a call by reflection, a method of an interface that no type of the module implements, or a func value that nothing it sees sets. capabilities= says what is reached at most, which can then not be held.",
		Example: `//mcp:tool minrole=Viewer
//mcp:limit capabilities=files
func (s *Service) Render(ctx context.Context, page string) (string, error) {
	return s.render(page) // a func value, set elsewhere
}`,
		Cure: "Call by name, or have the package that implements the interface imported by the " +
			"handler's; or leave capabilities= out: what is reached is then recorded, with what " +
			"is unknown of it, and not judged.",
	},
	{
		Code:  WritesReadOnly,
		Title: "readonly tool that may write files or start programs",
		Cause: "The tool tells clients that it changes nothing, and `mcpgen prove` has followed the calls of its handler to a func that starts programs or writes files: os.WriteFile, os.Create, os.Remove and their like, the writing methods of *os.File and *os.Root, os.OpenFile with flags that write or are no constant, and grant.File, grant.Dir and grant.TruePath of an argument with a permission other than file.read.",
		Example: `//mcp:tool minrole=Viewer readonly
func Peek(ctx context.Context, name string) error {
	return os.WriteFile(name, nil, 0o600)
}`,
		Cure: "Take readonly out, or do without the call. For reading, os.Open does, and " +
			"os.OpenFile with os.O_RDONLY.",
	},
	{
		Code:  HiddenText,
		Title: "text that people do not see",
		Cause: "A comment, a tag, a directive, an enum or a schema that clients are sent has a " +
			"character that a model reads and a person does not see: a bidirectional control, a " +
			"tag character, a control character or another invisible one. It can hide " +
			"instructions, or show the text in another order. Joiners and variation selectors " +
			"within emoji and scripts are allowed. mcpgen leaves out comments of other modules " +
			"that have such a character.",
		Example: `// Find finds a device.\u202e
//
//mcp:tool minrole=Viewer title="Find\u200b"
func Find(ctx context.Context, in FindInput) (Device, error)`,
		Cure: "Remove the character. Text of right-to-left scripts needs no control.",
	},
	{
		Code:  StrayConstant,
		Title: "constant that an enum lacks",
		Cause: "The enum of a string type is its const block with the most constants, of two or " +
			"more. A constant of the type in another block, whose value that block lacks, would " +
			"be refused as an argument. A constant that repeats a value of the block " +
			"is no finding.",
		Example: `type Color string

const (
	Red  Color = "red"
	Blue Color = "blue"
)

const Green Color = "green"`,
		Cure: "Move the constant into the block of the others, or declare it without the type. " +
			"Where any text is valid, use string in place of the type.",
	},
}
