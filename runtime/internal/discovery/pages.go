package discovery

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"iter"
	"slices"
	"strconv"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/internal/loader"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/internal/wire"
)

// Listed returns the names that a caller is listed. Values and fields are listed in the schemas of
// tools. Lists that contain everything have no hidden fields either: results have none.
func (p *Policy) Listed(caller access.Principal, k access.Kind) access.Set {
	if k == access.Values && !p.ListAll {
		return p.Table.Offered(caller, p.Listed(caller, access.Tools))
	}
	if k == access.Fields {
		all := p.Table.Of(k)
		return all.All().Without(all.Named(p.Table.Hidden(caller, p.Fields())))
	}
	set := p.listedByRules(caller, k)
	if k == access.Tools {
		set = without(set, p.off.Load())
	}
	if k == access.Resources && len(p.Apps) > 0 {
		set = set.Without(p.withoutTools(p.Listed(caller, access.Tools)))
	}
	return set
}

// listedByRules is Listed if no tool is switched off.
func (p *Policy) listedByRules(caller access.Principal, k access.Kind) access.Set {
	if p.ListAll {
		return p.insideOf(caller, k)
	}
	return p.Table.Of(k).Listed(caller, p.Denial)
}

// maxNarrowed bounds the memory of the items that are kept for callers who may not send all values
// or not see all fields, in bytes.
const maxNarrowed = 8 << 20

// digest identifies the set of names that a view shows: it depends on these names only, so that it
// is the same on every replica, and reveals nothing about other names.
type digest uint64

// names are the names of one kind with rules, by position.
type names struct {
	at      map[string]int
	digests []digest // of one name each
}

func newNames(p *Policy, k access.Kind) *names {
	all := p.Table.Of(k).All()
	n := &names{at: make(map[string]int, all.Len()), digests: make([]digest, 0, all.Len())}
	for i, name := range all.All {
		n.at[name] = i
		sum := sha256.Sum256([]byte(name))
		n.digests = append(n.digests, digest(binary.BigEndian.Uint64(sum[:])))
	}
	return n
}

func (n *names) digest(of access.Set) (sum digest) {
	for i := range of.All {
		sum ^= n.digests[i]
	}
	return sum
}

// list is one of the lists of a server. Its visible part comes from the policy alone.
type list[T any] struct {
	*ListsConfig
	kind  access.Kind
	mark  digest // distinguishes the cursors of the lists
	names *names
	own   func(*T)    // makes a shallow copy share nothing that its receiver may change
	shown func(*T) *T // returns an item as the versions of the list have it; nil for itself
	// split returns an item as lists have it, and its guarded fields; nil for itself and none.
	split func(*T) (*T, *guarded[T])
	items []listItem[T] // by the positions of their rules
	count int
	bare  bool // an item has no JSON

	// narrow returns an item as it is for a caller who may send these values, and from whom these
	// fields are hidden; nil if no item of the list has values or fields with rules.
	narrow func(*T, []access.Choice, []string) *T
	values *names // with rules
	fields *names // with rules
	// narrowed has the items for callers who may not send all values or not see all fields.
	narrowed *loader.Loader[narrowing[T], *listItem[T]]
}

// listItem is an item and its JSON, which is nil for an item that cannot be encoded. The zero value
// is none.
type listItem[T any] struct {
	item *T
	json []byte
	*guarded[T]
}

// guarded is an item with guarded fields, as narrow needs it.
type guarded[T any] struct {
	marked *T       // with the names of the fields
	fields []string // sorted
}

func newListItem[T any](item *T) (i listItem[T]) {
	if item != nil {
		i.item = item
		i.json, _ = wire.Marshal(item)
	}
	return i
}

func newList[T any](l *Lists, k access.Kind, mark digest, names *names, own func(*T)) *list[T] {
	return &list[T]{ListsConfig: &l.ListsConfig, kind: k, mark: mark, names: names, own: own,
		items: make([]listItem[T], len(names.digests))}
}

// narrowBy lets the list narrow its items to the values that a caller may send, and the fields that
// the caller may see.
func (l *list[T]) narrowBy(narrow func(*T, []access.Choice, []string) *T) {
	l.narrow = narrow
	l.values, l.fields = newNames(l.Policy, access.Values), newNames(l.Policy, access.Fields)
	l.narrowed = loader.New(loader.Config[narrowing[T], *listItem[T]]{
		Key: narrowing[T].key, Size: maxNarrowed,
		Load: func(_ context.Context, n narrowing[T]) (*listItem[T], error) {
			return new(newListItem(l.narrow(n.item, n.choices, n.hidden))), nil
		},
		Keep: func(narrowing[T], *listItem[T], error) time.Duration { return loader.Forever },
		// An item has its JSON once more, in its schemas, and the key has its values and fields.
		Cost: func(n narrowing[T], i *listItem[T]) int {
			return 512 + 2*len(n.key()) + 2*len(i.json)
		},
	})
}

// add adds an item. Nobody may use an item without a rule, so that it stays out of the list.
func (l *list[T]) add(name string, item *T) {
	if i, ok := l.names.at[name]; ok {
		if l.shown != nil {
			item = l.shown(item)
		}
		if l.items[i].item == nil {
			l.count++
		}
		var of *guarded[T]
		if l.split != nil {
			item, of = l.split(item)
		}
		l.items[i] = newListItem(item)
		l.items[i].guarded = of
		l.bare = l.bare || l.items[i].json == nil
	}
}

// view is the list of a caller.
type view[T any] struct {
	*list[T]
	caller access.Principal
	set    access.Set
	now    map[string]*T // what an adopted server lists now; nil without one
}

// visible returns the list of a caller, limited to a set unless that is nil, with what an adopted
// server lists now unless that is nil.
func (l *list[T]) visible(p access.Principal, in *access.Set, now map[string]*T) view[T] {
	set := l.Policy.Listed(p, l.kind)
	if in != nil {
		set = set.And(*in)
	}
	return view[T]{l, p, set, now}
}

// total returns how many items there are.
func (l *list[T]) total(now map[string]*T) (n int) {
	if now == nil {
		return l.count
	}
	for name := range now {
		if l.isAdopted(name) {
			n++
		}
	}
	for name, i := range l.names.at {
		if l.items[i].item != nil && !l.isAdopted(name) {
			n++
		}
	}
	return n
}

// isAdopted reports whether a name with a rule belongs to an adopted server.
func (l *list[T]) isAdopted(name string) bool {
	_, hasRule := l.names.at[name]
	return l.Adopted != nil && hasRule && l.Adopted(l.kind, name)
}

// all yields the items of a view, in the order of names.
func (v view[T]) all(yield func(listItem[T]) bool) {
	for i, name := range v.set.All {
		item := v.items[i]
		switch {
		case v.now != nil && v.isAdopted(name):
			if item = (listItem[T]{item: v.now[name]}); item.item != nil && v.shown != nil {
				item.item = v.shown(item.item)
			}
		case v.narrow != nil:
			item = v.item(v.caller, i, name)
		}
		if item.item != nil && !yield(item) { // resources and templates share one table
			return
		}
	}
}

// len returns how many items a view has.
func (v view[T]) len() (n int) {
	if v.now == nil && v.count == len(v.items) {
		return v.set.Len()
	}
	for range v.all {
		n++
	}
	return n
}

// between yields the items of a page.
func (v view[T]) between(start, end int) iter.Seq[listItem[T]] {
	return func(yield func(listItem[T]) bool) {
		n := 0
		for item := range v.all {
			if n == end || n >= start && !yield(item) {
				return
			}
			n++
		}
	}
}

// texts yields the JSON of the items of a page, each time the same. ok is false if one has none.
func (v view[T]) texts(start, end int) (texts iter.Seq[[]byte], ok bool) {
	if v.now != nil || v.narrow != nil || v.bare {
		var page [][]byte
		for item := range v.between(start, end) {
			if item.json == nil {
				return nil, false
			}
			page = append(page, item.json)
		}
		return slices.Values(page), true
	}
	set, items := v.set, v.items
	return func(yield func([]byte) bool) {
		n := 0
		for i := range set.All {
			text := items[i].json
			if text == nil {
				continue // no item: resources and templates share one table
			}
			if n == end || n >= start && !yield(text) {
				return
			}
			n++
		}
	}, true
}

func (v view[T]) digest() digest {
	sum := v.mark ^ v.names.digest(v.set)
	if v.narrow != nil {
		sum ^= v.values.digest(v.Policy.Offered(v.caller, v.set))
		sum ^= v.fields.digest(v.visibleFields())
	}
	return sum
}

// visibleFields returns the guarded fields in the schemas of a view.
func (v view[T]) visibleFields() access.Set {
	of := v.Policy.Table.Of(access.Fields)
	if len(of.Rules) == 0 {
		return access.Set{}
	}
	var fields []string
	for i := range v.set.All {
		if g := v.items[i].guarded; g != nil {
			fields = append(fields, g.fields...)
		}
	}
	slices.Sort(fields)
	fields = slices.Compact(fields)
	return of.Named(fields).Without(of.Named(v.Policy.Table.Hidden(v.caller, fields)))
}

// narrowing is an item for callers who may send these values, and may not see these fields.
type narrowing[T any] struct {
	name    string
	item    *T
	choices []access.Choice
	hidden  []string
}

func (n narrowing[T]) key() string {
	key := strconv.AppendQuote(nil, n.name)
	for _, c := range n.choices {
		key = strconv.AppendQuote(append(key, '='), c.Argument)
		for _, value := range c.Values {
			key = strconv.AppendQuote(key, value)
		}
	}
	for _, field := range n.hidden {
		key = strconv.AppendQuote(append(key, '-'), field)
	}
	return string(key)
}

// item returns an item as a caller is listed it.
func (l *list[T]) item(p access.Principal, i int, name string) listItem[T] {
	item := l.items[i]
	if item.item == nil || l.narrow == nil {
		return item
	}
	of := narrowing[T]{name: name, item: item.item, choices: l.Policy.Choices(p, name)}
	if item.guarded != nil {
		of.item, of.hidden = item.marked, l.Policy.Table.Hidden(p, item.fields)
	}
	if of.choices == nil && of.hidden == nil {
		return item
	}
	kept, err := l.narrowed.Get(context.Background(), of)
	if err != nil {
		return listItem[T]{} // the load has panicked
	}
	return *kept.Value
}

// page returns a page and the cursor of the next one.
func (l *list[T]) page(p access.Principal, in *access.Set, now map[string]*T,
	cursor string) ([]*T, string, error) {
	v := l.visible(p, in, now)
	start, end, next, err := v.bounds(cursor)
	if err != nil {
		return nil, "", err
	}
	page := make([]*T, 0, end-start)
	for item := range v.between(start, end) {
		page = append(page, item.item)
	}
	if l.Clone {
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
	if l.Clone {
		return nil, false, nil
	}
	v := l.visible(p, in, now)
	start, end, next, err := v.bounds(cursor)
	if err != nil {
		return nil, true, err
	}
	items, ok := v.texts(start, end)
	if !ok {
		return nil, false, nil
	}
	e, err := wire.EncodeList(name, items, next, meta, l.TTLMs)
	return e, true, err
}

// bounds returns where a page begins and ends, and the cursor of the next one. A cursor needs no
// key, because an altered cursor pages through the caller's own set.
func (v view[T]) bounds(cursor string) (start, end int, next string, err error) {
	n := v.len()
	start, ok := v.offset(cursor, n)
	if !ok && cursor != "" {
		return start, end, next, wire.InvalidParams("invalid cursor")
	}
	if end = min(start+v.PageSize, n); end < n {
		raw := binary.BigEndian.AppendUint64(nil, uint64(v.digest()))
		next = base64.RawURLEncoding.EncodeToString(binary.AppendUvarint(raw, uint64(end)))
	}
	return start, end, next, nil
}

func (v view[T]) offset(cursor string, n int) (int, bool) {
	const size = 8 // of a digest
	raw, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	if err != nil || len(raw) <= size || digest(binary.BigEndian.Uint64(raw)) != v.digest() {
		return 0, false // a cursor of another view
	}
	offset, read := binary.Uvarint(raw[size:])
	return int(offset), read == len(raw)-size && offset > 0 && offset < uint64(n)
}
