package access

import (
	"reflect"
	"testing"
)

func TestRulesAreParsed(t *testing.T) {
	for text, want := range map[string]Rule{
		"public":                   {Public: true},
		" public  denial=forbid ":  {Public: true, Denial: Forbid},
		"authenticated":            {Authenticated: true},
		"minrole=Member":           {MinRole: []string{"Member"}},
		"authenticated scopes=a,b": {Authenticated: true, Scopes: []string{"a", "b"}},
		"scopes=a minrole=Admin":   {MinRole: []string{"Admin"}, Scopes: []string{"a"}},
		"anyscope=b,a":             {Scopes: []string{"b"}, OrScopes: [][]string{{"a"}}},
		"scopes=x,y anyscope=b,a": {Scopes: []string{"b", "x", "y"},
			OrScopes: [][]string{{"a", "x", "y"}}},
		"scopes=a anyscope=b,a":           {Scopes: []string{"a"}, OrScopes: [][]string{}},
		"scopes=a=b denial=challenge":     {Scopes: []string{"a=b"}, Denial: Challenge},
		"minrole=Viewer denial=conceal":   {MinRole: []string{"Viewer"}, Denial: Conceal},
		"authenticated minrole=Manager\n": {Authenticated: true, MinRole: []string{"Manager"}},
	} {
		if got, err := ParseRule(nil, text); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %+v, %v, want %+v", text, got, err, want)
		}
	}
	const (
		nobody    = "it admits no caller: write public, authenticated, minrole=ROLE or scopes=A,B"
		hierarchy = ": use one of Viewer < Member < Manager < Admin"
	)
	for text, want := range map[string]string{
		"":                      nobody,
		"denial=forbid":         nobody,
		"public minrole=Viewer": "public excludes the rest: remove one of them",
		"minrole=member":        `unknown role "member"` + hierarchy,
		"minrole=":              `unknown role ""` + hierarchy,
		"minrole": `"minrole" is not part of a rule: write public, or authenticated, ` +
			"minrole=ROLE, scopes=A,B and anyscope=A,B, and denial=MODE",
		"public=false": `"public=false" is not part of a rule: write public, or authenticated, ` +
			"minrole=ROLE, scopes=A,B and anyscope=A,B, and denial=MODE",
		"scopes=a,": "it has a scope without a name: remove the comma",
		"scopes=":   "it has a scope without a name: remove the comma",
		"anyscope=": "it has a scope without a name: remove the comma",
		"anyscope=a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q": "it has more than 16 alternatives of scopes: " +
			"shorten anyscope=",
		"authenticated denial=default": `unknown denial mode "default": ` +
			"use conceal, forbid or challenge",
		"minrole=Viewer minrole=Viewer": "it has minrole twice: remove one",
		"authenticated authenticated":   "it has authenticated twice: remove one",
		"minrole=Viewer, authenticated": `unknown role ""` + hierarchy,
	} {
		got, err := ParseRule(nil, text)
		want = `rule "` + text + `": ` + want
		if err == nil || err.Error() != want || !reflect.DeepEqual(got, Rule{}) {
			t.Errorf("%q: %+v, %v, want %s", text, got, err, want)
		}
	}
	roles := [][]string{{"guest", "clerk"}, {"help"}}
	rules, err := ParseRules(roles, map[string]string{"a": "minrole=clerk,help", "b": "public"})
	two := map[string]Rule{"a": {MinRole: []string{"clerk", "help"}}, "b": {Public: true}}
	if err != nil || !reflect.DeepEqual(rules, two) {
		t.Errorf("%+v, %v", rules, err)
	}
	rules, err = ParseRules(roles, map[string]string{"a": "minrole=Member", "b": "", "c": "public"})
	const want = `"a": rule "minrole=Member": unknown role "Member": ` +
		"use one of guest < clerk; help\n" +
		`"b": rule "": ` + nobody
	if rules != nil || err == nil || err.Error() != want {
		t.Errorf("%+v, %v", rules, err)
	}
}
