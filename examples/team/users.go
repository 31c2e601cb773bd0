package main

import (
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/identity"
)

// users are the four people of the example, one of each role.
var users = map[string]access.Principal{
	"vera": {Issuer: "team", Subject: "vera", Role: "Viewer"},
	"mel":  {Issuer: "team", Subject: "mel", Role: "Member"},
	"mara": {Issuer: "team", Subject: "mara", Role: "Manager"},
	"ada":  {Issuer: "team", Subject: "ada", Role: "Admin"},
}

// tokens maps the hash of each user's token to the user. A service reads the hashes from its
// configuration; the example's tokens are no secrets: demo-vera, demo-mel, demo-mara, demo-ada.
func tokens() map[string]access.Principal {
	byHash := make(map[string]access.Principal, len(users))
	for name, user := range users {
		byHash[identity.HashToken("demo-"+name)] = user
	}
	return byHash
}
