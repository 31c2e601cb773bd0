package main

import (
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/identity"
)

// users are the five people of the example. Olga has two roles: neither is above the other.
var users = map[string]access.Principal{
	"vera": {Issuer: "team", Subject: "vera", Roles: []string{"Viewer"}},
	"mel":  {Issuer: "team", Subject: "mel", Roles: []string{"Member"}},
	"mara": {Issuer: "team", Subject: "mara", Roles: []string{"Manager"}},
	"olga": {Issuer: "team", Subject: "olga", Roles: []string{"Member", "Auditor"}},
	"ada":  {Issuer: "team", Subject: "ada", Roles: []string{"Admin"}},
}

// tokens maps the hash of each user's token to the user. A service reads the hashes from its
// configuration; the example's tokens are no secrets: demo-vera, demo-mel and so on.
func tokens() map[string]access.Principal {
	byHash := make(map[string]access.Principal, len(users))
	for name, user := range users {
		byHash[identity.HashToken("demo-"+name)] = user
	}
	return byHash
}
