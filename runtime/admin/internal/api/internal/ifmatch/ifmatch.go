// Package ifmatch makes changes on the condition of the If-Match headers of a request (RFC 9110,
// section 13.1.1). The entity tag of an item is its version.
package ifmatch

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/runtime/admin/internal/api/internal/problem"
	"github.com/mcpgen/mcpgen/runtime/admin/internal/ids"
	"github.com/mcpgen/mcpgen/runtime/store"
)

// ETag is the entity tag of a version, or empty for an item without versions.
func ETag(version int64) string {
	if version == 0 {
		return ""
	}
	return `"` + ids.Text(version) + `"`
}

// match is the content of a request's If-Match headers.
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
	malformed := problem.New(http.StatusBadRequest,
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
		if version := ids.Of(tag); version > 0 && !weak {
			m.versions = append(m.versions, version)
		}
	}
	return m, nil
}

// attempts bounds the attempts of a change that allows several versions, while others change the
// item.
const attempts = 10

// Change makes a change at the versions in the If-Match headers. Without the headers, a change that
// must have them is a problem with status 428 (RFC 6585, section 3). read returns the version by
// now. do makes the change at one version, or at version 0 without the headers.
func Change(r *http.Request, must bool, read func() (int64, error),
	do func(version int64) error) error {
	m, err := matchOf(r)
	switch {
	case err != nil:
		return err
	case !m.sent && must:
		return problem.New(http.StatusPreconditionRequired,
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
	return problem.New(http.StatusConflict, "it changes too often: try again later")
}
