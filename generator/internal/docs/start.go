package main

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// starts are the functions that can end the start of a server. A section has the errors that those
// before it lack. New calls the two methods Check by an interface.
var starts = []struct {
	section string
	roots   []string
}{
	{"new", []string{"runtime.New", "(runtime/identity.bearer).Check",
		"(runtime/identity.static).Check"}},
	{"adopt", []string{"runtime.Adopt"}},
	{"serve", []string{"runtime.ListenAndServe", "runtime.Serve", "(*runtime.Server).RunStdio"}},
}

// later are functions that a start calls, and whose errors do not end it.
var later = []string{"(*runtime.listenConfig).shutdown", "runtime/internal/transport.ServeIO",
	"runtime/internal/principal.unreachable"}

// details matches functions whose errors another one repeats with its own.
var details = regexp.MustCompile(`^\(?\*?(internal/|runtime/grant\.)`)

// stale is the cure of errors that only old or edited generated code causes.
const stale = "run go generate"

// refusals returns the errors of a section of starts: those that need a change of the program, or
// with generated those of generated code.
func refusals(name string, generated bool) section {
	return func(r *repository) string {
		w := startWalk{bodies: r.bodies(), seen: map[string]bool{}}
		for _, name := range later {
			w.seen[name] = true
		}
		for _, s := range starts {
			w.errors = map[string]string{}
			for _, root := range s.roots {
				if _, known := w.bodies[root]; !known {
					r.fault("there is no func %s", root)
				}
				w.walk(root)
			}
			if s.section == name {
				break
			}
		}
		b := &strings.Builder{}
		if !generated {
			b.WriteString(head("error", "cure"))
		}
		for _, fault := range slices.Sorted(maps.Keys(w.errors)) {
			switch cure := w.errors[fault]; {
			case generated && cure == stale:
				fmt.Fprintf(b, "- %s\n", code(fault))
			case !generated && cure != stale:
				b.WriteString(row(code(fault), cell(cure)))
			}
		}
		return b.String()
	}
}

// body is a function with its package.
type body struct {
	*source
	*ast.FuncDecl
}

// bodies returns the functions of all packages by their names.
func (r *repository) bodies() map[string]body {
	all := map[string]body{}
	for _, s := range r.packages {
		for _, file := range s.Syntax {
			for _, d := range file.Decls {
				if d, ok := d.(*ast.FuncDecl); ok && d.Body != nil {
					all[short(s.TypesInfo.Defs[d.Name].(*types.Func))] = body{s, d}
				}
			}
		}
	}
	return all
}

// short is the name of a function without the path of the repository.
func short(f *types.Func) string { return strings.ReplaceAll(f.Origin().FullName(), home, "") }

// startWalk follows the calls of functions that report errors.
type startWalk struct {
	bodies map[string]body
	seen   map[string]bool
	errors map[string]string // cures by faults
}

func (w *startWalk) walk(name string) {
	b, known := w.bodies[name]
	if w.seen[name] || !known || details.MatchString(name) {
		return
	}
	w.seen[name] = true
	ast.Inspect(b.Body, func(n ast.Node) bool {
		call, is := n.(*ast.CallExpr)
		if !is {
			return true
		}
		called, reports := b.callee(call)
		if strings.HasPrefix(called, "(*log/slog.Logger)") || called == "fmt.Sprintf" {
			return false
		}
		if reports {
			w.walk(called)
		}
		for _, argument := range call.Args {
			text := b.message(argument)
			words := len(oneWord.FindAllString(text, -1))
			if strings.Contains(text, " ") && (words > 3 || strings.HasPrefix(text, "Options.") ||
				words > 1 && (called == "fmt.Errorf" || called == "errors.New")) {
				w.note(text)
			}
		}
		return true
	})
}

// callee returns the name of the function that a call names, and whether it returns errors or adds
// them to a list.
func (b body) callee(call *ast.CallExpr) (name string, reports bool) {
	fun := ast.Unparen(call.Fun)
	if i, is := fun.(*ast.IndexExpr); is {
		fun = i.X
	}
	id, _ := fun.(*ast.Ident)
	if f, is := fun.(*ast.SelectorExpr); is {
		id = f.Sel
	}
	f, is := b.TypesInfo.Uses[id].(*types.Func)
	if !is {
		return "", false
	}
	s := f.Signature()
	for v := range s.Results().Variables() {
		t := v.Type().String()
		reports = reports || t == "error" || t == "[]error"
	}
	lists := slices.Collect(s.Params().Variables())
	if s.Recv() != nil {
		lists = append(lists, s.Recv())
	}
	return short(f), reports || slices.ContainsFunc(lists, func(v *types.Var) bool {
		return v.Type().String() == "*"+home+"runtime.problems"
	})
}

var oneWord = regexp.MustCompile(`\pL+`)

var verbs = regexp.MustCompile(`%(\[\d\])?[-+# 0]*[\d.]*[a-zA-Z]`)

// message is a text with … for each verb, and for each operand that is no constant.
func (b body) message(e ast.Expr) string {
	if v := b.TypesInfo.Types[e].Value; v != nil && v.Kind() == constant.String {
		return verbs.ReplaceAllString(constant.StringVal(v), "…")
	}
	sum, is := e.(*ast.BinaryExpr)
	if !is || sum.Op != token.ADD {
		return ""
	}
	x, y := b.message(sum.X), b.message(sum.Y)
	switch {
	case x == "":
		return "…" + y
	case y == "":
		return x + "…"
	}
	return x + y
}

// cures matches the first words of a cure, after a fault.
var cures = regexp.MustCompile(`(?:^|[:;] |\. S)(?:add|adopt|call|correct|give|grant|leave|let|` +
	`make|map|name|pass|put|remove|rename|return|run|set|et|use|write) `)

// note adds an error. A text that begins with a cure is a detail of another error.
func (w *startWalk) note(text string) {
	switch at := cures.FindStringIndex(text); {
	case at == nil:
		w.errors[text] = ""
	case at[0] > 0:
		w.errors[text[:at[0]]] = text[at[0]+2:]
	}
}
