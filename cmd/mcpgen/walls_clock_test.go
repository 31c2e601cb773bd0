package main

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/internal/testrepo"
)

// shortest is the shortest time limit that a test may set outside a bubble: a busy machine can stop
// a process for seconds.
const shortest = 5 // seconds

// clockUses are the functions of tests that may read the clock, sleep or set a short time limit
// outside a bubble, each with its reason. The key is the file and the function.
var clockUses = map[string]string{
	"generator/internal/emit/permissions_test.go permissions":                 "generated code, no timer",
	"generator/internal/emit/services_test.go nameCollisions":                 "generated code, no timer",
	"generator/internal/emit/services_test.go relativeRoles":                  "generated code, no timer",
	"runtime/sandbox/limits_linux_test.go init":                               "limits that processes of tests must reach",
	"runtime/internal/transport/reply_test.go SetWriteDeadline":               "bubbles reach it by way of net/http",
	"runtime/internal/transport/unread_test.go SetWriteDeadline":              "bubbles reach it by way of net/http",
	"runtime/internal/worker/deadlines_test.go Reached":                       "bubbles reach it by way of Deadlines",
	"testdata/bench/soak_test.go load":                                        "its measure is time",
	"testdata/bench/soak_test.go watch":                                       "its measure is time",
	"internal/noninterference/trace_test.go one":                              "bubbles reach it by way of inBubble",
	"internal/noninterference/trace_test.go wait":                             "bubbles reach it by way of inBubble",
	"internal/noninterference/world_test.go behave":                           "bubbles reach it by way of inBubble",
	"internal/noninterference/world_test.go options":                          "bubbles reach it by way of inBubble",
	"internal/noninterference/world_test.go end":                              "bubbles reach it by way of inBubble",
	"internal/uritemplate/uritemplate_test.go TestTimeDoesNotRevealATemplate": "its promise is time",
}

// TestWallsNoTestDependsOnTime fails for a test that sleeps, compares elapsed time or sets a time
// limit below five seconds, outside a testing/synctest bubble. Such a test fails on a busy machine.
// Wait for an event, count the work, or use a bubble.
func TestWallsNoTestDependsOnTime(t *testing.T) {
	root := testrepo.Root(t)
	packages := map[string][]*ast.File{}
	files := token.NewFileSet()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != root && strings.HasPrefix(d.Name(), "."):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, "_test.go"):
			return nil
		}
		f, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		dir := filepath.Dir(path)
		packages[dir] = append(packages[dir], f)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{}
	for _, dir := range slices.Sorted(maps.Keys(packages)) {
		for _, use := range clockUsesOf(files, packages[dir]) {
			file, err := filepath.Rel(root, use.position.Filename)
			if err != nil {
				t.Fatal(err)
			}
			key := fmt.Sprintf("%s %s", filepath.ToSlash(file), use.function)
			if used[key] = true; clockUses[key] == "" {
				t.Errorf("%s:%d: %s %s", file, use.position.Line, use.function, use.what)
			}
		}
	}
	for key := range clockUses {
		if !used[key] {
			t.Errorf("clockUses lists %s, which does not use the clock", key)
		}
	}
}

// TestWallsFindUsesOfTheClock checks the rule itself.
func TestWallsFindUsesOfTheClock(t *testing.T) {
	const source = `package p
func TestA(t *testing.T) {
	time.Sleep(d)
	took := time.Since(start)
	context.WithTimeout(ctx, 4*time.Second)
	context.WithTimeout(ctx, wait)
	time.After(short)
	New(Options{CallTimeout: 20 * time.Millisecond, Name: "x"})
	for time.Now().Before(end) {
	}
}
func TestB(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { time.Sleep(1); inside() })
	context.WithTimeout(ctx, 5*time.Second)
	context.WithTimeout(ctx, time.Minute)
	log(1500*time.Millisecond)
	both()
	never.Sleep(1)
}
func TestC(t *testing.T) { synctest.Test(t, func(t *testing.T) { both() }) }
func inside() { time.Sleep(1); deeper() }
func deeper() { time.Sleep(1) }
func both() { time.Sleep(1) }
const short, wait = 100 * time.Millisecond, 10 * time.Second
`
	files := token.NewFileSet()
	f, err := parser.ParseFile(files, "a_test.go", source, 0)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, use := range clockUsesOf(files, []*ast.File{f}) {
		got = append(got, fmt.Sprint(use.position.Line, " ", use.function))
	}
	want := []string{"3 TestA", "4 TestA", "5 TestA", "7 TestA", "8 TestA", "9 TestA", "23 both"}
	if !slices.Equal(got, want) {
		t.Errorf("the uses are %q, want %q", got, want)
	}
}

// clockUse is one place that depends on the clock.
type clockUse struct {
	position       token.Position
	function, what string
}

// clockScan finds the uses of the clock in the tests of one package.
type clockScan struct {
	files     *token.FileSet
	constants map[string]constant.Value // of durations, in seconds
	uses      map[string][]clockUse     // outside bubbles, by function
	outside   map[string]map[string]bool
	inside    map[string]bool // names that a bubble uses
}

// clockUsesOf returns the uses of the clock outside bubbles. A function that only bubbles call, or
// functions of this kind, is inside.
func clockUsesOf(files *token.FileSet, tests []*ast.File) []clockUse {
	s := clockScan{files, map[string]constant.Value{}, map[string][]clockUse{},
		map[string]map[string]bool{}, map[string]bool{}}
	for _, f := range tests {
		ast.Inspect(f, func(n ast.Node) bool {
			if c, ok := n.(*ast.ValueSpec); ok {
				for i, name := range c.Names {
					if i < len(c.Values) {
						if seconds := s.seconds(c.Values[i]); seconds != nil {
							s.constants[name.Name] = seconds
						}
					}
				}
			}
			return true
		})
	}
	for _, f := range tests {
		for _, d := range f.Decls {
			name := "init"
			if fn, ok := d.(*ast.FuncDecl); ok {
				name = fn.Name.Name
			}
			s.read(name, d)
		}
	}
	// callers of each function, outside bubbles, without those that are inside themselves.
	inBubble := map[string]bool{}
	for changed := true; changed; {
		changed = false
		for name := range s.uses {
			changed = s.bubbled(name, inBubble) || changed
		}
		for name := range s.outside {
			changed = s.bubbled(name, inBubble) || changed
		}
	}
	var all []clockUse
	for name, uses := range s.uses {
		if !inBubble[name] {
			all = append(all, uses...)
		}
	}
	slices.SortFunc(all, func(a, b clockUse) int {
		if by := strings.Compare(a.position.Filename, b.position.Filename); by != 0 {
			return by
		}
		return a.position.Offset - b.position.Offset
	})
	return all
}

// bubbled notes that a function is called by bubbles alone, and reports whether that is new.
func (s *clockScan) bubbled(name string, inBubble map[string]bool) bool {
	if inBubble[name] || strings.HasPrefix(name, "Test") {
		return false
	}
	called := s.inside[name]
	for caller, names := range s.outside {
		if caller == name || !names[name] {
			continue
		}
		if !inBubble[caller] {
			return false
		}
		called = true
	}
	if called {
		inBubble[name] = true
	}
	return called
}

// read notes what one declaration uses.
func (s *clockScan) read(function string, n ast.Node) {
	if s.outside[function] == nil {
		s.outside[function] = map[string]bool{}
	}
	ast.Inspect(n, func(n ast.Node) bool {
		use := func(what string) {
			s.uses[function] = append(s.uses[function],
				clockUse{s.files.Position(n.Pos()), function, what})
		}
		switch n := n.(type) {
		case *ast.Ident:
			s.outside[function][n.Name] = true
		case *ast.KeyValueExpr:
			if name, ok := n.Key.(*ast.Ident); ok && s.short(n.Value) {
				use("sets a short " + name.Name)
			}
		case *ast.CallExpr:
			switch called := qualified(n.Fun); called {
			case "synctest.Test":
				ast.Inspect(n, func(n ast.Node) bool {
					if name, ok := n.(*ast.Ident); ok {
						s.inside[name.Name] = true
					}
					return true
				})
				return false
			case "time.Sleep":
				use("sleeps")
			case "time.Since", "time.Until":
				use("reads elapsed time")
			case "context.WithTimeout", "context.WithTimeoutCause", "context.WithDeadline",
				"time.After", "time.NewTimer", "time.NewTicker", "time.Tick", "time.AfterFunc":
				if slices.ContainsFunc(n.Args, s.short) {
					use("sets a short " + called)
				}
			default:
				of, isMethod := n.Fun.(*ast.SelectorExpr)
				if !isMethod || len(n.Args) == 0 {
					break
				}
				now := isNow(of.X) || isNow(n.Args[0])
				if slices.Contains([]string{"After", "Before", "Sub", "Compare"},
					of.Sel.Name) && now {
					use("compares the time")
				}
				if of.Sel.Name == "Add" && isNow(of.X) && s.short(n.Args[0]) {
					use("sets a short deadline")
				}
			}
		}
		return true
	})
}

func isNow(e ast.Expr) bool {
	call, ok := e.(*ast.CallExpr)
	return ok && qualified(call.Fun) == "time.Now"
}

// qualified returns package.Name of a selector.
func qualified(e ast.Expr) string {
	if s, ok := e.(*ast.SelectorExpr); ok {
		if x, ok := s.X.(*ast.Ident); ok {
			return x.Name + "." + s.Sel.Name
		}
	}
	return ""
}

// short reports whether an expression is a duration below the shortest, and above zero.
func (s *clockScan) short(e ast.Expr) bool {
	seconds := s.seconds(e)
	return seconds != nil && constant.Sign(seconds) > 0 &&
		constant.Compare(seconds, token.LSS, constant.MakeInt64(shortest))
}

var units = map[string]constant.Value{
	"time.Nanosecond":  constant.MakeFloat64(1e-9),
	"time.Microsecond": constant.MakeFloat64(1e-6),
	"time.Millisecond": constant.MakeFloat64(1e-3),
	"time.Second":      constant.MakeInt64(1),
	"time.Minute":      constant.MakeInt64(60),
	"time.Hour":        constant.MakeInt64(3600),
}

// seconds returns the value of a constant duration, and nil for any other expression.
func (s *clockScan) seconds(e ast.Expr) constant.Value {
	switch e := e.(type) {
	case *ast.Ident:
		return s.constants[e.Name]
	case *ast.SelectorExpr:
		return units[qualified(e)]
	case *ast.ParenExpr:
		return s.seconds(e.X)
	case *ast.BinaryExpr:
		x, y := s.seconds(e.X), s.seconds(e.Y)
		if x == nil && y == nil || e.Op != token.MUL && e.Op != token.QUO {
			return nil
		}
		if x == nil {
			x = number(e.X)
		}
		if y == nil {
			y = number(e.Y)
		}
		if x.Kind() == constant.Unknown || y.Kind() == constant.Unknown {
			return nil
		}
		return constant.BinaryOp(x, e.Op, y)
	}
	return nil
}

// number returns the value of a literal, without which it is unknown.
func number(e ast.Expr) constant.Value {
	if l, ok := e.(*ast.BasicLit); ok && (l.Kind == token.INT || l.Kind == token.FLOAT) {
		return constant.MakeFromLiteral(l.Value, l.Kind, 0)
	}
	return constant.MakeUnknown()
}
