package corpus

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	validator "github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/invopop/jsonschema"

	"github.com/mcpgen/mcpgen/generator/internal/schema"
)

// TestEverySchemaForClientsIsFitForThem makes the schemas of arguments and results of the whole
// corpus. A type has one, valid under the meta-schema of draft 2020-12, and for arguments with an
// object at its root, or problems that say where and how to fix it.
func TestEverySchemaForClientsIsFitForThem(t *testing.T) {
	src := read(t)
	counts := map[string]int{}
	for _, p := range src.pairs() {
		walker := schema.New(src.pkg, src)
		in, problems := walker.Input(p.static)
		judge(t, p.name+" as arguments", in, problems, counts)
		if in != nil && !hasEnd(t, in) {
			t.Errorf("%s: no finite document fits", p.name)
		}
		out, _, problems := walker.Output(p.static)
		judge(t, p.name+" as a result", out, problems, counts)
	}
	t.Logf("%v", counts)
	if counts["schemas"] < 2*least {
		t.Errorf("%d schemas, want %d", counts["schemas"], 2*least)
	}
}

var proposal = regexp.MustCompile(`write //mcp:type \S+ schema=(\S+) in the package doc`)

// TestProposedDirectivesGiveTypesOfOthersASchema follows the cure of each finding about a type of
// another module that reads or writes JSON by a method of its own.
func TestProposedDirectivesGiveTypesOfOthersASchema(t *testing.T) {
	src := read(t)
	walker := schema.New(src.pkg, src)
	declared := map[string]string{}
	follow := func(name string, walk func() []schema.Problem) {
		for {
			problems := walk()
			before := maps.Clone(declared)
			for _, p := range problems {
				m := proposal.FindStringSubmatch(p.Cure)
				if m == nil || p.Type == nil {
					continue
				}
				full := p.Type.Pkg().Path() + "." + p.Type.Name()
				if before[full] != "" {
					t.Errorf("%s: declared, and still: %s", name, p.Message)
				}
				if declared[full] != "" {
					continue
				}
				declared[full] = m[1]
				var tags []schema.Tag
				for i, text := range strings.Split(m[1], ",") {
					key, value, _ := strings.Cut(text, "=")
					if i == 0 {
						key, value = "type", text
					}
					tags = append(tags, schema.Tag{Key: key, Value: value})
				}
				for _, wrong := range walker.Declare(p.Type, tags) {
					t.Errorf("%s: %s", m[0], wrong.Message)
				}
			}
			if len(declared) == len(before) {
				return
			}
		}
	}
	for _, p := range src.pairs() {
		follow(p.name, func() []schema.Problem {
			_, problems := walker.Input(p.static)
			_, _, more := walker.Output(p.static)
			return append(problems, more...)
		})
	}
	t.Log(declared)
	const v1 = "k8s.io/apimachinery/pkg/apis/meta/v1."
	for name, want := range map[string]string{
		v1 + "Time": "string,format=date-time", v1 + "MicroTime": "string,format=date-time",
		"k8s.io/apimachinery/pkg/api/resource.Quantity":    "string",
		"github.com/google/go-github/v74/github.Timestamp": "string,format=date-time",
	} {
		if declared[name] != want {
			t.Errorf("%s: proposed %q, want %q", name, declared[name], want)
		}
	}
}

func judge(t *testing.T, name string, s *jsonschema.Schema, problems []schema.Problem, counts map[string]int) {
	t.Helper()
	if len(problems) > 0 {
		counts["diagnosed as "+kinds[problems[0].Kind]]++
		for _, p := range problems {
			if p.Path == "" || p.Message == "" || p.Cure == "" {
				t.Errorf("%s: the problem does not say all: %+v", name, p)
			}
		}
		return
	}
	counts["schemas"]++
	text, err := json.Marshal(s)
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	doc, err := validator.UnmarshalJSON(strings.NewReader(string(text)))
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	compiler := validator.NewCompiler()
	compiler.DefaultDraft(validator.Draft2020)
	if err := compiler.AddResource("mcpgen:///schema", doc); err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	if _, err := compiler.Compile("mcpgen:///schema"); err != nil {
		t.Errorf("%s: %v\n%s", name, err, text)
	}
	root, _ := doc.(map[string]any)
	if strings.HasSuffix(name, " as arguments") && (root["type"] != "object" || root["$ref"] != nil) {
		t.Errorf("%s: the root is no object: %s", name, text)
	}
	if at := identified(doc); at != "" {
		t.Errorf("%s: %s", name, at)
	}
}

// hasEnd reports whether a finite document fits a schema of arguments. It marks the definitions
// that have an end until there are no more.
func hasEnd(t *testing.T, s *jsonschema.Schema) bool {
	t.Helper()
	ended := map[string]bool{}
	var ends func(s *jsonschema.Schema) bool
	ends = func(s *jsonschema.Schema) bool {
		switch {
		case s.Ref != "":
			return ended[strings.TrimPrefix(s.Ref, "#/$defs/")]
		case len(s.AnyOf) > 0 && s.Properties == nil:
			return slices.ContainsFunc(s.AnyOf, ends)
		case s.MinItems != nil && *s.MinItems > 0 && s.Items != nil:
			return ends(s.Items)
		}
		return !slices.ContainsFunc(s.Required, func(name string) bool {
			of, ok := s.Properties.Get(name)
			return ok && !ends(of)
		})
	}
	for range s.Definitions {
		for name, of := range s.Definitions {
			ended[name] = ended[name] || ends(of)
		}
	}
	return ends(s)
}

// identified finds a keyword that says nothing to a client, and a number that clients in JavaScript
// round. In a map of properties a keyword is a name.
func identified(doc any) string {
	if n, ok := doc.(json.Number); ok && !schema.Exact(n.String()) {
		return "the schema has the number " + n.String()
	}
	list, _ := doc.([]any)
	for _, item := range list {
		if found := identified(item); found != "" {
			return found
		}
	}
	object, _ := doc.(map[string]any)
	for key, value := range object {
		if slices.Contains([]string{"$id", "$schema", "$anchor"}, key) {
			return "the schema has " + key
		}
		if key == "properties" || key == "$defs" || key == "patternProperties" {
			for _, sub := range value.(map[string]any) {
				if found := identified(sub); found != "" {
					return found
				}
			}
			continue
		}
		if found := identified(value); found != "" {
			return found
		}
	}
	return ""
}
