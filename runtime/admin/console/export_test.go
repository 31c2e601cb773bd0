package console

import (
	"net/http"
	"slices"
	"time"

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
	for _, r := range slices.Concat(routes, grantRoutes, workspaceRoutes) {
		all = append(all, r.pattern)
	}
	return all
}

// Asset is the address of a file of the pages.
func Asset(name string) string { return assetPaths[name] }

var (
	Within = within
	Policy = policy

	Breakable = breakable
	Visible   = visible
	OneLine   = oneLine
)

// Quoted are the lines that are shown of what a client wrote, and whether there are more.
func Quoted(text string) (lines []string, cut bool) {
	q := quoted(text)
	return q.Lines, q.Cut
}

const (
	MaxToken  = maxToken
	PartBytes = partBytes
)

// Hasty has a form come within d.
func (o Options) Hasty(d time.Duration) Options { o.patience = d; return o }
