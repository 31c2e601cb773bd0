package providers

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// refusals are the places that the provider's API refuses, with the rule.
func refusals(t *testing.T, provider, tool, schema string) (found []string) {
	t.Helper()
	problems, err := Check(provider, tool, []byte(schema))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		if p.Rule == nil {
			continue
		}
		if p.Rule.Provider != provider || p.Cure == "" {
			t.Errorf("%s: %+v", provider, p)
		}
		found = append(found, p.String())
	}
	return found
}

func TestRulesHaveSources(t *testing.T) {
	date := regexp.MustCompile(`^20\d\d-\d\d-\d\d$`)
	for _, r := range Rules() {
		if !slices.Contains(Names(), r.Provider) || !strings.HasSuffix(r.Text, ".") ||
			!strings.HasPrefix(r.Source, "https://") || !date.MatchString(r.Seen) {
			t.Errorf("%+v", r)
		}
	}
}

func TestNamesOfTools(t *testing.T) {
	const object = `{"type":"object"}`
	for name, want := range map[string]string{
		"find": "", "a-B_9": "", strings.Repeat("a", 64): "",
		strings.Repeat("a", 65): "anthropic gemini openai",
		"shop.find":             "anthropic openai",
		"9lives":                "gemini",
		"-x":                    "gemini",
		"a b":                   "anthropic gemini openai",
		"größe":                 "anthropic gemini openai",
		"":                      "anthropic gemini openai",
	} {
		var who []string
		for _, provider := range Names() {
			if len(refusals(t, provider, name, object)) > 0 {
				who = append(who, provider)
			}
		}
		if got := strings.Join(who, " "); got != want {
			t.Errorf("%q: %s refuse it, want %s", name, got, want)
		}
	}
}

func TestChoicesAtTheRoot(t *testing.T) {
	for keyword, want := range map[string]string{
		"anyOf": "anthropic openai", "oneOf": "anthropic openai", "allOf": "anthropic openai",
		"enum": "openai", "not": "openai", "if": "", "$defs": "",
	} {
		for value, refused := range map[string]bool{`[{"required":["a"]}]`: true, `null`: false} {
			schema := fmt.Sprintf(`{"type":"object","properties":{"a":{"type":"string",%q:%s}},%[1]q:%s}`,
				keyword, value, value)
			warnings, err := Warnings([]byte(schema))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, w := range warnings {
				got = append(got, strings.Join(w.Providers, " ")+" "+w.String())
			}
			wanted := ""
			if refused && want != "" {
				wanted = want + " at the root, the schema has " + keyword
			}
			if strings.Join(got, "; ") != wanted {
				t.Errorf("%s: %q, want %s", schema, got, wanted)
			}
		}
	}
}

// What an API refuses is found wherever it stands: below each keyword, at each depth.
func TestRefusedPartsAreFoundAtEachPlace(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	keys := []string{"a", "b.c-d_9", "$filter", "rule_name[]", "@type", "größe", "a b", "a/b~c", "",
		strings.Repeat("k", 64), strings.Repeat("k", 65)}
	valid := regexp.MustCompile(`^[a-zA-Z0-9_.-]{1,64}$`)
	places := slices.Concat(single, lists, tables)
	for range 3000 {
		var badKeys, emptyEnums, noItems []string
		var schema func(depth int, at string) map[string]any
		schema = func(depth int, at string) map[string]any {
			s := map[string]any{"default": map[string]any{"properties": map[string]any{"@": 1}}}
			if random.IntN(4) == 0 {
				s["enum"] = []any{"x", ""}
				emptyEnums = append(emptyEnums, at)
			}
			if random.IntN(4) == 0 {
				s["type"] = []any{"array", "null"}
				defer func() {
					if s["items"] == nil {
						noItems = append(noItems, at)
					}
				}()
			}
			if depth == 0 {
				return s
			}
			for range random.IntN(3) {
				place := places[random.IntN(len(places))]
				below := at + "/" + place
				switch {
				case s[place] != nil:
				case slices.Contains(single, place):
					s[place] = schema(depth-1, below)
				case slices.Contains(lists, place) && at == "":
				case slices.Contains(lists, place):
					s[place] = []any{true, schema(depth-1, below+"/1")}
				default:
					key := keys[random.IntN(len(keys))]
					pointer := below + "/" + escapePointer(key)
					if place == "properties" && !valid.MatchString(key) {
						badKeys = append(badKeys, pointer)
					}
					s[place] = map[string]any{key: schema(depth-1, pointer)}
				}
			}
			return s
		}
		text, err := json.Marshal(schema(4, ""))
		if err != nil {
			t.Fatal(err)
		}
		compare := func(provider string, byEnd map[string][]string) {
			var want []string
			for end, places := range byEnd {
				for _, place := range places {
					want = append(want, "at "+cmp.Or(place, "the root")+", "+end)
				}
			}
			got := refusals(t, provider, "find", string(text))
			slices.Sort(got)
			slices.Sort(want)
			if !slices.Equal(got, want) {
				t.Fatalf("%s: %s\n got %q\nwant %q", provider, text, got, want)
			}
		}
		compare("anthropic", map[string][]string{"the name does not match " + valid.String(): badKeys})
		compare("gemini", map[string][]string{"the enum has an empty string": emptyEnums,
			"the list has no items": noItems})
	}
}

func TestKeyCuresAreTaken(t *testing.T) {
	for key, near := range map[string]string{"$filter": "filter", "rule_name[]": "rule_name",
		"@type": "type", "größe": "", "a b": "a_b", "世": "", strings.Repeat("k", 65): ""} {
		if cure := keyCure(key); near != "" && !strings.HasSuffix(cure, "for example "+near) ||
			near == "" && strings.Contains(cure, "example") {
			t.Errorf("%s: %s", key, cure)
		}
	}
}
