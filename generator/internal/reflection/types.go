package reflection

import (
	"encoding/json"
	"go/types"
	"slices"
	"strings"

	"github.com/invopop/jsonschema"

	"github.com/mcpgen/mcpgen/generator/internal/gotype"
	"github.com/mcpgen/mcpgen/generator/internal/load"
	"github.com/mcpgen/mcpgen/generator/internal/model"
	"github.com/mcpgen/mcpgen/generator/internal/schema"
)

// Reflected is one input or output type of a service, and the walker's copy of the Reflector's
// schema.
type Reflected struct {
	Type   model.Expr     // as seen from the service's package
	Pos    model.Position // of the type if its source was read, else of the handler
	Schema json.RawMessage
	// Apart is the reason for nothing to compare, or empty.
	Apart string
	// RequiredFromTags is the Reflector's RequiredFromJSONSchemaTags.
	RequiredFromTags bool
	// Required are JSON Pointers to the arguments that mcpgen requires and the Reflector does not.
	Required []string

	static types.Type
	in     *types.Package
	input  bool // a handler takes it
}

// Reflect walks the type as a Reflector with this CommentMap does. It returns the import paths of
// the packages whose types JSON can see.
func (r *Reflected) Reflect(comments map[string]string) (packages []string) {
	walker := schema.New(r.in, nil)
	walker.RequiredFromTags = r.RequiredFromTags
	s, problems := walker.Reflect(r.static, comments)
	if len(problems) > 0 {
		r.Apart = problems[0].Message
	} else if text, err := json.Marshal(s); err != nil {
		r.Apart = err.Error()
	} else {
		r.Schema = text
	}
	if r.input && r.Apart == "" {
		r.Required = nil
		// A type that is no object, or has no schema, is not compared.
		if in, _ := schema.New(r.in, nil).Input(r.static); in != nil {
			c := requirements{in: in, reflector: s, seen: map[*jsonschema.Schema]bool{}}
			c.compare(in, s, "")
			r.Required = c.found
		}
	}
	for _, name := range walker.Named() {
		packages = append(packages, name.Pkg().Path())
	}
	return packages
}

// requirements finds the arguments that one schema requires and another does not.
type requirements struct {
	in, reflector *jsonschema.Schema // the roots, for references
	seen          map[*jsonschema.Schema]bool
	found         []string
}

func (c *requirements) compare(in, reflector *jsonschema.Schema, at string) {
	in, reflector = value(in, c.in), value(reflector, c.reflector)
	if in == nil || reflector == nil || c.seen[in] {
		return
	}
	c.seen[in] = true
	if in.Properties != nil && reflector.Properties != nil {
		for p := in.Properties.Oldest(); p != nil; p = p.Next() {
			below := at + "/" + p.Key
			other, known := reflector.Properties.Get(p.Key)
			if !known {
				continue
			}
			if slices.Contains(in.Required, p.Key) && !slices.Contains(reflector.Required, p.Key) {
				c.found = append(c.found, below)
			}
			c.compare(p.Value, other, below)
		}
	}
	c.compare(in.Items, reflector.Items, at+"/items")
	c.compare(in.AdditionalProperties, reflector.AdditionalProperties, at+"/additionalProperties")
}

// value is the schema of a value that is not null, with its reference resolved.
func value(s, root *jsonschema.Schema) *jsonschema.Schema {
	if s == nil {
		return nil
	}
	for _, choice := range [][]*jsonschema.Schema{s.AnyOf, s.OneOf} {
		if len(choice) == 2 && choice[1].Type == "null" {
			s = choice[0]
		}
	}
	if name, ok := strings.CutPrefix(s.Ref, "#/$defs/"); ok {
		return root.Definitions[name]
	}
	return s
}

// TypesOf returns the types of a service's inputs and outputs, each once, in the order of
// the tools. Types that a schema by hand describes are left out: nothing was read from them.
func TypesOf(prog *load.Program, service model.Service) []Reflected {
	pkg := prog.Package(service.Package)
	if pkg == nil {
		return nil
	}
	var list []Reflected
	seen := map[string]int{} // places in the list, from 1
	for _, tool := range service.Tools {
		fn := handler(pkg.Types, tool.Handler)
		if fn == nil {
			continue
		}
		inputs, outputs := contract(fn.Signature(), tool)
		for i, v := range slices.Concat(inputs, outputs) {
			t := v.Type()
			if p, ok := types.Unalias(t).(*types.Pointer); ok {
				t = p.Elem()
			}
			expr := gotype.Expr(t, pkg.Types)
			input := i < len(inputs)
			if known := seen[expr.String()]; known > 0 {
				list[known-1].input = list[known-1].input || input
				continue
			}
			seen[expr.String()] = len(list) + 1
			r := Reflected{Type: expr, Pos: tool.Handler.Pos, static: t, in: pkg.Types,
				input: input}
			if n, ok := types.Unalias(t).(*types.Named); ok && prog.Local(n.Obj().Pkg()) {
				r.Pos = prog.Position(n.Obj().Pos(), n.Obj().Pos())
			}
			list = append(list, r)
		}
	}
	return list
}

// handler finds the func, method or interface method of a tool.
func handler(pkg *types.Package, h model.Handler) *types.Func {
	if h.Recv == "" {
		fn, _ := pkg.Scope().Lookup(h.Name).(*types.Func)
		return fn
	}
	recv := pkg.Scope().Lookup(h.Recv)
	if recv == nil {
		return nil
	}
	found, _, _ := types.LookupFieldOrMethod(recv.Type(), true, pkg, h.Name)
	fn, _ := found.(*types.Func)
	return fn
}

// contract returns the parameters and the results of a handler that have no schema by hand, without
// those of the protocol and its token.
func contract(sig *types.Signature, tool model.Tool) (inputs, outputs []*types.Var) {
	if tool.Input.File == "" {
		inputs = slices.Collect(sig.Params().Variables())[1:]
		if tool.Handler.SDK {
			inputs = inputs[1:]
		}
		if tool.Handler.Token != "" {
			inputs = inputs[:len(inputs)-1]
		}
	}
	if tool.Output.File == "" && tool.Output.Kind.Structured() {
		outputs = slices.Collect(sig.Results().Variables())
		outputs = outputs[len(outputs)-2 : len(outputs)-1] // before the error
	}
	return inputs, outputs
}
