package reflection

import (
	"bytes"
	"fmt"
	"go/format"
	"strings"

	"github.com/mcpgen/mcpgen/generator/internal/model"
)

// testName is the test that the throw-away file adds to a package.
const testName = "TestMcpgenReflectsTheSameSchemas"

// program is a test file for one package: it reflects every type and appends the results to the
// file out, a line before each type and one after, so that a crash names its type. It reads the
// CommentMap from the file comments. All its package-level names and imports have a prefix that no
// author uses.
func program(
	pkg string, types []model.Expr, requiredFromTags bool, comments, out string,
) ([]byte, error) {
	imports := map[string]string{}
	var order []string
	var cases strings.Builder
	for _, expr := range types {
		cases.WriteString("{func() mcpgenreflectreflect.Type { return mcpgenreflectreflect.TypeOf((*")
		for _, t := range expr {
			if t.Path == "" {
				cases.WriteString(t.Text)
				continue
			}
			if imports[t.Path] == "" {
				imports[t.Path] = fmt.Sprintf("mcpgenreflect%d", len(order))
				order = append(order, t.Path)
			}
			cases.WriteString(imports[t.Path] + "." + t.Text)
		}
		cases.WriteString(")(nil)).Elem() }},\n")
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "package %s\n\nimport (\n", pkg)
	for _, path := range []string{
		"encoding/json", "fmt", "os", "reflect", "runtime/debug", "testing", module,
	} {
		name := path[strings.LastIndexByte(path, '/')+1:]
		fmt.Fprintf(&b, "mcpgenreflect%s %q\n", name, path)
	}
	for _, path := range order {
		fmt.Fprintf(&b, "%s %q\n", imports[path], path)
	}
	fmt.Fprintf(&b, body, testName, cases.String(), comments, requiredFromTags, out)
	return format.Source(b.Bytes())
}

const body = `)

func %s(t *mcpgenreflecttesting.T) {
	cases := []struct{ of func() mcpgenreflectreflect.Type }{
		%s}
	comments, err := mcpgenreflectos.ReadFile(%q)
	if err != nil {
		t.Fatal(err)
	}
	reflector := &mcpgenreflectjsonschema.Reflector{Anonymous: true, RequiredFromJSONSchemaTags: %t}
	if err := mcpgenreflectjson.Unmarshal(comments, &reflector.CommentMap); err != nil {
		t.Fatal(err)
	}
	out, err := mcpgenreflectos.OpenFile(%q, mcpgenreflectos.O_CREATE|mcpgenreflectos.O_WRONLY|mcpgenreflectos.O_APPEND, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	mcpgenreflectdebug.SetMaxStack(64 << 20) // a type that never ends ends soon
	for i, c := range cases {
		mcpgenreflectfmt.Fprintf(out, "{\"index\":%%d}\n", i)
		line := func() (line struct {
			Index   int
			Done    bool
			Schema  mcpgenreflectjson.RawMessage
			Refused string
		}) {
			line.Index, line.Done = i, true
			defer func() {
				if v := recover(); v != nil {
					line.Refused = mcpgenreflectfmt.Sprint(v)
				}
			}()
			text, err := mcpgenreflectjson.Marshal(reflector.ReflectFromType(c.of()))
			if err != nil {
				line.Refused = err.Error()
			}
			line.Schema = text
			return line
		}()
		if err := mcpgenreflectjson.NewEncoder(out).Encode(line); err != nil {
			t.Fatal(err)
		}
	}
}
`
