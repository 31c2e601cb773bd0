package bench

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// A large package: so many tools, evenly over so many types of input.
const (
	builtTypes   = 100
	toolsPerType = 5
)

// largePackage is a package of 500 tools over 100 distinct types. The types and handlers are the
// same for everybody; directives and limits are mcpgen's, registration is for go-sdk.
func largePackage(name string, annotated bool) string {
	var b strings.Builder
	directive, limits := "", func(string) string { return "" }
	if annotated {
		directive = "//\n//mcp:tool minrole=Member\n"
		limits = func(tag string) string { return fmt.Sprintf(" jsonschema:%q", tag) }
		fmt.Fprintf(&b, "// Package %s is large.\n//\n//mcp:server name=%s\n", name, name)
	}
	fmt.Fprintf(&b, "package %s\n\nimport (\n\t\"context\"\n", name)
	if !annotated {
		b.WriteString("\n\t\"github.com/modelcontextprotocol/go-sdk/mcp\"\n")
	}
	b.WriteString(")\n\n")
	for i := range builtTypes {
		fmt.Fprintf(&b, "// In%d is an input.\ntype In%d struct {\n", i, i)
		fmt.Fprintf(&b, "\tName%d string `json:\"name\"%s`\n", i, limits("minLength=1,maxLength=64"))
		fmt.Fprintf(&b, "\tCount int `json:\"count\"%s`\n", limits(fmt.Sprintf("minimum=1,maximum=%d", 10+i)))
		fmt.Fprintf(&b, "\tWeight float64 `json:\"weight,omitempty\"%s`\n", limits("minimum=0,maximum=1000"))
		fmt.Fprintf(&b, "\tDeep bool `json:\"deep,omitempty\"`\n")
		fmt.Fprintf(&b, "\tLabels []string `json:\"labels,omitempty\"%s`\n}\n\n", limits("maxItems=8,uniqueItems=true"))
		fmt.Fprintf(&b, "// Out%d is an output.\ntype Out%d struct {\n\tID%d string `json:\"id\"`\n\tNames []string `json:\"names\"`\n}\n\n", i, i, i)
		for j := range toolsPerType {
			fmt.Fprintf(&b, "// Do%dx%d does it.\n%sfunc Do%dx%d(ctx context.Context, in In%d) (Out%d, error) {\n\treturn Out%d{ID%d: in.Name%d}, nil\n}\n\n",
				i, j, directive, i, j, i, i, i, i, i)
		}
	}
	if annotated {
		return b.String()
	}
	b.WriteString("// Register adds all tools.\nfunc Register(s *mcp.Server) {\n")
	for i := range builtTypes {
		for j := range toolsPerType {
			fmt.Fprintf(&b, "\tmcp.AddTool(s, &mcp.Tool{Name: \"do_%d_%d\", Description: \"does it\"}, func(ctx context.Context, _ *mcp.CallToolRequest, in In%d) (*mcp.CallToolResult, Out%d, error) {\n"+
				"\t\tout, err := Do%dx%d(ctx, in)\n\t\treturn nil, out, err\n\t})\n", i, j, i, i, i, j)
		}
	}
	b.WriteString("}\n")
	return b.String()
}

// BenchmarkBuild compiles a package of 500 tools over 100 types after an edit, what it imports
// being compiled already: mcpgen's with guards, schemas and decoders, go-sdk's with an AddTool for
// each.
func BenchmarkBuild(b *testing.B) {
	s := newScratch(b)
	s.write(b, "own/own.go", largePackage("own", true))
	s.write(b, "typed/typed.go", largePackage("typed", false))
	s.generate(b, "./own")
	for _, p := range []struct{ peer, pkg string }{{"mcpgen", "own"}, {"generic", "typed"}} {
		b.Run("peer="+p.peer, func(b *testing.B) {
			build := func() {
				// No edit is like an earlier one, of another run either: the build cache would have
				// the package.
				s.write(b, p.pkg+"/edit.go", fmt.Sprintf("package %s\n\nconst edit = %d\n", p.pkg, time.Now().UnixNano()))
				s.run(b, "go", "build", "./"+p.pkg)
			}
			build() // compiles what is imported
			for b.Loop() {
				build()
			}
		})
	}
}
