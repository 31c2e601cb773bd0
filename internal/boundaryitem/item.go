// Package boundaryitem parses the items of a boundary.
package boundaryitem

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/internal/editdistance"
)

// Kind is the kind of an [Item], as it is written.
type Kind string

// The kinds of items.
const (
	Tool     Kind = "tool"     // a tool, or with an argument a tool and one of its values
	Prompt   Kind = "prompt"   // a prompt
	Resource Kind = "resource" // a URI, or a URI template as its author wrote it
	Skill    Kind = "skill"    // the URI of a skill
	Catalog  Kind = "catalog"  // the tools of a catalog that code declares
)

var kinds = []string{string(Tool), string(Prompt), string(Resource), string(Skill), string(Catalog)}

// All as the only one of a list of roles or items stands for every role, or every item.
const All = "*"

// IsAll reports whether a list of roles or items is [All].
func IsAll(list []string) bool { return slices.Equal(list, []string{All}) }

// Find returns the most specific boundary of a party in a list of boundaries, as boundary.Source
// has it.
func Find[P ~struct{ Issuer, Client, Subject, Actor string }, B any](list map[P]B, p P) (
	B, bool) {
	type party struct{ Issuer, Client, Subject, Actor string }
	of := party(p)
	if of.Actor != "" {
		b, ok := list[P(party{Issuer: of.Issuer, Actor: of.Actor})]
		return b, ok
	}
	if of.Client != "" && of.Client != All { // no client has a boundary of its own by these names
		if b, ok := list[p]; ok {
			return b, true
		}
		if b, ok := list[P(party{Issuer: of.Issuer, Client: of.Client})]; ok {
			return b, true
		}
	}
	b, ok := list[P(party{Issuer: of.Issuer, Client: All})]
	return b, ok
}

// CheckParty returns an error for a party that cannot have a boundary of its own. The text is the
// end of a sentence that begins with the place of the boundary.
func CheckParty(client, subject, actor string) error {
	switch {
	case (client == "") == (actor == ""):
		return errors.New("has none or both of client and actor: write one of them")
	case subject != "" && (client == "" || client == All):
		return errors.New("has a subject without one client: write the client, or remove the subject")
	}
	return nil
}

// CheckRole returns an error for a text in a list of roles that cannot be a role.
func CheckRole(name string) error {
	if name == "" || name == All {
		return errors.New(`is no role: write names of roles, or "*" alone for all`)
	}
	return nil
}

// CheckItem returns an error for a text in a list of items that cannot be parsed.
func CheckItem(text string) error {
	if _, err := Parse(text); err != nil {
		return fmt.Errorf("is wrong: %w", err)
	}
	return nil
}

// Item is an item of a boundary.
type Item struct {
	Kind Kind
	Name string // of the tool, prompt or catalog, or the URI
	// Argument and Value are one value of an argument with rules. Of an argument that some items of a
	// boundary name, the values of these items are allowed. Arguments that no item names have all
	// their values.
	Argument, Value string
}

// Parse parses an item, in one of the forms of boundary.Boundary.
func Parse(text string) (Item, error) {
	kind, name, ok := strings.Cut(text, ":")
	item := Item{Kind: Kind(kind), Name: name}
	switch {
	case text == All:
		return Item{}, fmt.Errorf("the item %q stands for all items, and must be the only one: "+
			"remove it, or the others", text)
	case !ok || !slices.Contains(kinds, kind):
		cure := "write tool:NAME, tool:NAME ARGUMENT=VALUE, prompt:NAME, resource:URI, skill:URI or " +
			"catalog:NAME"
		if near := editdistance.Nearest(kind, kinds, 2); ok && near != "" {
			cure = "did you mean " + near + ":" + name + "?"
		}
		return Item{}, fmt.Errorf("the item %q has no kind that exists: %s", text, cure)
	case strings.TrimSpace(name) != name || name == "":
		return Item{}, fmt.Errorf("the item %q has no name, or spaces around the name: write %s:NAME",
			text, kind)
	case item.Kind != Tool || !strings.Contains(name, " "):
		return item, nil
	}
	item.Name, name, _ = strings.Cut(name, " ")
	item.Argument, item.Value, ok = strings.Cut(name, "=")
	if !ok || item.Argument == "" || strings.TrimSpace(item.Argument) != item.Argument {
		return Item{}, fmt.Errorf("the item %q has something else than ARGUMENT=VALUE after the name "+
			"of its tool: write tool:%s ARGUMENT=VALUE", text, item.Name)
	}
	return item, nil
}

// String returns the item as [Parse] reads it.
func (i Item) String() string {
	text := string(i.Kind) + ":" + i.Name
	if i.Argument != "" {
		text += " " + i.Argument + "=" + i.Value
	}
	return text
}

// Set has the items of a boundary. The zero Set has none.
type Set struct {
	all    bool
	whole  map[Item]bool     // without arguments
	values map[Item][]string // by tool and argument, and without an argument for each such tool
}

// NewSet returns the set of items. catalogs are the tools of the catalogs that code declares, and
// ruled reports whether values of an argument have rules. bad are the errors of items that allow
// nothing: those that cannot be parsed, and those with an argument without rules. Of the tool of
// such an argument, no item with a value allows anything: the values cannot be limited.
func NewSet(items []string, catalogs map[string][]string,
	ruled func(tool, argument string) bool) (s Set, bad []error) {
	s = Set{all: IsAll(items), whole: map[Item]bool{}, values: map[Item][]string{}}
	if s.all {
		return s, nil
	}
	for _, text := range items {
		item, err := Parse(text)
		switch {
		case err != nil:
			bad = append(bad, err)
		case item.Argument != "":
			of := Item{Kind: Tool, Name: item.Name, Argument: item.Argument}
			s.values[of] = append(s.values[of], item.Value)
			s.values[Item{Kind: Tool, Name: item.Name}] = nil
		case item.Kind == Catalog:
			for _, tool := range catalogs[item.Name] {
				s.whole[Item{Kind: Tool, Name: tool}] = true
			}
		case item.Kind == Resource, item.Kind == Skill:
			s.whole[Item{Kind: Resource, Name: item.Name}] = true
		default:
			s.whole[item] = true
		}
	}
	for of := range s.values {
		if of.Argument != "" && !ruled(of.Name, of.Argument) {
			delete(s.values, Item{Kind: Tool, Name: of.Name})
			bad = append(bad, fmt.Errorf("items name values of the argument %s of tool:%s, which has no "+
				"rules for its values: write tool:%[2]s, or remove these items", of.Argument, of.Name))
		}
	}
	return s, bad
}

// Has reports whether the set has a tool, prompt or resource; of a tool, some values at least. A
// resource is named by its URI or template as its author wrote it, which matches no other one.
func (s Set) Has(k Kind, name string) bool {
	item := Item{Kind: k, Name: name}
	_, some := s.values[item]
	return s.all || some || s.whole[item]
}

// HasValue reports whether the set has a tool with a value of an argument.
func (s Set) HasValue(tool, argument, value string) bool {
	item := Item{Kind: Tool, Name: tool}
	if s.all || s.whole[item] {
		return true
	}
	named, chosen := s.values[Item{Kind: Tool, Name: tool, Argument: argument}]
	return s.Has(Tool, tool) && (!chosen || slices.Contains(named, value))
}
