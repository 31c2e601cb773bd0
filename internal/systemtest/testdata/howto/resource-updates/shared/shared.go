package shared

import (
	"context"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/store"
)

func open(ctx context.Context, url string, options *runtime.Options) error {
	shared, err := store.Open(ctx, url)
	if err != nil {
		return err
	}
	options.Protocol.ResourceUpdates = shared
	return nil
}
