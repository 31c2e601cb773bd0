// Package naming converts Go names into the snake_case of clients and into parts of identifiers in
// generated code.
package naming

import (
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

// Snake is the snake_case of a Go name: GetByID is get_by_id, UserIDs user_ids.
func Snake(goName string) string {
	text := mixedWord.Replace(goName)
	text = pluralInitialism.ReplaceAllStringFunc(text, func(m string) string {
		groups := pluralInitialism.FindStringSubmatch(m)
		return groups[1] + strings.ToLower(groups[2]) + "s" + groups[3]
	})
	return strcase.ToSnake(text)
}

// Field is a parameter's name as a field: userID is UserID, id is ID.
func Field(param string) string {
	if name := strcase.ToGoPascal(Snake(param)); token.IsIdentifier(name) && token.IsExported(name) {
		return name
	}
	return "X" + param
}

// UpperFirst makes the part of a constant's name: getByID is GetByID.
func UpperFirst(name string) string {
	for i, r := range name {
		return string(unicode.ToUpper(r)) + name[i+len(string(r)):]
	}
	return name
}

// LowerFirst makes a Go name unexported as people write it: GetByID is getByID, IDInput
// idInput, HTTP http.
func LowerFirst(name string) string {
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

// Word describes a type in one identifier: []Device of this package is deviceList,
// map[string]site.Page is stringSitePageMap. A type without any name is "".
func Word(t types.Type, in *types.Package) string {
	named := func(obj *types.TypeName, args *types.TypeList) string {
		name := LowerFirst(obj.Name())
		if obj.Pkg() != nil && obj.Pkg() != in {
			name = LowerFirst(obj.Pkg().Name()) + UpperFirst(obj.Name())
		}
		for i := range args.Len() {
			name += UpperFirst(Word(args.At(i), in))
		}
		return name
	}
	switch t := t.(type) {
	case *types.Alias:
		return named(t.Obj(), t.TypeArgs())
	case *types.Named:
		return named(t.Obj(), t.TypeArgs())
	case *types.Pointer:
		return Word(t.Elem(), in)
	case *types.Slice:
		return Word(t.Elem(), in) + "List"
	case *types.Array:
		return Word(t.Elem(), in) + "Array"
	case *types.Map:
		return Word(t.Key(), in) + UpperFirst(Word(t.Elem(), in)) + "Map"
	case *types.Basic:
		return t.Name()
	case *types.Interface:
		return "any"
	}
	return ""
}
