package console

import (
	"net/http"
	"slices"
	"time"

	"github.com/mcpgen/mcpgen/runtime/admin/internal/console/internal/asset"
	"github.com/mcpgen/mcpgen/runtime/admin/internal/console/internal/cookie"
	"github.com/mcpgen/mcpgen/runtime/store"
)

// NewOf is New over a server and an authority of a test's own.
func NewOf(m Machine, s *store.Store, a Standing, o Options) http.Handler {
	return newConsole(m, s, a, o)
}

type (
	Machine  = machine
	Standing = standing
)

// Patterns are the routes that there are.
func Patterns() (all []string) {
	for _, r := range slices.Concat(routes, grantRoutes, workspaceRoutes, boundaryRoutes) {
		all = append(all, r.pattern)
	}
	return all
}

// Asset is the address of a file of the pages.
func Asset(name string) string { return asset.Path(name) }

var (
	Within = within
	Policy = policy
)

const (
	MaxToken  = cookie.MaxToken
	PartBytes = cookie.PartBytes
)

// Hasty has a form come within d.
func (o Options) Hasty(d time.Duration) Options { o.patience = d; return o }
