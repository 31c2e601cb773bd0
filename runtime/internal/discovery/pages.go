package discovery

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"slices"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/internal/wire"
)

// Listed returns the names that a caller is listed. Values are listed in the schemas of tools.
func (p *Policy) Listed(caller access.Principal, k access.Kind) access.Set {
	if k == access.Values && !p.ListAll {
		return p.Table.Offered(caller, p.Listed(caller, access.Tools))
	}
	set := p.Table.Of(k).Listed(caller, p.Denial)
	if p.ListAll {
		set = p.Table.Of(k).All()
	}
	if off := p.off.Load(); k == access.Tools && off != nil {
		set = set.Without(off.tools)
	}
	if k == access.Resources && len(p.Apps) > 0 {
		set = set.Without(p.appsOff())
	}
	return set
}

const maxViews = 1024 // of a list: one for each role and combination of scopes in rules

type digest [8]byte // of the set of names that a view shows

// list is one of the lists of a server. Its visible part comes from the policy alone.
type list[T any] struct {
	*ListsConfig
	kind access.Kind
	mark byte     // distinguishes the cursors of the lists
	own  func(*T) // makes a shallow copy share nothing that its receiver may change
	// narrow returns an item as it is for a caller who may send these values; nil if no item of the
	// list has values with rules.
	narrow func(*T, []access.Choice) *T
	shown  func(*T) *T   // returns an item as the versions of the list have it; nil for itself
	items  map[string]*T // by the names of their rules
	json   map[*T][]byte // the items, encoded; without those that cannot be

	mu    sync.RWMutex
	views map[string]*view[T] // by the keys of the sets of names and values
	// narrowed are the items for callers who may send some values, by name and values.
	narrowed map[string]narrowedItem[T]
}

type narrowedItem[T any] struct {
	item *T
	json []byte
}

// view is the list of all callers who see the same set. It is not changed.
type view[T any] struct {
	items  []*T
	json   [][]byte // the items, encoded; nil if one of them cannot be
	digest digest
}

func newList[T any](l *Lists, k access.Kind, mark byte, own func(*T)) *list[T] {
	return &list[T]{ListsConfig: &l.ListsConfig, kind: k, mark: mark, own: own,
		items: map[string]*T{}, json: map[*T][]byte{}, views: map[string]*view[T]{},
		narrowed: map[string]narrowedItem[T]{}}
}

// add adds an item. Nobody may use an item without a rule, so that it stays out of the list.
func (l *list[T]) add(name string, item *T) {
	if _, ok := l.Policy.Table.Of(l.kind).Tool(name); ok {
		if l.shown != nil {
			item = l.shown(item)
		}
		l.items[name] = item
		if text, err := wire.Marshal(item); err == nil {
			l.json[item] = text
		}
	}
}

// visible returns the list of a caller, limited to a set unless that is nil, with what an adopted
// server lists now unless that is nil.
func (l *list[T]) visible(p access.Principal, in *access.Set, now map[string]*T) *view[T] {
	set := l.Policy.Listed(p, l.kind)
	if in != nil {
		set = set.And(*in)
	}
	if in != nil || now != nil {
		return l.view(p, set, now) // not kept: catalogs can make any number of views
	}
	key := set.Key()
	if l.narrow != nil {
		key += l.Policy.Offered(p, set).Key()
	}
	l.mu.RLock()
	v := l.views[key]
	l.mu.RUnlock()
	if l.Looked != nil {
		l.Looked("views", v != nil)
	}
	if v != nil {
		return v
	}
	v = l.view(p, set, nil)
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.views) == maxViews {
		clear(l.views) // among them are views from before a switch, which nobody needs again
	}
	l.views[key] = v
	return v
}

// total returns how many items there are.
func (l *list[T]) total(now map[string]*T) (n int) {
	if now == nil {
		return len(l.items)
	}
	for name := range now {
		if l.isAdopted(name) {
			n++
		}
	}
	for name := range l.items {
		if !l.isAdopted(name) {
			n++
		}
	}
	return n
}

// isAdopted reports whether a name with a rule belongs to an adopted server.
func (l *list[T]) isAdopted(name string) bool {
	_, hasRule := l.Policy.Table.Of(l.kind).Tool(name)
	return l.Adopted != nil && hasRule && l.Adopted(l.kind, name)
}

func (l *list[T]) view(p access.Principal, set access.Set, now map[string]*T) *view[T] {
	v := &view[T]{items: []*T{}}
	for _, name := range set.Names() {
		item, text := l.item(p, name)
		if now != nil && l.isAdopted(name) {
			if item, text = now[name], nil; item != nil && l.shown != nil {
				item = l.shown(item)
			}
		}
		if item != nil { // resources and templates share one table
			v.items = append(v.items, item)
			v.json = append(v.json, text)
		}
	}
	if slices.ContainsFunc(v.json, func(text []byte) bool { return text == nil }) {
		v.json = nil
	}
	sum := set.Digest()
	v.digest = digest(sum[:])
	v.digest[0] ^= l.mark
	if l.narrow != nil {
		if values := l.Policy.Offered(p, set); values.Len() > 0 {
			sum := values.Digest()
			for i := range v.digest {
				v.digest[i] ^= sum[i]
			}
		}
	}
	return v
}

// item returns an item as a caller is listed it, and its JSON, nil if it cannot be encoded. The
// item is nil if there is none.
func (l *list[T]) item(p access.Principal, name string) (*T, []byte) {
	item := l.items[name]
	if item == nil || l.narrow == nil || l.Policy.ListAll {
		return item, l.json[item]
	}
	choices := l.Policy.Table.Choices(p, name)
	if choices == nil {
		return item, l.json[item]
	}
	key := name
	for _, c := range choices {
		key += fmt.Sprintf("%q", c.Values)
	}
	l.mu.RLock()
	n, made := l.narrowed[key]
	l.mu.RUnlock()
	if made {
		return n.item, n.json
	}
	if n.item = l.narrow(item, choices); n.item != nil {
		n.json, _ = wire.Marshal(n.item) // as in add
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.narrowed) < maxViews {
		l.narrowed[key] = n
	}
	return n.item, n.json
}

// page returns a page and the cursor of the next one.
func (l *list[T]) page(p access.Principal, in *access.Set, now map[string]*T,
	cursor string) ([]*T, string, error) {
	v := l.visible(p, in, now)
	start, end, next, err := l.bounds(v, cursor)
	if err != nil {
		return nil, "", err
	}
	page := v.items[start:end:end]
	if l.Clone {
		page = slices.Clone(page)
		for i, item := range page {
			page[i] = new(*item)
			l.own(page[i])
		}
	}
	return page, next, nil
}

// encode returns the encoded result with a page; see [Lists.Encode].
func (l *list[T]) encode(name string, p access.Principal, in *access.Set, now map[string]*T,
	cursor string, meta mcp.Meta) (*wire.Encoded, bool, error) {
	v := l.visible(p, in, now)
	if l.Clone || v.json == nil && len(v.items) > 0 {
		return nil, false, nil
	}
	start, end, next, err := l.bounds(v, cursor)
	if err != nil {
		return nil, true, err
	}
	e, err := wire.EncodeList(name, v.json[start:end], next, meta, l.TTLMs)
	return e, true, err
}

// bounds returns where a page begins and ends, and the cursor of the next one. A cursor needs no
// key, because an altered cursor pages through the caller's own set.
func (l *list[T]) bounds(v *view[T], cursor string) (start, end int, next string, err error) {
	start, ok := v.offset(cursor)
	if !ok && cursor != "" {
		return 0, 0, "", wire.InvalidParams("invalid cursor")
	}
	if end = min(start+l.PageSize, len(v.items)); end < len(v.items) {
		raw := binary.AppendUvarint(v.digest[:len(v.digest):len(v.digest)], uint64(end))
		next = base64.RawURLEncoding.EncodeToString(raw)
	}
	return start, end, next, nil
}

func (v *view[T]) offset(cursor string) (int, bool) {
	const size = len(v.digest)
	raw, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	if err != nil || len(raw) <= size || digest(raw[:size]) != v.digest {
		return 0, false // a cursor of another view
	}
	offset, n := binary.Uvarint(raw[size:])
	if n <= 0 || n != len(raw)-size || offset == 0 || offset >= uint64(len(v.items)) {
		return 0, false
	}
	return int(offset), true
}
