package main

import (
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/identity"
)

// users are two agents, whose grants are each its own, and the operator who decides on them.
var users = map[string]access.Principal{
	"robin": {Issuer: "workspace", Subject: "robin", Roles: []string{"Agent"}},
	"kim":   {Issuer: "workspace", Subject: "kim", Roles: []string{"Agent"}},
	"olga":  {Issuer: "workspace", Subject: "olga", Roles: []string{"Operator"}},
}

// tokens maps the hash of each user's token to the user. A service reads the hashes from its
// configuration; the example's tokens are no secrets: demo-robin, demo-kim, demo-olga.
func tokens() map[string]access.Principal {
	byHash := make(map[string]access.Principal, len(users))
	for name, user := range users {
		byHash[identity.HashToken("demo-"+name)] = user
	}
	return byHash
}
