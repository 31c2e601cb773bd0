package scan

import (
	"go/types"
	"maps"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/generator/internal/diag"
	"github.com/mcpgen/mcpgen/generator/internal/directive"
	"github.com/mcpgen/mcpgen/generator/internal/model"
	"github.com/mcpgen/mcpgen/generator/internal/naming"
	"github.com/mcpgen/mcpgen/generator/internal/scan/annotated"
)

// defaultMemory bounds calls in a process of their own that write no //mcp:limit memory=.
const defaultMemory = 512 * model.MiB

// limits reads //mcp:limit.
func (t *reading) limits() model.Limits {
	l := model.Limits{Timeout: model.DefaultTimeout}
	found := t.decl.Find("limit")
	if found == nil {
		return l
	}
	timeout, hasTimeout := found.Duration("timeout")
	if l.NonBlocking = found.Has("nonblocking"); hasTimeout || l.NonBlocking {
		l.Timeout = timeout
	}
	l.Memory, l.Output = found.Size("memory"), found.Size("output")
	l.Concurrency, l.Rate = found.Count("concurrency"), found.Rate("rate")
	l.Isolate = found.Text("isolate")
	l.Capabilities = slices.Sorted(slices.Values(found.List("capabilities")))
	if arg, ok := found.Arg("memory"); ok && l.Isolate == "" && !found.Broken {
		t.report(diag.Contradiction, arg.Span, "add isolate=process, or remove memory=",
			"%s has memory= without isolate=process: the server cannot measure the memory of one call "+
				"in its own process", t)
	}
	if l.Isolate != "" && l.Memory == 0 {
		l.Memory = defaultMemory
	}
	return l
}

// onlyComputes reports nonblocking beside anything for which a call may have to wait.
func (t *reading) onlyComputes() {
	if !t.Limits.NonBlocking {
		return
	}
	arg, _ := t.decl.Find("limit").Arg("nonblocking")
	for _, other := range []struct {
		is          bool
		name, waits string
	}{
		{t.Limits.Timeout != 0, "timeout=", "a handler that only computes has no time limit"},
		{t.Limits.Isolate != "", "isolate=process", "a call waits for its process"},
		{t.Task != "", "task", "a task outlives its request, and runs on its own"},
		{t.Elicits, "elicits", "a handler that asks its client does not only compute"},
		{t.Handler.SDK, "the parameter *mcp.CallToolRequest",
			"the session of the request can block"},
		{len(t.Allows) > 0, "//mcp:allow", "a call reads grants from a store, which can block"},
	} {
		if other.is {
			t.report(diag.Contradiction, arg.Span, "remove nonblocking, or "+other.name,
				"%s has nonblocking and %s: %s", t, other.name, other.waits)
		}
	}
}

// needs are the capabilities that the code of a handler with a kind of permission has.
func needs(kind string) string {
	switch {
	case isFile(kind):
		return "files"
	case kind == systemCommand:
		return "exec"
	case strings.HasPrefix(kind, "net."):
		return "network"
	}
	return ""
}

// capable reports a permission that the declared capabilities leave no use for.
func (t *reading) capable() {
	declared := t.Limits.Capabilities
	if declared == nil {
		return
	}
	arg, _ := t.decl.Find("limit").Arg("capabilities")
	reported := map[string]bool{}
	for _, a := range t.Allows {
		for _, kind := range a.Kinds {
			need := needs(kind)
			if need == "" || slices.Contains(declared, need) || reported[need] {
				continue
			}
			reported[need] = true
			t.report(diag.Contradiction, arg.Span, "add "+need+", or remove the permission",
				"%s is bound to %s, and capabilities= does not list %s", a.Argument, kind, need)
		}
	}
}

// workerShape is the cure of every //mcp:worker that has another one.
const workerShape = "write func() *T, func() (*T, error), or the same with ctx context.Context, " +
	"for a type T of this package"

// maker is a func of //mcp:worker.
type maker struct {
	model.Worker
	decl    *annotated.Decl
	written *directive.Directive
	used    bool
}

// workers reads //mcp:worker: the makers of types in a process of their own, by the names of the
// types. With a faulty one, no type counts as being without a maker.
func (s *scanner) workers() {
	s.makers = map[string]*maker{}
	for _, d := range s.decls {
		written := d.Find("worker")
		if written == nil || d.Func == nil {
			continue
		}
		m := &maker{Worker: model.Worker{Name: d.Func.Name()}, decl: d, written: written}
		typ := s.makes(m)
		if typ == "" {
			s.unmade = true
			if !invalid(d.Func.Signature()) {
				s.report(diag.BadShape, spanOf(d.Name), workerShape,
					"%s has the wrong shape for //mcp:worker", d)
			}
			continue
		}
		if other := s.makers[typ]; other != nil {
			other.used = true // one of the two is, whichever stays
			s.report(diag.Duplicate, written.Span, "remove one of the two",
				"%s already has a //mcp:worker, %s, at %s", typ, other.Name, s.short(other.written.Pos))
			continue
		}
		s.makers[typ] = m
	}
}

// makes returns the name of the type that a worker makes, or nothing where its shape is another.
func (s *scanner) makes(m *maker) string {
	sig := m.decl.Func.Signature()
	in, out := sig.Params(), sig.Results()
	switch {
	case sig.Recv() != nil, sig.TypeParams().Len() > 0, in.Len() > 1, out.Len() == 0, out.Len() > 2,
		m.decl.Name.Name == "_",
		in.Len() == 1 && (!isContext(in.At(0).Type()) || sig.Variadic()),
		out.Len() == 2 && !isError(out.At(1).Type()):
		return ""
	}
	t := out.At(0).Type()
	n, ok := types.Unalias(pointee(t)).(*types.Named)
	if !ok || n.Obj().Pkg() != s.pkg.Types || n.TypeParams().Len() > 0 ||
		isPointer(t) && types.IsInterface(n) {
		return ""
	}
	m.Context, m.Error = in.Len() == 1, out.Len() == 2
	return n.Obj().Name()
}

// isolated finds the maker of the receiver of a handler with isolate=process, or reports that it is
// missing.
func (t *reading) isolated() {
	if t.Limits.Isolate == "" {
		return
	}
	arg, _ := t.decl.Find("limit").Arg("isolate")
	if t.Handler.SDK {
		t.report(diag.BadShape, arg.Span,
			"write func(ctx context.Context, in In) (Out, error), or remove isolate=process",
			"%s takes the request, which is not available in the process of a call", t)
		return
	}
	if t.Output.Kind == model.SDKOutput {
		t.report(diag.BadShape, arg.Span,
			"return []mcp.Content, a string or a struct, or remove isolate=process",
			"%s returns *mcp.CallToolResult, which the process of a call cannot return", t)
		return
	}
	if t.decl.Recv == nil {
		return
	}
	m := t.makers[t.decl.Recv.Name()]
	if m == nil {
		if !t.unmade {
			t.report(diag.NoWorker, arg.Span,
				"write //mcp:worker on a func that creates the receiver, for example func New"+
					naming.UpperFirst(t.decl.Recv.Name())+"() (*"+t.decl.Recv.Name()+
					", error), or serve a func",
				"%s is a method, and no //mcp:worker creates its receiver %s in the process of a call",
				t, t.decl.Recv.Name())
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
			s.handlers = append(s.handlers, m.decl.Func)
			continue
		}
		s.report(diag.Misplaced, m.written.Span,
			"remove it, or write //mcp:limit isolate=process on a method of "+name,
			"//mcp:worker for %s has no effect: none of its methods has isolate=process", name)
	}
}
