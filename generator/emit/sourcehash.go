package emit

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/dave/jennifer/jen"

	"github.com/mcpgen/mcpgen/generator/model"
	"github.com/mcpgen/mcpgen/generator/sourcehash"
)

// test writes mcp_gen_test.go: the source hash test, with the implementation that computed its
// hash, and the compile guards on types of other modules. These types may gain fields, which must
// not stop the build of users who cannot regenerate.
func (p *plan) test(hash string, code []byte) ([]byte, error) {
	n := p.names
	name := n.pickTest("TestMcpgenSourceHash")
	hasher, digester := "", ""
	implementation, err := sourcehash.Source(func(declared string) string {
		picked := n.pick("mcpgen" + upperFirst(declared))
		switch declared {
		case "Hash":
			hasher = picked
		case "Digest":
			digester = picked
		}
		return picked
	})
	if err != nil {
		return nil, err
	}
	exprs := []model.Expr{implementation}
	guards := p.compileGuards(true)
	for _, g := range guards {
		exprs = append(exprs, g.Subject, g.Want)
	}
	f := newFile(p.Name, p.fileNames(), exprs...)

	f.Comment(fmt.Sprintf("%s fails if a directive, a comment, a parameter's name or a constant", name))
	f.Comment("has changed since mcpgen read it, or if the generated code was edited. The compiler does not")
	f.Comment("detect these changes.")
	f.Func().Id(name).Params(jen.Id("t").Op("*").Qual("testing", "T")).Block(
		jen.List(jen.Id("got"), jen.Err()).Op(":=").Id(hasher).Call(p.hashed()...),
		jen.If(jen.Err().Op("!=").Nil()).Block(jen.Id("t").Dot("Fatal").Call(jen.Err())),
		jen.If(jen.Id("want").Op(":=").Lit(hash), jen.Id("got").Op("!=").Id("want")).Block(
			jen.Id("t").Dot("Error").Call(quoted(fmt.Sprintf("package %s is not what %s was made from:\n", p.Name, Code)+
				"a directive, a comment, a parameter's name, a constant, a handler or a schema file has changed;\n"+
				"run go generate, review the difference and commit it")),
		),
		jen.List(jen.Id("code"), jen.Err()).Op(":=").Qual("os", "ReadFile").Call(jen.Lit(Code)),
		jen.If(jen.Err().Op("!=").Nil()).Block(jen.Id("t").Dot("Fatal").Call(jen.Err())),
		jen.If(
			jen.Id("want").Op(":=").Lit(sourcehash.Digest(code)),
			jen.Id(digester).Call(jen.Id("code")).Op("!=").Id("want"),
		).Block(
			jen.Id("t").Dot("Error").Call(quoted(Code+" is not as mcpgen wrote it: run go generate, and change the directives instead")),
		),
	)
	f.Line()
	f.Comment(seam)
	f.Line()
	f.Add(expr(implementation))
	f.Line()
	f.Comment(seam)
	f.Line()
	p.writeCompileGuards(f, guards)
	return sewn(f)
}

// seam separates the implementation from the rest of the file until both are formatted.
const seam = "mcpgen: the implementation of the hash"

// implementations are formatted texts by unformatted ones. Only what the author's package already
// declares makes one differ from the next, so nearly all packages of a run share one; formatting it
// for each would be the largest part of emission.
var implementations sync.Map

// sewn renders a file with an implementation between two seams. gofmt formats declaration by
// declaration, so the parts may be formatted by themselves.
func sewn(f file) ([]byte, error) {
	raw, err := f.unformatted()
	if err != nil {
		return nil, err
	}
	parts := bytes.Split(raw, []byte("// "+seam+"\n"))
	if len(parts) != 3 {
		return nil, fmt.Errorf("rendering generated code: %d parts at the seams", len(parts))
	}
	implementation, known := implementations.Load(string(parts[1]))
	if !known {
		text, err := formatted(parts[1])
		if err != nil {
			return nil, err
		}
		implementation, _ = implementations.LoadOrStore(string(parts[1]), bytes.TrimSpace(text))
	}
	head, err := formatted(parts[0])
	if err != nil {
		return nil, err
	}
	pieces := [][]byte{bytes.TrimSpace(groupImports(head)), implementation.([]byte)}
	guards, err := formatted(parts[2])
	if err != nil {
		return nil, err
	}
	if guards = bytes.TrimSpace(guards); len(guards) > 0 {
		pieces = append(pieces, guards)
	}
	return append(bytes.Join(pieces, []byte("\n\n")), '\n'), nil
}

// hashed returns the arguments that the generated test calls Hash with.
func (p *plan) hashed() []jen.Code {
	args := []jen.Code{jen.Lit("."), p.declarations()}
	for _, file := range p.HashInputs.Files {
		args = append(args, jen.Lit(file))
	}
	return args
}

// declarations writes the declarations that the generated test passes to Hash.
func (p *plan) declarations() *jen.Statement {
	var dirs []jen.Code
	for _, dir := range slices.Sorted(maps.Keys(p.HashInputs.Decls)) {
		var list []jen.Code
		for _, name := range slices.Sorted(slices.Values(p.HashInputs.Decls[dir])) {
			list = append(list, jen.Lit(name))
		}
		dirs = append(dirs, jen.Lit(dir).Op(":").Add(rows(list...)))
	}
	return jen.Map(jen.String()).Index().String().Add(rows(dirs...))
}
