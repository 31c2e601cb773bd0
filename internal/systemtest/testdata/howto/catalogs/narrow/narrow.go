package narrow

import (
	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

type service struct{ Toolset func(any) toolset.Toolset }

func narrow(options runtime.Options, inventory, tickets service, svc, desk any) error {
	server, err := runtime.New(options,
		inventory.Toolset(svc).Without("delete_device"), tickets.Toolset(desk).Only("get", "list"))
	_ = server
	return err
}
