package diag

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// The codes. Their numbers are fixed for ever: people search for them and silence them in
// scripts. A new code takes the next free number.
const (
	MissingDirective   Code = "MCP001"
	NoAccessRule       Code = "MCP002"
	UnknownDirective   Code = "MCP003"
	UnknownKey         Code = "MCP004"
	Duplicate          Code = "MCP005"
	Misplaced          Code = "MCP006"
	Malformed          Code = "MCP007"
	BadValue           Code = "MCP008"
	UnknownRole        Code = "MCP009"
	NearMiss           Code = "MCP010"
	Dangling           Code = "MCP011"
	BadToolName        Code = "MCP012"
	DuplicateTool      Code = "MCP013"
	BadShape           Code = "MCP014"
	UnsupportedType    Code = "MCP015"
	BadTag             Code = "MCP016"
	UnequalHierarchies Code = "MCP017"
	NoVerb             Code = "MCP018"
	NotBuilt           Code = "MCP019"
	Contradiction      Code = "MCP020"
	Generic            Code = "MCP021"
	BuildConstraint    Code = "MCP022"
	NameTaken          Code = "MCP023"
	Redeclared         Code = "MCP024"
	DoesNotCheck       Code = "MCP025"
	DoesNotParse       Code = "MCP026"
	NotOurs            Code = "MCP027"
	UnnamedParameter   Code = "MCP028"
	Variadic           Code = "MCP029"
	UnknownParameter   Code = "MCP030"
	MissingKey         Code = "MCP031"
	BadHierarchy       Code = "MCP032"
	OutOfRange         Code = "MCP033"
	HookedType         Code = "MCP034"
	BadSchemaFile      Code = "MCP035"
	BadURI             Code = "MCP036"
	Unbound            Code = "MCP037"
	Overlap            Code = "MCP038"
	UnknownReference   Code = "MCP039"
	Unbindable         Code = "MCP040"
	NotOpened          Code = "MCP041"
	NoWorker           Code = "MCP042"
	MoreThanDeclared   Code = "MCP043"
	Unprovable         Code = "MCP044"
	WritesReadOnly     Code = "MCP045"
	HiddenText         Code = "MCP046"
	StrayConstant      Code = "MCP047"
	Unguarded          Code = "MCP048"
	NoToken            Code = "MCP049"
	ProviderSchema     Code = "MCP050"
	CannotAsk          Code = "MCP051"
	ShownValue         Code = "MCP052"
	GuardedField       Code = "MCP053"
)

// Explanation explains one code.
type Explanation struct {
	Code    Code
	Title   string // a few words
	Cause   string // why it is reported
	Example string // source that raises it
	Cure    string // what to do
}

// Codes returns every explanation, by code.
func Codes() (list []Explanation) {
	for _, code := range slices.Sorted(maps.Keys(explanations)) {
		e := explanations[code]
		e.Code = code
		list = append(list, e)
	}
	return list
}

// Lookup returns the explanation of a code, in any case.
func Lookup(code string) (Explanation, bool) {
	e, ok := explanations[Code(strings.ToUpper(code))]
	return e, ok
}

// Explain is the text of `mcpgen explain CODE`: title, cause, example and fix. ok is false
// for an unknown code.
func Explain(code string) (text string, ok bool) {
	e, ok := Lookup(code)
	if !ok {
		return "", false
	}
	code = strings.ToUpper(code)
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n\n%s\n\nExample\n\n", code, e.Title, e.Cause)
	for line := range strings.Lines(e.Example) {
		if strings.TrimSpace(line) == "" {
			b.WriteString("\n")
			continue
		}
		b.WriteString("    " + line)
	}
	fmt.Fprintf(&b, "\n\nFix\n\n%s\n", e.Cure)
	return b.String(), true
}
