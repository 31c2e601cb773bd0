package scan

import (
	"fmt"
	"go/token"
	"go/types"
	"regexp"
	"strings"
	"unicode"

	"github.com/ettle/strcase"
)

// Go writes some words in mixed case that are one word all the same: IDs, VMs, IPv4, OAuth.
var (
	pluralInitialism = regexp.MustCompile(`([A-Z])([A-Z]+)s($|[A-Z0-9_])`)
	mixedWord        = strings.NewReplacer("IPv", "Ipv", "OAuth", "Oauth")
)

// snake is the snake_case of a Go name: GetByID is get_by_id, UserIDs user_ids.
func snake(goName string) string {
	text := mixedWord.Replace(goName)
	text = pluralInitialism.ReplaceAllStringFunc(text, func(m string) string {
		groups := pluralInitialism.FindStringSubmatch(m)
		return groups[1] + strings.ToLower(groups[2]) + "s" + groups[3]
	})
	return strcase.ToSnake(text)
}

// exported is a parameter's name as a field: userID is UserID, id is ID.
func exported(param string) string {
	if name := strcase.ToGoPascal(snake(param)); token.IsIdentifier(name) && token.IsExported(name) {
		return name
	}
	return "X" + param
}

// toolName is the rule of the MCP specification, section Tools of revision 2025-11-25: ASCII
// letters, digits, underscore, hyphen and dot, 1 to 128 of them.
var toolName = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,128}$`)

// upperFirst makes the part of a constant's name: getByID is GetByID.
func upperFirst(name string) string {
	for i, r := range name {
		return string(unicode.ToUpper(r)) + name[i+len(string(r)):]
	}
	return name
}

// lowerFirst makes a Go name unexported as people write it: GetByID is getByID, IDInput
// idInput, HTTP http.
func lowerFirst(name string) string {
	runes := []rune(name)
	upper := 0
	for upper < len(runes) && unicode.IsUpper(runes[upper]) {
		upper++
	}
	if upper > 1 && upper < len(runes) && unicode.IsLower(runes[upper]) {
		upper-- // the last capital begins the next word
	}
	return strings.ToLower(string(runes[:upper])) + string(runes[upper:])
}

// names gives every type of inputs and outputs one base for generated identifiers.
type names struct {
	byKey map[string]string
	taken map[string]bool
}

// name returns the base of a key, made from want where the key is new.
func (n *names) name(key, want string) string {
	if n.byKey == nil {
		n.byKey, n.taken = map[string]string{}, map[string]bool{}
	}
	if have, ok := n.byKey[key]; ok {
		return have
	}
	name := want
	for i := 2; n.taken[name]; i++ {
		name = fmt.Sprintf("%s%d", want, i)
	}
	n.byKey[key], n.taken[name] = name, true
	return name
}

// word describes a type in one identifier: []Device of this package is deviceList,
// map[string]site.Page is stringSitePageMap. A type without any name is "".
func word(t types.Type, in *types.Package) string {
	named := func(obj *types.TypeName, args *types.TypeList) string {
		name := lowerFirst(obj.Name())
		if obj.Pkg() != nil && obj.Pkg() != in {
			name = lowerFirst(obj.Pkg().Name()) + upperFirst(obj.Name())
		}
		for i := range args.Len() {
			name += upperFirst(word(args.At(i), in))
		}
		return name
	}
	switch t := t.(type) {
	case *types.Alias:
		return named(t.Obj(), t.TypeArgs())
	case *types.Named:
		return named(t.Obj(), t.TypeArgs())
	case *types.Pointer:
		return word(t.Elem(), in)
	case *types.Slice:
		return word(t.Elem(), in) + "List"
	case *types.Array:
		return word(t.Elem(), in) + "Array"
	case *types.Map:
		return word(t.Key(), in) + upperFirst(word(t.Elem(), in)) + "Map"
	case *types.Basic:
		return t.Name()
	case *types.Interface:
		return "any"
	}
	return ""
}

// reserved are names that generated code uses within Toolset: its locals and the packages it
// imports.
var reserved = map[string]bool{
	"ctx": true, "call": true, "in": true, "err": true, "out": true, "res": true, "table": true,
	"context": true, "time": true, "json": true, "access": true, "toolset": true, "mcp": true,
	"decode": true, "validator": true,
}

// parameter names the parameter of Toolset for a receiver type.
func (s *scanner) parameter(typ string, taken map[string]bool) string {
	free := func(name string) bool {
		return token.IsIdentifier(name) && !reserved[name] && !taken[name] &&
			types.Universe.Lookup(name) == nil && s.pkg.Types.Scope().Lookup(name) == nil
	}
	base := lowerFirst(typ)
	if free(base) {
		return base
	}
	name := "the" + upperFirst(typ)
	for i := 2; !free(name); i++ {
		name = fmt.Sprintf("the%s%d", upperFirst(typ), i)
	}
	return name
}
