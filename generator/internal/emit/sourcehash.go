package emit

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/mcpgen/mcpgen/sourcehash"
)

// test writes mcp_gen_test.go: the source hash test, and the compile guards on types of other
// modules. These types may gain fields, which must not stop the build of users who cannot
// regenerate.
//
// Without guards the test is in the external test package. Then the go command does not compile the
// package a second time for it.
func (p *plan) test(hash string, code, typed []byte) ([]byte, error) {
	name := p.names.pickTest("TestMcpgenSourceHash")
	guards := p.compileGuards(true)
	pkg, names := p.Name+"_test", newNames(nil)
	if len(guards) > 0 {
		pkg, names = p.Name, p.fileNames()
	}
	f := newFile(pkg, names, guardExprs(guards)...)
	recorded := []jen.Code{
		row("Source", jen.Lit(hash)),
		row("Code", jen.Lit(sourcehash.Digest(code))),
		row("Declarations", p.declarations()),
		texts("Files", p.HashInputs.Files),
		when(p.Server.Client != "", "Client", jen.Lit(p.Server.Client+"/"+Client)),
		when(p.Server.Client != "", "ClientCode", jen.Lit(sourcehash.Digest(typed))),
	}
	f.Comment(name + " fails if a directive, a comment, a parameter's name or a constant")
	f.Comment("has changed since mcpgen read it, or if the generated code was edited. The compiler " +
		"does not")
	f.Comment("detect these changes.")
	f.Func().Id(name).Params(jen.Id("t").Op("*").Qual("testing", "T")).Block(
		jen.Id("generated").Op(":=").Qual(sourcehashPath, "Generated").Add(rows(recorded...)),
		jen.If(
			jen.Err().Op(":=").Id("generated").Dot("Check").Call(jen.Lit(".")),
			jen.Err().Op("!=").Nil(),
		).Block(jen.Id("t").Dot("Error").Call(jen.Err())),
	)
	f.Line()
	p.writeCompileGuards(f, guards)
	return f.source()
}

// declarations writes the declarations that the hash covers, several names a line.
func (p *plan) declarations() *jen.Statement {
	var dirs []jen.Code
	for _, dir := range slices.Sorted(maps.Keys(p.HashInputs.Decls)) {
		names := slices.Sorted(slices.Values(p.HashInputs.Decls[dir]))
		list := jen.Op(wrapped(names, maxNames))
		dirs = append(dirs, jen.Lit(dir).Op(":").Op("{").Add(list).Op("}"))
	}
	return jen.Map(jen.String()).Index().String().Add(rows(dirs...))
}

// maxNames is the length of a line of names. With its four tabs it has at most 100 columns.
const maxNames = 84

// wrapped writes quoted texts with commas between them. If one line of them is too long, it writes
// lines of at most width characters, each with a comma at its end.
func wrapped(texts []string, width int) string {
	var lines []string
	line := ""
	for _, text := range texts {
		next := strconv.Quote(text) + ","
		switch {
		case line == "":
			line = next
		case len(line)+1+len(next) <= width:
			line += " " + next
		default:
			lines, line = append(lines, line), next
		}
	}
	if len(lines) == 0 {
		return strings.TrimSuffix(line, ",")
	}
	return "\n" + strings.Join(append(lines, line), "\n") + "\n"
}
