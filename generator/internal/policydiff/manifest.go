// Package policydiff compares who may do what in two sets of manifests.
//
// A manifest is a mcp.manifest.json file. [Compare] evaluates the rules of both sets for each kind
// of caller: an anonymous one, an authenticated one without a role, one for each role of either
// hierarchy, and one for each set of roles that comes to more than its parts. So it reports what
// callers gain and lose, however the rules are written.
package policydiff

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/internal/roleorder"
	"github.com/mcpgen/mcpgen/internal/scopeorder"
)

// formats are the versions of the manifest's format that this package reads. Format 2 has one line
// of roles, and one role in a rule.
var formats = []int{2, 3}

// Manifest is the part of mcp.manifest.json that Compare reads.
type Manifest struct {
	File string `json:"-"` // the path that positions have
	Text []byte `json:"-"` // of the file

	Manifest int    `json:"manifest"`
	Package  string `json:"package"`
	Server   struct {
		Name        string `json:"name"`
		Title       string `json:"title"`
		Version     string `json:"version"`
		App         string `json:"app"`
		Website     string `json:"website"`
		Unannotated string `json:"unannotated"`
		Strict      bool   `json:"strict"` // of earlier versions, for unannotated=strict
		Client      string `json:"client"`

		Icons json.RawMessage `json:"icons"`
	} `json:"server"`
	Roles     chains     `json:"roles"`
	Scopes    [][]string `json:"scopes"`
	Tools     []Item     `json:"tools"`
	Prompts   []Item     `json:"prompts"`
	Resources []Item     `json:"resources"`
	Fields    []Field    `json:"fields"`
	Ignored   []struct {
		Handler string `json:"handler"`
		Reason  string `json:"reason"`
	} `json:"ignored"`
	Types map[string]string `json:"types"`

	order  roleorder.Order  // of Roles
	scopes scopeorder.Order // of Scopes
}

// Item is a tool, a prompt or a resource.
type Item struct {
	Name        string                     `json:"name"`
	URI         string                     `json:"uri"`
	Title       string                     `json:"title"`
	Handler     string                     `json:"handler"`
	Description string                     `json:"description"`
	Access      Access                     `json:"access"`
	Values      []Value                    `json:"values"`
	Denial      string                     `json:"denial"`
	Facts       []string                   `json:"facts"`
	Hints       hints                      `json:"hints"`
	Limits      map[string]json.RawMessage `json:"limits"`
	Catalogs    []string                   `json:"catalogs"`
	Input       schema                     `json:"input"`
	Output      schema                     `json:"output"`
	Guarded     schema                     `json:"guarded"`
	Omits       []string                   `json:"omits"`
	Returns     string                     `json:"returns"`
	MIMEType    string                     `json:"mimeType"`
	Aliases     []string                   `json:"aliases"`
	Arguments   []argument                 `json:"arguments"`
	Variables   []argument                 `json:"variables"`

	kind string // "tool", "prompt" or "resource"
	of   *Manifest
	line int
	rest map[string]json.RawMessage // all fields
}

// UnmarshalJSON reads an item, and keeps the text of all its fields.
func (i *Item) UnmarshalJSON(text []byte) error {
	type plain Item
	if err := json.Unmarshal(text, (*plain)(i)); err != nil {
		return err
	}
	return json.Unmarshal(text, &i.rest)
}

type hints struct {
	ReadOnly  bool  `json:"readOnly"`
	OpenWorld *bool `json:"openWorld"`
}

type argument struct {
	Name        string   `json:"name"`
	Title       string   `json:"title,omitempty"`
	Type        string   `json:"type"`
	Required    bool     `json:"required,omitempty"`
	Values      []string `json:"values,omitempty"`
	Complete    string   `json:"complete,omitempty"`
	Description string   `json:"description,omitempty"`
}

// Access is a rule.
type Access struct {
	Public        bool       `json:"public"`
	Authenticated bool       `json:"authenticated"`
	MinRole       names      `json:"minRole"`
	Permission    string     `json:"permission"`
	Verb          string     `json:"verb"`
	Action        string     `json:"action"`
	Object        string     `json:"object"`
	Scopes        []string   `json:"scopes"`
	OrScopes      [][]string `json:"orScopes"`
	Allow         []string   `json:"allow"`
	Constrained   bool       `json:"constrained"`
}

// Value is a value of an argument with a rule of its own.
type Value struct {
	Argument string `json:"argument"`
	Value    string `json:"value"`
	Access   Access `json:"access"`
}

// Field is a field of a Go type with a rule of its own.
type Field struct {
	Field  string   `json:"field"`
	Access Access   `json:"access"`
	Tools  []string `json:"tools"`
}

// Read reads a manifest. The name of the file is for errors and positions.
func Read(file string, text []byte) (*Manifest, error) {
	m := &Manifest{File: file, Text: text}
	if err := json.Unmarshal(text, m); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if !slices.Contains(formats, m.Manifest) {
		return nil, fmt.Errorf("%s has format %d of the manifest, and this command reads formats %d "+
			"and %d: run go generate there with this version of mcpgen", file, m.Manifest, formats[0],
			formats[1])
	}
	var problems []roleorder.Problem
	if m.order, problems = roleorder.New(m.Roles); len(problems) > 0 {
		return nil, fmt.Errorf("%s has roles with an error: %s: run go generate there", file,
			problems[0].Text)
	}
	var lines []scopeorder.Problem
	if m.scopes, lines = scopeorder.New(m.Scopes); len(lines) > 0 {
		return nil, fmt.Errorf("%s has lines of scopes with an error: %s: run go generate there", file,
			lines[0].Text)
	}
	if m.Server.Strict {
		m.Server.Unannotated = "strict"
	}
	for _, list := range []struct {
		kind  string
		items []Item
	}{{"tool", m.Tools}, {"prompt", m.Prompts}, {"resource", m.Resources}} {
		for i := range list.items {
			item := &list.items[i]
			item.kind, item.of = list.kind, m
			item.line = lineOf(text, list.kind, item.id())
		}
	}
	return m, nil
}

// id is the name of a tool or prompt, or the URI of a resource.
func (i *Item) id() string {
	if i.kind == "resource" {
		return i.URI
	}
	return i.Name
}

// lineOf returns the line of an item in the layout that mcpgen writes, or 1.
func lineOf(text []byte, kind, id string) int {
	key := "name"
	switch kind {
	case "resource":
		key = "uri"
	case "field":
		key = kind
	}
	var value bytes.Buffer
	encoder := json.NewEncoder(&value)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(id) // a string has no error
	want := "      \"" + key + "\": " + strings.TrimSpace(value.String()) + ","
	within := false
	for n, line := range strings.Split(string(text), "\n") {
		if strings.HasPrefix(line, "  \"") {
			within = strings.HasPrefix(line, "  \""+kind+"s\"")
		}
		if within && line == want {
			return n + 1
		}
	}
	return 1
}

// memberLine returns the line of a member of the file, in the layout that mcpgen writes, or 1.
func memberLine(text []byte, name string) int {
	for n, line := range strings.Split(string(text), "\n") {
		if strings.HasPrefix(line, "  \""+name+"\":") {
			return n + 1
		}
	}
	return 1
}

// items are the tools, prompts and resources of manifests.
func items(set []*Manifest) (all []*Item) {
	for _, m := range set {
		for _, list := range [][]Item{m.Tools, m.Prompts, m.Resources} {
			for i := range list {
				all = append(all, &list[i])
			}
		}
	}
	return all
}

// sorted returns a copy in order, without duplicates.
func sorted[T cmp.Ordered](list []T) []T {
	return slices.Compact(slices.Sorted(slices.Values(list)))
}
