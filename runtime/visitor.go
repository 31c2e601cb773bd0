package runtime

import (
	"context"
	"errors"
	"net/http"
)

// Refusal says why a request is not let in, in HTTP's terms.
type Refusal struct {
	Status    int    // 401, 403 or 503
	Challenge string // what to send as WWW-Authenticate, with 401
	Reason    string // fit for whoever asks
}

func (r *Refusal) Error() string { return r.Reason }

// Identify tells who sends an HTTP request, as the MCP endpoint would: by Options.Identity, and with
// Options.PermissionAware by the host as well. [Caller] finds the principal in the context that it returns. A caller
// without credentials is refused, whether Options.Anonymous admits such to MCP or not. Its error is a *[Refusal].
//
// It is for handlers beside MCP; see Options.Admin.
func (s *Server) Identify(r *http.Request) (context.Context, error) {
	return nil, errors.ErrUnsupported
}
