package explained

import (
	"context"
	"fmt"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
)

func explain(ctx context.Context, server *runtime.Server) {
	mel := access.Principal{Issuer: "shop", Subject: "mel", Roles: []string{"Member"}}
	fmt.Println(server.Explain(ctx, mel, "book"))
}
