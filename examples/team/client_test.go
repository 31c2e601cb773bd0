package main

import (
	"errors"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/mcpgen/mcpgen/examples/team/directory"
	"github.com/mcpgen/mcpgen/examples/team/directory/client"
	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/toolclient"
)

// TestTypedClientCallsAsTwoRoles calls the service over HTTP by its generated client.
func TestTypedClientCallsAsTwoRoles(t *testing.T) {
	url := serveHTTP(t, runtime.Options{Anonymous: true})
	for _, era := range eras {
		admin := client.New(connectHTTP(t, url, "ada", era))
		viewer := client.New(connectHTTP(t, url, "vera", era))

		email := "joan." + era + "@example.org"
		made, err := admin.Create(t.Context(), directory.NewPerson{Name: "Joan Clarke", Email: email})
		if err != nil || made.ID == 0 || made.Email != email {
			t.Fatalf("%s: %+v, %v", era, made, err)
		}
		found, err := viewer.GetByID(t.Context(), client.GetByIDInput{ID: made.ID})
		if err != nil || found != made {
			t.Errorf("%s: %+v, %v; want %+v", era, found, err, made)
		}
		all, err := viewer.GetAll(t.Context())
		if err != nil || len(all) == 0 {
			t.Errorf("%s: %v, %v", era, all, err)
		}

		// The server refuses what the role may not do, and sends no more than for a missing tool.
		var refused *jsonrpc.Error
		_, err = viewer.Create(t.Context(), directory.NewPerson{Name: "Eve", Email: "e@example.org"})
		if !errors.As(err, &refused) || !strings.Contains(refused.Message, `unknown tool "create"`) {
			t.Errorf("%s: %v", era, err)
		}
		// A failure of the tool is typed.
		var failed *toolclient.ToolError
		_, err = viewer.GetByID(t.Context(), client.GetByIDInput{ID: 1 << 40})
		if !errors.As(err, &failed) || failed.Tool != directory.ToolGetByID {
			t.Errorf("%s: %v", era, err)
		}
		// The client sends nothing that the schema refuses: the viewer gets the same error.
		for _, c := range []*client.Client{admin, viewer} {
			var unfit *toolclient.ArgumentsError
			_, err = c.Create(t.Context(), directory.NewPerson{Name: ""})
			if !errors.As(err, &unfit) || !strings.Contains(err.Error(), "name") {
				t.Errorf("%s: %v", era, err)
			}
		}
	}
}
