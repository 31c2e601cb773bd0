package emit

import (
	"slices"
	"time"

	"github.com/mcpgen/mcpgen/generator/internal/model"
	"github.com/mcpgen/mcpgen/generator/internal/naming"
)

// plan is a service with a name for everything that is going to be declared.
type plan struct {
	model.Service
	names *names

	ctx, call, in, err string            // locals of the closures
	job                string            // what a process of its own runs; empty without one
	receivers          map[string]string // the receivers that are made there, by type
	params             map[string]string // Toolset's parameter by receiver type
	stale              string            // names the remedy in the compiler's message
	timeout            time.Duration     // of tools that have no row of their own
	manifest           string            // the digest of mcp.manifest.json
	schemas            *schemas
	decoders           *decoders
	file               file
	declared           int // names.handed from here on are package-level names
}

// newPlan names what mcp_gen.go declares. The order is that of precedence: the packages that
// generated code is written against keep their names, then locals, parameters, constants.
func newPlan(s model.Service) (*plan, error) {
	n := newNames(s.Scope)
	n.reserve("Toolset")
	if s.Server.Client != "" {
		n.reserve(model.CheckArguments)
	}
	for _, served := range s.Served() {
		n.reserve(served.Const)
	}
	n.reserve(tokens(s)...)
	p := &plan{Service: s, names: n, params: map[string]string{},
		receivers: map[string]string{}}
	p.file = newFile(s.Name, n, p.exprs()...)
	p.ctx, p.call, p.in, p.err = n.pick("ctx"), n.pick("call"), n.pick("in"), n.pickReserved("err")
	for _, r := range s.Receivers {
		p.params[r.Type] = n.pick(r.Param)
	}
	if isolates(s) {
		p.job = n.pick("job")
	}
	for _, tool := range s.Tools {
		if of := tool.Handler.Recv; tool.Worker != nil && p.receivers[of] == "" {
			if p.receivers[of] = p.params[of]; p.receivers[of] == "" {
				p.receivers[of] = n.pick(naming.LowerFirst(of))
			}
		}
	}
	for _, imported := range s.Imports {
		n.reserve(imported.Name)
	}
	p.declared = len(n.handed)
	p.stale = n.pick("runGoGenerate")
	// The default time limit is the package's, if something has it.
	if slices.ContainsFunc(p.inputs(), func(t model.Tool) bool {
		return t.Limits.Timeout == model.DefaultTimeout
	}) {
		p.timeout = model.DefaultTimeout
	}
	p.schemas = &schemas{names: n, inputs: map[string]string{}, outputs: map[string]string{},
		guarded: map[string]string{}}
	p.decoders = newDecoders(n, s.Objects)
	return p, p.nameTypes()
}

// fileNames are what a further file of the package may not call its imports.
func (p *plan) fileNames() *names {
	n := newNames(p.Scope)
	n.reserve("Toolset", model.CheckArguments)
	for _, served := range p.Served() {
		n.reserve(served.Const)
	}
	n.reserve(tokens(p.Service)...)
	n.reserve(p.names.handed[p.declared:]...)
	return n
}

// nameTypes gives each input and output type its schema constant and each input its decoder:
// inputs first, so that a type used as both has the plain name for what clients send.
func (p *plan) nameTypes() error {
	for _, tool := range p.inputs() {
		schema, err := p.schemas.input(tool)
		if err != nil {
			return err
		}
		p.decoders.add(tool, schema)
	}
	p.decoders.nameObjects()
	for _, tool := range p.Tools {
		if err := p.schemas.output(tool); err != nil {
			return err
		}
	}
	return nil
}

// inputs are all that takes arguments. Prompts and resources are named by their constants,
// which no tool's name can be mistaken for in this package.
func (p *plan) inputs() []model.Tool {
	inputs := slices.Clone(p.Tools)
	for _, prompt := range p.Prompts {
		inputs = append(inputs, keyed(prompt.Tool))
	}
	for _, r := range p.Resources {
		inputs = append(inputs, keyed(r.Tool))
	}
	return inputs
}

// keyed is a prompt or a resource under the name that its input's schema and decoder are kept
// under: a tool of the same name has others.
func keyed(t model.Tool) model.Tool {
	t.Name = "const " + t.Const
	return t
}

// exprs are the expressions in mcp_gen.go: it must be able to import their packages.
func (p *plan) exprs() []model.Expr {
	var exprs []model.Expr
	for _, tool := range p.inputs() {
		exprs = append(exprs, tool.Input.Type)
		for _, param := range tool.Input.Params {
			exprs = append(exprs, param.Type)
		}
	}
	if isolates(p.Service) {
		exprs = append(exprs, model.Expr{{Text: "Register", Path: sandboxPath, Package: "sandbox"}})
	}
	for _, o := range p.Objects {
		exprs = append(exprs, o.Type)
		for _, f := range o.Fields {
			exprs = append(exprs, codecExprs(f.Codec)...)
		}
	}
	return append(exprs, guardExprs(p.compileGuards(false))...)
}

// codecExprs are the types in the code of a codec.
func codecExprs(c model.Codec) []model.Expr {
	exprs := []model.Expr{c.Type}
	if c.Elem != nil {
		exprs = append(exprs, codecExprs(*c.Elem)...)
	}
	return exprs
}
