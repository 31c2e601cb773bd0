package api

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/runtime/store"
)

// etag is the entity tag of a version, or empty for a thing that has none.
func etag(version int64) string {
	if version == 0 {
		return ""
	}
	return `"` + textOf(version) + `"`
}

// Condition documents If-Match. The API reads it from all headers of the request: see match.
type Condition struct {
	IfMatch string `header:"If-Match" doc:"The ETag of the last read, or * for any version"`
}

// match is what the If-Match headers of a request say (RFC 9110, section 13.1.1).
type match struct {
	sent, any bool
	versions  []int64
}

// matchOf reads them. Weak tags, and tags that this API never gave, match nothing.
func matchOf(r *http.Request) (match, error) {
	values := r.Header.Values("If-Match")
	m := match{sent: len(values) > 0}
	rest := strings.Trim(strings.Join(values, ","), " \t")
	if rest == "*" {
		m.any = true
		return m, nil
	}
	malformed := problem(http.StatusBadRequest,
		`If-Match must be * or a list of entity tags, for example "3"`)
	for tags := 0; m.sent; tags++ {
		rest = strings.TrimLeft(rest, " \t,")
		if rest == "" {
			if tags == 0 {
				return m, malformed
			}
			break
		}
		strong := rest
		rest = strings.TrimPrefix(rest, "W/")
		weak := len(rest) < len(strong)
		quoted, ok := strings.CutPrefix(rest, `"`)
		tag, after, closed := strings.Cut(quoted, `"`)
		rest = strings.TrimLeft(after, " \t")
		if !ok || !closed || rest != "" && rest[0] != ',' {
			return m, malformed
		}
		if version := idOf(tag); version > 0 && !weak {
			m.versions = append(m.versions, version)
		}
	}
	return m, nil
}

// attempts is how often a change is tried that may meet more than one version, and finds that yet
// another has come.
const attempts = 10

// change makes a change at the versions that a request says it knows. Where it must say so and does
// not, that is 428 (RFC 6585, section 3). read returns the version by now; do makes the change at
// one version, or, where the request says nothing, at version 0.
func (r *request) change(must bool, read func() (int64, error), do func(version int64) error) error {
	m, err := matchOf(r.Request)
	switch {
	case err != nil:
		return err
	case !m.sent && must:
		return problem(http.StatusPreconditionRequired,
			"send the ETag of your last read as If-Match, so that no other change is lost")
	case !m.sent:
		return do(0)
	case len(m.versions) == 1:
		return do(m.versions[0])
	}
	for range attempts {
		version, err := read()
		if err != nil {
			return err
		}
		if !m.any && !slices.Contains(m.versions, version) {
			return store.ErrConflict
		}
		if err := do(version); !errors.Is(err, store.ErrConflict) {
			return err
		}
	}
	return problem(http.StatusConflict, "it changes too often: try again later")
}
