package schema

// Rule describes one difference between a schema for clients and the Reflector's.
type Rule struct {
	Name string
	Why  string // what the Reflector does and what clients get instead
	// Inputs and Outputs are where the rule holds.
	Inputs, Outputs bool
}

// Rules lists the differences. There is no other one. Each has a case in TestRules.
var Rules = []Rule{
	{"object-root",
		"the Reflector's root is a $ref into $defs, which go-sdk refuses; clients get an object with " +
			"properties, its definition in place", true, true},
	{"inlined",
		"the Reflector puts every named struct, slice and map into $defs and some clients trip over " +
			"$ref. Only cycles stay references, and types of a document that would outgrow inlineLimit. " +
			"Within a guarded field, types above guardedLimit stay too, and all types within a second " +
			"one", true, true},
	{"unique-names",
		"the Reflector keys definitions by the bare type name, so that equal names of two packages " +
			"merge, and generic names contain a slash; every type has a definition of its own with a " +
			"legal name", true, true},
	{"no-identity",
		"$schema, $id and $anchor say nothing to a client of a tool, and an anchor of an inlined type " +
			"would occur twice", true, true},
	{"integer-range",
		"the Reflector leaves integers unbounded; arguments have the bounds of their Go type up to " +
			"±(2^53-1): clients in JavaScript cannot keep larger numbers", true, false},
	{"open-any",
		"the Reflector writes the boolean schema true for anything; the official TypeScript SDK " +
			"refuses booleans as properties, so anything is {}; types in the tag of such a list are those " +
			"of its elements", true, true},
	{"json-fields",
		"the Reflector lets a later field of one name overwrite an earlier one, keeps unexported " +
			"embedded fields and invalid tag names, and inlines by a tag option; which field wins is " +
			"encoding/json's decision", true, true},
	{"dash-name",
		`the Reflector drops a field tagged json:"-,", which encoding/json calls "-"`, true, true},
	{"embedded-pointer",
		"the Reflector requires fields promoted through an embedded pointer, which encoding/json " +
			"leaves out when it is nil", true, true},
	{"cyclic-null",
		"the Reflector requires a pointer that leads back to its own type, so that no finite document " +
			"fits; encoding/json writes and reads null there", true, false},
	{"default-optional",
		"the Reflector requires fields that have a default; what has a default may be left " +
			"out", true, false},
	{"json-map-keys",
		"the Reflector refuses negative keys of integer maps and takes any key for unsigned ones; keys " +
			"follow the Go type, enums included", true, true},
	{"text-marshaler",
		"the Reflector goes by kind; encoding/json writes a type with a text method as a " +
			"string", true, true},
	{"number-type",
		"the Reflector makes json.Number a string; encoding/json writes a number", true, true},
	{"big-integer",
		"the Reflector makes big.Int a closed empty object; encoding/json writes an integer", true, true},
	{"url-object",
		"the Reflector makes url.URL a URI; encoding/json writes its fields", true, true},
	{"ip-text",
		"the Reflector gives net.IP the format ipv4; it holds IPv6 as well", true, true},
	{"uuid-format",
		"the Reflector makes a UUID an array of integers; arguments are strings of the format " +
			"uuid", true, false},
	{"proto-integer",
		"the Reflector offers strings for protobuf enums as jsonpb does; encoding/json knows " +
			"integers", true, true},
	{"byte-kinds",
		"the Reflector knows base64 for []byte alone; encoding/json uses it for slices of every named " +
			"byte without methods", true, true},
	{"string-option",
		"the Reflector makes a field with the string option any string; the string holds a number or a " +
			"boolean", true, false},
	{"tags-reach-named",
		"the Reflector drops limits on fields of named slices, since the property is a $ref; they hold " +
			"for the field", true, true},
	{"whole-values",
		"the Reflector drops keys of lists, numbers and booleans whose value contains an equals sign, " +
			"and reads flags from within values", true, true},
	{"typed-values",
		"the Reflector makes defaults of number lists strings, and drops examples of booleans and " +
			"readOnly on anything but strings; values have the property's type", true, true},
	{"unique-items-value",
		"the Reflector takes uniqueItems=false for true", true, true},
	{"plain-description",
		"the Reflector ignores a jsonschema tag without keys; go-sdk's convention makes it the " +
			"description", true, true},
	{"nullable-any-of",
		"the Reflector's nullable is a oneOf, which refuses null where the type takes it too, and " +
			"buries the description", true, true},
	{"nullable-optional",
		"the Reflector requires a nullable field unless it is omitempty; an absent argument and null " +
			"are both nil", true, false},
	{"references-resolved",
		"the Reflector copies references of oneof_ref and anyof_ref, which point nowhere unless the " +
			"type was met; the named type is written in place", true, true},
	{"declared-type",
		"a type with its own JSON methods has the type that its field's tag declares", true, true},
	{"typed-enums",
		"the Reflector does not know constants; an enum takes its constants as arguments and shows " +
			"them as examples of results", true, true},
	{"every-doc",
		"the Reflector finds comments by name, so it misses some declarations, for example unexported " +
			"types and embedded fields. Others get the comment of their group or of a namesake. Here " +
			"every declaration has its own comment", true, true},
	{"joined-lines",
		"the Reflector keeps the line breaks of wrapped comments and lines for other tools such as " +
			"+optional; a paragraph or a list item is one line, and lists, links, headings and code stay " +
			"as written", true, true},
	{"doc-without-name",
		"the Reflector begins the description of a type with its Go name, which has no meaning for " +
			"clients; it begins after the name, as the description of a tool does", true, true},
	{"foreign-doc",
		"the Reflector takes the comments of other modules whole; you cannot shorten or correct these, " +
			"and agents get at most 600 bytes of the first paragraph, and nothing of a comment with " +
			"hidden characters", true, true},
	{"root-without-doc",
		"the Reflector gives the root the comment of its struct; that is for Go programmers, and the " +
			"tool has a description of its own", true, false},
	{"hidden-fields",
		`the Reflector closes an object whose fields tagged jsonschema:"-" are still written by ` +
			"encoding/json; such results are open", false, true},
	{"null-results",
		"the Reflector does not tell that a nil pointer or interface is written as null", false, true},
	{"shape-only",
		"limits and defaults are for arguments; results are described by shape", false, true},
	{"null-root",
		"the Reflector ignores a pointer at the root, whose nil is a result of null", false, true},
}
