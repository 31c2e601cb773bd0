package runtime

import (
	"encoding/base64"
	"encoding/binary"
	"sync"

	"github.com/mcpgen/mcpgen/runtime/access"
)

// maxViews bounds the lists that are kept. There is one for each role and each combination of
// scopes that rules ask for; beyond the bound lists are built anew each time.
const maxViews = 1024

// discovery answers the list of one kind of thing from the table: tools, prompts, resources
// or resource templates. What go-sdk would list is never asked for.
type discovery[T any] struct {
	table    access.Table // of the kind
	items    map[string]T // by the names of its rules
	mark     byte         // tells the cursors of one list from those of another
	pageSize int
	all      bool          // Options.ListAll
	denial   access.Denial // Options.Denial
	clone    func(T) T     // nil where nobody inside the guard could write to what is listed

	off    func() *access.Set           // what is switched off; nil for nothing
	looked func(cache string, hit bool) // told whether a view was kept

	mu    sync.RWMutex
	views map[string]*view[T] // by the key of the visible set
}

// view is what everybody with the same visible set is shown.
type view[T any] struct {
	items  []T
	digest [digestLen]byte
}

const digestLen = 8

// visible returns what a caller is shown, of what is in a set where there is one.
func (d *discovery[T]) visible(p access.Principal, in *access.Set) *view[T] {
	set := d.table.Listed(p, d.denial)
	if d.all {
		set = d.table.All()
	}
	if d.off != nil {
		if off := d.off(); off != nil {
			set = set.Without(*off)
		}
	}
	if in != nil {
		return d.view(set.And(*in)) // not kept: anybody who may make catalogs could make any number of these
	}
	key := set.Key()
	d.mu.RLock()
	v := d.views[key]
	d.mu.RUnlock()
	d.looked("views", v != nil)
	if v != nil {
		return v
	}
	v = d.view(set)
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.views) < maxViews {
		d.views[key] = v
	}
	return v
}

// forget drops the lists that are kept.
func (d *discovery[T]) forget() {
	d.mu.Lock()
	defer d.mu.Unlock()
	clear(d.views)
}

func (d *discovery[T]) view(set access.Set) *view[T] {
	v := &view[T]{items: []T{}}
	for _, name := range set.Names() {
		// Resources and templates share one table and have a list each.
		if item, ok := d.items[name]; ok {
			v.items = append(v.items, item)
		}
	}
	digest := set.Digest()
	copy(v.digest[:], digest[:])
	v.digest[0] ^= d.mark
	return v
}

// list returns one page of what a caller is shown, and the cursor of the next. The slice and
// what is in it are shared.
func (d *discovery[T]) list(p access.Principal, in *access.Set, cursor string) (page []T, next string, err error) {
	v := d.visible(p, in)
	start := 0
	if cursor != "" {
		var ok bool
		if start, ok = v.offset(cursor); !ok {
			return nil, "", invalidParams("invalid cursor")
		}
	}
	end := min(start+d.pageSize, len(v.items))
	page = v.items[start:end:end]
	if d.clone != nil {
		page = make([]T, end-start)
		for i, item := range v.items[start:end] {
			page[i] = d.clone(item)
		}
	}
	if end < len(v.items) {
		next = v.cursor(end)
	}
	return page, next, nil
}

// cursor says where a page begins and of which visible set. It holds no name, and needs no key:
// whoever alters it pages through the same set, the caller's own.
func (v *view[T]) cursor(offset int) string {
	raw := binary.AppendUvarint(v.digest[:len(v.digest):len(v.digest)], uint64(offset))
	return base64.RawURLEncoding.EncodeToString(raw)
}

// offset reads a cursor. It refuses what is malformed, made for another visible set, or beyond
// the end.
func (v *view[T]) offset(cursor string) (int, bool) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	if err != nil || len(raw) <= digestLen || [digestLen]byte(raw[:digestLen]) != v.digest {
		return 0, false
	}
	offset, n := binary.Uvarint(raw[digestLen:])
	if n <= 0 || n != len(raw)-digestLen || offset == 0 || offset >= uint64(len(v.items)) {
		return 0, false
	}
	return int(offset), true
}
