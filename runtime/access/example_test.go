package access_test

import (
	"fmt"
	"log"

	"github.com/mcpgen/mcpgen/runtime/access"
)

// A table decides for each caller and each tool. mcpgen writes it from directives.
func ExampleTable_Decide() {
	table := access.Table{
		Roles: access.DefaultRoles(), // Viewer < Member < Manager < Admin
		Rules: []access.Rule{
			{Tool: "about", Public: true},
			{Tool: "delete", MinRole: []string{"Admin"}, Scopes: []string{"parts:write"}},
			{Tool: "find", MinRole: []string{"Viewer"}},
		},
	}
	mel := access.Principal{Subject: "mel", Roles: []string{"Member"}}
	for _, tool := range []string{"about", "find", "delete", "none"} {
		d := table.Decide(mel, tool)
		fmt.Println(tool, d.Allowed, d.Axis)
	}
	fmt.Println(table.Decide(mel, "delete").Missing())
	// Output:
	// about true public
	// find true role
	// delete false role
	// none false unknown
	// needs role Admin and scope parts:write
}

// Rules by the names of roles, for runtime.Adopt.
func ExampleParseRules() {
	rules, err := access.ParseRules([][]string{{"Guest", "Owner"}}, map[string]string{
		"about": "public", "delete": "minrole=Owner scopes=parts:write"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(rules["about"].Public, rules["delete"].MinRole, rules["delete"].Scopes)

	_, err = access.ParseRules([][]string{{"Guest", "Owner"}}, map[string]string{
		"delete": "minrole=Ownr"})
	fmt.Println(err != nil) // the error names the rule and the roles
	// Output:
	// true [Owner] [parts:write]
	// true
}
