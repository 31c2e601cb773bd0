package parts_test

import (
	"errors"
	"testing"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/mcptest"
	"github.com/mcpgen/mcpgen/runtime/toolclient"

	"example.com/howto/testing/parts"
	"example.com/howto/testing/parts/client"
)

func TestOrder(t *testing.T) {
	server, err := runtime.New(runtime.Options{Identity: mcptest.Identities{}}, parts.Toolset())
	if err != nil {
		t.Fatal(err)
	}
	mel := access.Principal{Subject: "mel", Roles: []string{"Member"}}

	c := client.New(mcptest.As(t, server, mel, ""))
	receipt, err := c.Order(t.Context(), client.OrderInput{Article: "nail", Pieces: 3})
	if err != nil || receipt.Total != 6 {
		t.Errorf("%v, %v", receipt, err)
	}

	var unfit *toolclient.ArgumentsError
	_, err = c.Order(t.Context(), client.OrderInput{Article: "nail"})
	if !errors.As(err, &unfit) {
		t.Errorf("no pieces: %v", err)
	}
}
