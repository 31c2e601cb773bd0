package main

import (
	"context"
	"log"
	"os"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
)

func main() {
	server, err := runtime.New(runtime.Options{Anonymous: true}, Toolset())
	if err != nil {
		log.Fatal(err)
	}
	// The program that starts a stdio server decides who is calling; without a role, nobody.
	var caller access.Principal
	if role := os.Getenv("QUICKSTART_ROLE"); role != "" {
		caller = access.Principal{Issuer: "local", Subject: "me", Role: role}
	}
	if err := server.RunStdio(context.Background(), caller); err != nil {
		log.Fatal(err)
	}
}
