package invoke

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/internal/pattern"
	"github.com/mcpgen/mcpgen/internal/structured"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/decode"
	"github.com/mcpgen/mcpgen/runtime/grant"
	"github.com/mcpgen/mcpgen/runtime/internal/discovery"
	"github.com/mcpgen/mcpgen/runtime/internal/principal"
	"github.com/mcpgen/mcpgen/runtime/internal/wire"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// Tool is one tool of a server. Its Call is set, and its Timeout unless NonBlocking is.
type Tool struct {
	toolset.Tool
	Public  *mcp.Tool // as lists show it to callers who may see all fields; never written to
	Headers Headers   // that it binds to arguments
	Fields  []string  // guarded, of the result; sorted

	output   *decode.Shape     // nil without an output schema
	result   *decode.Shape     // with the guarded fields of the result; nil without them
	wrapped  *decode.Shape     // that of the result in versions with sessions, if they wrap it
	guards   []string          // the guarded fields of the arguments, sorted
	form     structured.Form   // of the structured content
	lenient  *decode.Lenient   // nil for strict arguments
	ruled    []string          // the arguments whose values have rules, sorted
	defaults map[string]string // of the arguments whose values have rules, where they have one

	within map[string]*grant.Set // the bounds of //mcp:allow, by argument
}

// Schemas holds the parsed output schemas of a server's tools, which tools of one type share.
type Schemas map[string]parsedOutput

type parsedOutput struct {
	structured.Schema
	shape *decode.Shape
}

// parse parses a schema once.
func (s Schemas) parse(schema string) (parsed parsedOutput, err error) {
	parsed, ok := s[schema]
	if !ok {
		parsed.Schema = wire.OutputSchema([]byte(schema))
		parsed.shape, err = decode.ParseShape(schema)
		s[schema] = parsed
	}
	return parsed, err
}

// bindFields finds the guarded fields in the schemas of a tool.
func (t *Tool) bindFields(schemas Schemas) error {
	var errs []error
	if strings.Contains(t.Input, discovery.FieldKeyword) {
		input, err := decode.ParseShape(t.Input)
		if errs = append(errs, err); err == nil {
			t.guards = input.Fields()
		}
	}
	if result := cmp.Or(t.Output, t.Guarded); strings.Contains(result, discovery.FieldKeyword) {
		parsed, err := schemas.parse(result)
		if errs = append(errs, err); err == nil {
			t.Fields = parsed.shape.Fields()
		}
		if t.result = parsed.shape; err == nil && t.form == structured.InResult {
			t.wrapped, err = decode.ParseShape(string(parsed.InSessions))
			errs = append(errs, err)
		}
	}
	errs = append(errs, errorIf(len(t.Fields) > 0 && (t.SDK || t.Returns > toolset.JSON),
		"its result has guarded fields, and the handler makes the result itself: run go generate"))
	return errors.Join(errs...)
}

// Places returns the places of a guarded field in the schemas of the tool: JSON Pointers that begin
// with /inputSchema, /outputSchema, or with /result if lists have no schema of the result.
func (t *Tool) Places(field string) []string {
	result := "/outputSchema"
	if t.Output == "" {
		result = "/result"
	}
	return append(placesOf(field, "/inputSchema", decode.Value(t.Input)),
		placesOf(field, result, decode.Value(cmp.Or(t.Output, t.Guarded)))...)
}

func placesOf(field, at string, schema decode.Value) (all []string) {
	if f := schema.Member(discovery.FieldKeyword); f != nil && string(f.Text()) == field {
		all = append(all, at)
	}
	for i, item := range schema.Items() {
		all = append(all, placesOf(field, at+"/"+strconv.Itoa(i), item)...)
	}
	for name, part := range schema.Members() {
		step := strings.ReplaceAll(strings.ReplaceAll(string(name), "~", "~0"), "/", "~1")
		all = append(all, placesOf(field, at+"/"+step, part)...)
	}
	return all
}

// Cut returns the output of the tool as any version has it, which is JSON, without hidden fields.
func (t *Tool) Cut(output []byte, hidden []string) ([]byte, error) {
	output, err := t.result.Cut(output, hidden)
	if err == nil && t.wrapped != nil {
		output, err = t.wrapped.Cut(output, hidden)
	}
	return output, err
}

// NewTool checks a tool and parses its schemas.
func NewTool(t toolset.Tool, schemas Schemas) (*Tool, error) {
	built := &Tool{Tool: t, Public: &mcp.Tool{
		Name: t.Name, Title: t.Title, Description: t.Description,
		Annotations: annotations(t.Annotations),
		Icons:       Icons(t.Icons), InputSchema: json.RawMessage(t.Input)}}
	if t.Handle != nil {
		built.Call = callOf(t)
	}
	var inErr, outErr, metaErr, boundErr error
	if t.Meta != "" {
		d := json.NewDecoder(strings.NewReader(t.Meta))
		d.UseNumber()
		metaErr = d.Decode(&built.Public.Meta)
	}
	built.Headers, inErr = parseInput(t.Input)
	built.within, boundErr = bounds(t.Allow)
	if t.Returns == toolset.Value {
		built.form = structured.InResult
	}
	if t.Output != "" {
		parsed, err := schemas.parse(t.Output)
		built.output, built.form, outErr = parsed.shape, parsed.Form, err
		built.Public.OutputSchema = parsed.Natural
	}
	guardErr := built.bindFields(schemas)
	errs := []error{guardErr,
		checkName(t.Name),
		errorIf(t.Omits && (t.Output == "" || t.SDK || t.Returns >= toolset.Nothing),
			"it has Omits, and the server does not encode its result by a schema: run go generate"),
		errorIf(built.Call == nil, "it has no handler: run go generate"),
		setTimeout(&built.Timeout, t.NonBlocking),
		onlyComputes(t.NonBlocking, map[string]bool{"Allow": len(t.Allow) > 0,
			"Elicits": t.Elicits, "Isolate": t.Isolate != "", "SDK": t.SDK, "Task": t.Task != ""})}
	for _, alias := range t.Aliases {
		if err := checkName(alias); err != nil {
			errs = append(errs, fmt.Errorf("alias %q: %w", alias, err))
		}
	}
	for i, name := range t.Catalogs {
		errs = append(errs,
			errorIf(name == "", "it is in a catalog without a name: run go generate"),
			errorIf(name != "" && slices.Contains(t.Catalogs[:i], name),
				"it is in the catalog %q twice: run go generate", name))
	}
	return built, errors.Join(append(errs, inErr, outErr, metaErr, boundErr)...)
}

// annotations returns the hints as lists show them.
func annotations(a toolset.Annotations) *mcp.ToolAnnotations {
	if a == (toolset.Annotations{}) {
		return nil
	}
	return &mcp.ToolAnnotations{ReadOnlyHint: a.ReadOnlyHint, DestructiveHint: a.DestructiveHint,
		IdempotentHint: a.IdempotentHint, OpenWorldHint: a.OpenWorldHint}
}

// Icons returns icons in go-sdk's type.
func Icons(icons []toolset.Icon) (list []mcp.Icon) {
	for _, i := range icons {
		list = append(list, mcp.Icon{Source: i.Source, MIMEType: i.MIMEType,
			Sizes: slices.Clone(i.Sizes), Theme: mcp.IconTheme(i.Theme)})
	}
	return list
}

func errorIf(wrong bool, format string, args ...any) error {
	if !wrong {
		return nil
	}
	return fmt.Errorf(format, args...)
}

// allows reports whether calls of the tool may use resources of a family.
func (t *Tool) allows(f pattern.Family) bool {
	isOf := func(a toolset.Allow) bool { return pattern.FamilyOf(a.Kind) == f }
	return slices.ContainsFunc(t.Allow, isOf)
}

// checkName applies the protocol's rule for tool names (specification 2025-11-25, server/tools).
func checkName(name string) error {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-."
	return errorIf(name == "" || len(name) > 128 || strings.Trim(name, letters) != "",
		"not a tool name: use 1 to 128 of the letters A to Z, digits, dot, underscore and hyphen")
}

// onlyComputes refuses a handler with NonBlocking whose call needs a worker: with one of the other
// fields, by their names, it may wait.
func onlyComputes(nonBlocking bool, waits map[string]bool) (err error) {
	for _, field := range slices.Sorted(maps.Keys(waits)) {
		err = errors.Join(err, errorIf(nonBlocking && waits[field],
			"it has NonBlocking and %s, and a call with %[1]s may wait: remove one of the two", field))
	}
	return err
}

// setTimeout replaces a time limit of 0 by the default. A handler that only computes has none.
func setTimeout(limit *time.Duration, nonBlocking bool) error {
	if nonBlocking {
		return errorIf(*limit != 0, "it has NonBlocking and the timeout %s: remove one of the two",
			*limit)
	}
	*limit = cmp.Or(*limit, DefaultTimeout)
	return errorIf(*limit < 0, "its timeout is %s: use a positive one, or 0 for %s",
		*limit, DefaultTimeout)
}

// BindValues prepares a tool for the rules of its values. Each value of an enum of the input schema
// needs a rule.
func (t *Tool) BindValues(of []access.Rule) error {
	rules := map[string][]string{}
	for _, rule := range of {
		rules[rule.Argument] = append(rules[rule.Argument], rule.Value)
	}
	t.ruled = slices.Sorted(maps.Keys(rules))
	if len(rules) == 0 {
		return nil
	}
	var input struct {
		Properties map[string]struct {
			Enum    []any `json:"enum"`
			Default any   `json:"default"`
		} `json:"properties"`
		Required []string `json:"required"`
	}
	if err := json.Unmarshal([]byte(t.Input), &input); err != nil {
		const problem = "tool %q: its input schema is not JSON (%w): run go generate"
		return fmt.Errorf(problem, t.Name, err)
	}
	t.defaults = map[string]string{}
	for name, values := range rules {
		var enum []string
		for _, value := range input.Properties[name].Enum {
			if text, ok := value.(string); ok {
				enum = append(enum, text)
			}
		}
		slices.Sort(enum)
		slices.Sort(values)
		text, hasDefault := input.Properties[name].Default.(string)
		switch {
		case !slices.Equal(enum, values):
			return fmt.Errorf("tool %q: the rules of its argument %q cover the values %q, but its "+
				"schema has %q: run go generate", t.Name, name, values, enum)
		case hasDefault:
			t.defaults[name] = text
		case !slices.Contains(input.Required, name):
			return fmt.Errorf("tool %q: the values of its argument %q have rules, but it is optional "+
				"without a default: run go generate", t.Name, name)
		}
	}
	return nil
}

// BindLenient prepares a tool for lenient arguments if it, or all, have them. What a decision
// depends on stays strict: an argument with //mcp:allow, with rules of its values, or with an HTTP
// header. BindValues comes first.
func (t *Tool) BindLenient(all bool) error {
	if t.Strict || !t.Lenient && !all {
		return nil
	}
	strict := slices.Clone(t.ruled)
	for _, allow := range t.Allow {
		strict = append(strict, allow.Argument)
	}
	var err error
	if t.lenient, err = decode.ParseLenient(t.Input, strict...); err != nil {
		return fmt.Errorf("tool %q: lenient arguments: %w: run go generate", t.Name, err)
	}
	return nil
}

// choices returns what a call may send to a tool with rules by value.
func (t *Tool) choices(of []access.Choice) *decode.Choices {
	choices := &decode.Choices{}
	for _, c := range of {
		choice := decode.Choice{Property: c.Argument, Values: c.Values}
		if value, has := t.defaults[c.Argument]; has && !slices.Contains(c.Values, value) {
			choice.Refused = &value
		}
		choices.Of = append(choices.Of, choice)
	}
	return choices
}

// refuseChoice turns the report of arguments that do not fit into a denial, if a value or a field
// is the reason. The caller gets the error of a value or property that does not exist, after the
// same time: the same is done for these, up to the report.
func (c *call) refuseChoice(r *Report) {
	if fields := slices.Concat(c.choices.Sent, c.choices.Hidden); len(fields) > 0 {
		d := c.Policy.Table.Of(access.Fields).Decide(*c.caller, fields[0])
		missing := fields[0] + " " + principal.Missing(nil, d)
		if len(c.choices.Sent) > 0 {
			r.Failure, r.Axis, r.Missing = audit.Denied, string(access.AxisFields), missing
		}
	}
	if len(c.choices.Refused) == 0 {
		return
	}
	at := slices.IndexFunc(c.choices.Refused, func(r decode.Refused) bool { return r.Known })
	refused := c.choices.Refused[max(at, 0)]
	rule := access.Rule{Tool: c.name, Argument: refused.Property, Value: refused.Value}
	d := c.Policy.Table.Of(access.Values).Decide(*c.caller, rule.Name())
	missing := refused.Property + "=" + refused.Value + " " + principal.Missing(nil, d)
	if refused.Known {
		r.Failure, r.Axis, r.Missing = audit.Denied, string(access.AxisValues), missing
	}
}
