package explained

import (
	"context"
	"fmt"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
)

func explain(ctx context.Context, server *runtime.Server) {
	fmt.Println(server.Explain(ctx, access.Principal{Issuer: "shop", Subject: "mel", Role: "Member"}, "book"))
}
