package static

import (
	"reflect"
	"testing"

	"github.com/mcpgen/mcpgen/internal/configfile"
)

// FuzzFile reads anything as a file. Accepted YAML has the same result when it is written as
// JSON.
func FuzzFile(f *testing.F) {
	for _, seed := range []string{
		"users: {}",
		"actions: [a.b]\nusers:\n  ada: {permissions: [a.b], superuser: true}\n",
		"groups:\n  g:\n    constrained:\n      a.b_c:\n        - {d: [1, -0.5e3, true, null, 'x', 2020-01-01]}\nusers: {ada: {groups: [g]}, \"\\u00e9\": {}}\n",
		"exempt: {a.b: ['*'], '*': [view]}\nusers: {eve: {active: false}}\n",
		"users: &a {b: *a}\n",
		"users: {<<: {a: {}}, 7: {}}\n---\n",
		`{"users": {"ada": {"constrained": {"a.b": [{"c": "\ud83d\ude00"}]}}}}`,
		"%YAML 1.2\n--- !!map\n? |\n  users\n: >\n  x\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if _, err := parsed("a.json", data); err == nil {
			doc := configfile.ReadJSON(data, &configfile.Problems{})
			again := configfile.ReadJSON(doc.AppendJSON(nil), &configfile.Problems{})
			if got, want := again.AppendJSON(nil), doc.AppendJSON(nil); string(got) != string(want) {
				t.Errorf("%s became %s", want, got)
			}
		}
		all, err := parsed("a.yaml", data)
		if err != nil {
			return
		}
		text := configfile.ReadYAML(data, &configfile.Problems{}).AppendJSON(nil)
		asJSON, err := parsed("a.json", text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if !reflect.DeepEqual(all, asJSON) {
			t.Errorf("%s: %+v, %+v", text, all, asJSON)
		}
	})
}

// parsed reads the text of a file.
func parsed(file string, data []byte) (all *accounts, err error) {
	err = configfile.Parse(file, data, func(doc configfile.Value, bad *configfile.Problems) {
		all = readAccounts(doc, bad)
	})
	return all, err
}
