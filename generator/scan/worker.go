package scan

import (
	"go/types"
	"maps"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/generator/diag"
	"github.com/mcpgen/mcpgen/generator/directive"
	"github.com/mcpgen/mcpgen/generator/model"
)

// defaultMemory bounds calls in a process of their own that write no //mcp:limit memory=.
const defaultMemory = 512 * model.MiB

// workerShape is the cure of every //mcp:worker that has another one.
const workerShape = "write func() *T, func() (*T, error), or the same with ctx context.Context, for a type T of this package"

// maker is a func of //mcp:worker.
type maker struct {
	model.Worker
	decl    *decl
	written *directive.Directive
	used    bool
}

// workers reads //mcp:worker: by the names of types, who makes them in a process of their own. One
// that could not be read stands for its type where that is known, so that what uses it is not
// reported too.
func (s *scanner) workers() {
	s.makers = map[string]*maker{}
	for _, d := range s.decls {
		written := d.find("worker")
		if written == nil || d.fn == nil {
			continue
		}
		m := &maker{Worker: model.Worker{Name: d.fn.Name()}, decl: d, written: written}
		typ := s.makes(m)
		if typ == "" {
			s.unmade = true
			if !invalid(d.fn.Signature()) {
				s.report(diag.BadShape, d.name.Pos(), d.name.End(), workerShape,
					"%s has the wrong shape for //mcp:worker", handlerName(d))
			}
			continue
		}
		if other := s.makers[typ]; other != nil {
			other.used = true // one of the two is, whichever stays
			s.report(diag.Duplicate, written.Pos, written.End, "remove one of the two",
				"%s already has a //mcp:worker, %s, at %s", typ, other.Name, s.short(other.written.Pos))
			continue
		}
		s.makers[typ] = m
	}
}

// makes returns the name of the type that a worker makes, or nothing where its shape is another.
func (s *scanner) makes(m *maker) string {
	sig := m.decl.fn.Signature()
	in, out := sig.Params(), sig.Results()
	switch {
	case sig.Recv() != nil || sig.TypeParams().Len() > 0 || in.Len() > 1 || out.Len() == 0 || out.Len() > 2 || m.decl.name.Name == "_":
		return ""
	case in.Len() == 1 && (!isContext(in.At(0).Type()) || sig.Variadic()), out.Len() == 2 && !isError(out.At(1).Type()):
		return ""
	}
	t := out.At(0).Type()
	n, ok := types.Unalias(pointee(t)).(*types.Named)
	if !ok || n.Obj().Pkg() != s.pkg.Types || n.TypeParams().Len() > 0 || isPointer(t) && types.IsInterface(n) {
		return ""
	}
	m.Context, m.Error = in.Len() == 1, out.Len() == 2
	return n.Obj().Name()
}

// isolated finds who makes the receiver of a handler with isolate=process, or reports that nobody
// does.
func (s *scanner) isolated(d *decl, t *model.Tool) {
	if t.Limits.Isolate == "" {
		return
	}
	arg, _ := d.find("limit").Arg("isolate")
	if t.Handler.SDK {
		s.report(diag.BadShape, arg.Pos, arg.End, "write func(ctx context.Context, in In) (Out, error), or remove isolate=process",
			"%s takes the request, which is not available in the process of a call", handlerName(d))
		return
	}
	if t.Output.Kind == model.SDKOutput {
		s.report(diag.BadShape, arg.Pos, arg.End,
			"return []mcp.Content, a string or a struct, or remove isolate=process",
			"%s returns *mcp.CallToolResult, which the process of a call cannot return",
			handlerName(d))
		return
	}
	if d.recv == nil {
		return
	}
	m := s.makers[d.recv.Name()]
	if m == nil {
		if !s.unmade {
			s.report(diag.NoWorker, arg.Pos, arg.End,
				"write //mcp:worker on a func that creates the receiver, for example func New"+
					upperFirst(d.recv.Name())+"() (*"+d.recv.Name()+", error), or serve a func",
				"%s is a method, and no //mcp:worker creates its receiver %s in the process of a call",
				handlerName(d), d.recv.Name())
		}
		return
	}
	m.used = true
	t.Worker = &m.Worker
}

// idle reports workers that no tool needs, and watches over the others.
func (s *scanner) idle() {
	for _, name := range slices.SortedFunc(maps.Keys(s.makers), strings.Compare) {
		m := s.makers[name]
		if m.used {
			s.handlers = append(s.handlers, m.decl.fn)
			continue
		}
		s.report(diag.Misplaced, m.written.Pos, m.written.End, "remove it, or write //mcp:limit isolate=process on a method of "+name,
			"//mcp:worker for %s has no effect: none of its methods has isolate=process", name)
	}
}
