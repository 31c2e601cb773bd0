package scan

import (
	"errors"
	"fmt"
	"go/types"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpgen/mcpgen/generator/internal/diag"
	"github.com/mcpgen/mcpgen/generator/internal/directive"
	"github.com/mcpgen/mcpgen/generator/internal/model"
	"github.com/mcpgen/mcpgen/internal/uritemplate"
)

// The cures of prompts, resources and completions of another shape.
const (
	promptShapes = "write func(ctx context.Context, in In) (string, error), with plain parameters " +
		"instead of in, and with []mcp.Content or *mcp.GetPromptResult instead of string"
	resourceShapes = "write func(ctx context.Context, id string) (string, error), a parameter for " +
		"each variable of uri=, and with []byte or *mcp.ReadResourceResult instead of string"
	completeShape = "write func(ctx context.Context, begun string) ([]string, error)"
)

// prompt reads a handler of //mcp:prompt.
func (t *reading) prompt() {
	returns, arguments, ok := t.offer("GetPromptResult", promptShapes, "string")
	if t.checkName(t.Name); t.written.Broken {
		return
	}
	t.partial[t.Name] = !ok
	t.Service.Prompts = append(t.Service.Prompts,
		model.Prompt{Tool: t.Tool, Returns: returns, Arguments: arguments})
}

// offer reads what prompts and resources have in common. It is not ok if the list of arguments
// lacks one because of a finding.
func (t *reading) offer(sdkResult, cure string, kinds ...string) (
	returns model.Returns, arguments []model.Argument, ok bool,
) {
	t.served()
	t.onlyComputes()
	in, out, ok := t.callable()
	if ok {
		returns, ok = t.returns(out, sdkResult, cure)
	}
	if ok {
		t.input(in)
		t.noFields(in)
		arguments, ok = t.arguments(kinds...)
	}
	if t.shows(); !t.written.Broken {
		t.handlers = append(t.handlers, t.decl.Func)
	}
	return returns, arguments, ok
}

// resource reads a handler of //mcp:resource.
func (t *reading) resource() {
	returns, variables, ok := t.offer("ReadResourceResult", resourceShapes,
		"string", "integer", "boolean")
	r := model.Resource{Tool: t.Tool, Returns: returns, Variables: variables,
		URI: t.written.Text("uri"), MIMEType: t.written.Text("mimetype"),
		Subscribe: t.written.Has("subscribe")}
	t.ruledURIs[r.URI] = slices.ContainsFunc(accessKeys, t.written.Has)
	if t.written.Broken {
		return
	}
	if ok {
		t.variables(&r)
	}
	t.partial[r.URI] = !ok
	t.Service.Resources = append(t.Service.Resources, r)
}

// variables binds the variables of the URI to the parameters, in the order of the URI.
func (t *reading) variables(r *model.Resource) {
	uri, _ := t.written.Arg("uri")
	template, err := uritemplate.Parse(r.URI)
	if err != nil {
		fix := ""
		var bad *uritemplate.Error
		if errors.As(err, &bad) {
			fix, err = bad.Cure, errors.New(bad.Message)
		}
		t.report(diag.BadURI, uri.Span, fix, "%q is neither a URI nor a URI template: %v",
			r.URI, err)
		return
	}
	parameters := r.Variables
	var bound []model.Argument
	for _, name := range template.Variables() {
		i := slices.IndexFunc(parameters, func(a model.Argument) bool { return a.Name == name })
		if i < 0 {
			t.report(diag.Unbound, uri.Span, fmt.Sprintf(
				"give %s a parameter %s, or remove {%s} from the URI", t, name, name),
				"the variable %s of the URI is not a parameter of %s", name, t)
			continue
		}
		bound = append(bound, parameters[i])
	}
	for _, a := range parameters {
		if !slices.Contains(template.Variables(), a.Name) {
			t.report(diag.Unbound, uri.Span,
				fmt.Sprintf("write {%s} into the URI, or remove the parameter", a.Name),
				"the parameter %s of %s is not a variable of the URI", a.Name, t)
		}
	}
	r.Variables = bound
}

// returns reads the one result that a prompt or a resource has beside its error.
func (t *reading) returns(out []*types.Var, sdkResult, cure string) (model.Returns, bool) {
	if len(out) == 1 {
		t := out[0].Type()
		switch {
		case isString(t):
			return model.ReturnsText, true
		case isPointer(t) && isNamed(pointee(t), sdkPath, sdkResult):
			return model.ReturnsResult, true
		case sdkResult == "GetPromptResult" && isContent(t):
			return model.ReturnsResult, true
		case sdkResult == "ReadResourceResult" && isBytes(t):
			return model.ReturnsBytes, true
		}
	}
	t.reject(diag.BadShape, cure, "%s does not return a result for a %s", t, t.written.Name)
	return 0, false
}

// arguments reads the properties of an input, whose values are texts of some kinds, and
// reports those that are not. It is not ok where any is missing because of a finding.
func (t *reading) arguments(kinds ...string) (list []model.Argument, ok bool) {
	input := t.Input.Schema
	ok = true
	switch {
	case input == nil:
		return nil, false
	case input.Properties == nil:
		return nil, true
	}
	for pair := input.Properties.Oldest(); pair != nil; pair = pair.Next() {
		p := pair.Value
		if !slices.Contains(kinds, p.Type) {
			ok = false
			want := strings.Join(kinds, " or ")
			t.reject(diag.BadShape, "give it the type "+want+", or that of an enum",
				"the argument %s of %s cannot be converted from text: a %s with type %s", pair.Key,
				t, t.written.Name, want)
			continue
		}
		a := model.Argument{
			Name: pair.Key, Title: p.Title, Description: p.Description, Type: p.Type,
			Required: slices.Contains(input.Required, pair.Key),
		}
		for _, v := range p.Enum {
			a.Values = append(a.Values, fmt.Sprint(v))
		}
		if p.Type == "boolean" && len(a.Values) == 0 {
			a.Values = []string{strconv.FormatBool(false), strconv.FormatBool(true)}
		}
		list = append(list, a)
	}
	return list, ok
}

// completion reads a handler of //mcp:complete.
func (t *reading) completion() {
	in, out, ok := t.callable()
	if !ok {
		return
	}
	list := func(t types.Type) bool {
		slice, isSlice := types.Unalias(t).(*types.Slice)
		return isSlice && isString(slice.Elem())
	}
	if len(in) != 1 || len(out) != 1 || !isString(in[0].Type()) || !list(out[0].Type()) {
		t.reject(diag.BadShape, completeShape, "%s has the wrong shape for //mcp:complete", t)
		return
	}
	if t.written.Broken {
		return
	}
	t.handlers = append(t.handlers, t.decl.Func)
	t.Service.Completions = append(t.Service.Completions, model.Completion{
		Handler: t.handler(), Ref: t.written.Text("ref"), Argument: t.written.Text("argument"),
		Pos: t.at(t.written.Span),
	})
}

// completions gives arguments and variables their handlers of //mcp:complete. A reference to
// nothing is reported, unless a directive that it could refer to was not understood, or its target
// has findings of its own.
func (s *scanner) completions() {
	for _, c := range s.Service.Completions {
		arguments, ref := s.completed(c.Ref)
		if ref == "" {
			if !s.lost("prompt", "resource") {
				fix := "declare it with //mcp:prompt or //mcp:resource"
				if refs := s.references(); len(refs) > 0 {
					fix = directive.Nearest("ref=", c.Ref, refs)
				}
				s.Findings.Add(diag.UnknownReference, c.Pos, fix,
					"this package has no prompt or resource %s", c.Ref)
			}
			continue
		}
		i := slices.IndexFunc(arguments, func(a model.Argument) bool { return a.Name == c.Argument })
		switch {
		case i < 0 && s.partial[ref]:
		case i < 0:
			var names []string
			for _, a := range arguments {
				names = append(names, a.Name)
			}
			fix := "remove it"
			if len(names) > 0 {
				fix = directive.Nearest("argument=", c.Argument, names)
			}
			s.Findings.Add(diag.UnknownReference, c.Pos, fix, "%s has no argument %s", c.Ref, c.Argument)
		case arguments[i].Complete != nil:
			s.Findings.Add(diag.Duplicate, c.Pos, "remove one of the two",
				"the argument %s of %s already has a completion: %s", c.Argument, c.Ref, arguments[i].Complete)
		default:
			handler := c.Handler
			arguments[i].Complete = &handler
		}
	}
}

// completed returns the arguments of a reference's target, which are the model's own, and its name
// or URI, or nothing.
func (s *scanner) completed(ref string) ([]model.Argument, string) {
	for _, p := range s.Service.Prompts {
		if p.Name == ref || p.Name == s.Service.Server.Prefix+ref {
			return p.Arguments, p.Name
		}
	}
	for _, r := range s.Service.Resources {
		if r.URI == ref {
			return r.Variables, r.URI
		}
	}
	return nil, ""
}

// references are the possible targets of //mcp:complete.
func (s *scanner) references() []string {
	var refs []string
	for _, p := range s.Service.Prompts {
		refs = append(refs, p.Name)
	}
	for _, r := range s.Service.Resources {
		refs = append(refs, r.URI)
	}
	return refs
}

// lost reports whether a directive of those names was not understood, so that its declaration is
// missing.
func (s *scanner) lost(names ...string) bool {
	for _, d := range s.decls {
		if d.Lost {
			return true
		}
		if found := d.Serving(); found != nil && found.Broken && slices.Contains(names, found.Name) {
			return true
		}
	}
	return false
}
