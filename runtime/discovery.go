package runtime

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"slices"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/access"
)

// maxViews bounds the lists that are kept. There is one for each role and each combination of
// scopes that rules ask for; beyond the bound lists are built anew each time.
const maxViews = 1024

// discovery answers lists from the table. What go-sdk would list is never asked for.
type discovery struct {
	table    access.Table
	tools    map[string]*mcp.Tool
	pageSize int
	all      bool // Options.ListAll
	copies   bool // somebody inside the guard could write to what is listed

	mu    sync.RWMutex
	views map[string]*view // by the key of the visible set
}

// view is what everybody with the same visible set is shown.
type view struct {
	tools  []*mcp.Tool
	digest [digestLen]byte
}

const digestLen = 8

// visible returns what a caller is shown.
func (d *discovery) visible(p access.Principal) *view {
	set := d.table.Visible(p)
	if d.all {
		set = d.table.All()
	}
	key := set.Key()
	d.mu.RLock()
	v := d.views[key]
	d.mu.RUnlock()
	if v != nil {
		return v
	}
	v = &view{tools: []*mcp.Tool{}}
	for _, name := range set.Names() {
		v.tools = append(v.tools, d.tools[name])
	}
	digest := set.Digest()
	copy(v.digest[:], digest[:])
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.views) < maxViews {
		d.views[key] = v
	}
	return v
}

// list returns one page of what a caller is shown. The result is fresh, as go-sdk writes into
// it; the tools in it are shared.
func (d *discovery) list(p access.Principal, cursor string) (*mcp.ListToolsResult, error) {
	v := d.visible(p)
	start := 0
	if cursor != "" {
		var ok bool
		if start, ok = v.offset(cursor); !ok {
			return nil, invalidParams("invalid cursor")
		}
	}
	end := min(start+d.pageSize, len(v.tools))
	res := &mcp.ListToolsResult{Tools: v.tools[start:end:end]}
	if d.copies {
		res.Tools = cloneTools(res.Tools)
	}
	if end < len(v.tools) {
		res.NextCursor = v.cursor(end)
	}
	return res, nil
}

// cursor says where a page begins and of which visible set. It holds no name, and needs no key:
// whoever alters it pages through the same set, the caller's own.
func (v *view) cursor(offset int) string {
	raw := binary.AppendUvarint(v.digest[:len(v.digest):len(v.digest)], uint64(offset))
	return base64.RawURLEncoding.EncodeToString(raw)
}

// offset reads a cursor. It refuses what is malformed, made for another visible set, or beyond
// the end.
func (v *view) offset(cursor string) (int, bool) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	if err != nil || len(raw) <= digestLen || [digestLen]byte(raw[:digestLen]) != v.digest {
		return 0, false
	}
	offset, n := binary.Uvarint(raw[digestLen:])
	if n <= 0 || n != len(raw)-digestLen || offset == 0 || offset >= uint64(len(v.tools)) {
		return 0, false
	}
	return int(offset), true
}

// cloneTools copies what is listed as far down as it can be written to.
func cloneTools(tools []*mcp.Tool) []*mcp.Tool {
	out := make([]*mcp.Tool, len(tools))
	for i, t := range tools {
		c := *t
		if t.Annotations != nil {
			a := *t.Annotations
			c.Annotations = &a
		}
		if raw, ok := t.InputSchema.(json.RawMessage); ok {
			c.InputSchema = slices.Clone(raw)
		}
		if raw, ok := t.OutputSchema.(json.RawMessage); ok {
			c.OutputSchema = slices.Clone(raw)
		}
		out[i] = &c
	}
	return out
}
