package discovery

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/catalog"
	"github.com/mcpgen/mcpgen/runtime/internal/principal"
	"github.com/mcpgen/mcpgen/runtime/internal/request"
	"github.com/mcpgen/mcpgen/runtime/internal/wire"
	"github.com/mcpgen/mcpgen/runtime/internal/worker"
	"github.com/mcpgen/mcpgen/runtime/redact"
)

const (
	queryTimeout     = 5 * time.Second // of one query of the source
	maxQueries       = 256             // at a time, and so the goroutines that a hanging source holds
	maxRecordedQuery = 64              // bytes of requested catalogs that are recorded
)

// DeclaredPrefix begins the ids of catalogs that code declares. Those of a source have others.
const DeclaredPrefix = "code:"

// DeclaredID is the id of a catalog that code declares.
func DeclaredID(name string) string { return DeclaredPrefix + name }

// Catalogs are the named sets of tools, and the switches of tools.
type Catalogs struct {
	CatalogsConfig
	declared map[string]catalog.Found // by id
	querying chan struct{}            // holds an item for each query of the source
	loading  chan struct{}            // full while switches load: a later load is newer
}

// CatalogsConfig is what catalogs read.
type CatalogsConfig struct {
	Source   catalog.Source      // nil if only code declares catalogs
	Declared map[string][]string // the catalogs that code declares, by tool; "" for none
	Policy   *Policy             // its switches are set
	Strict   bool                // a catalog that cannot be found refuses the list
	Pool     *worker.Pool
	Log      *slog.Logger
	Masker   redact.Masker
}

// NewCatalogs returns the catalogs of a server.
func NewCatalogs(cfg CatalogsConfig) *Catalogs {
	c := &Catalogs{CatalogsConfig: cfg, declared: map[string]catalog.Found{},
		querying: make(chan struct{}, maxQueries), loading: make(chan struct{}, 1)}
	for _, tool := range slices.Sorted(maps.Keys(cfg.Declared)) {
		for _, name := range cfg.Declared[tool] {
			id := DeclaredID(name)
			tools := c.declared[id].Tools
			if tool != "" {
				tools = append(tools, tool)
			}
			c.declared[id] = catalog.Found{ID: id, Name: name, Global: true, Tools: tools}
		}
	}
	return c
}

// Declared returns the catalogs that code declares, in the order of names.
func (c *Catalogs) Declared() []catalog.Found {
	var all []catalog.Found
	for _, id := range slices.Sorted(maps.Keys(c.declared)) {
		all = append(all, c.declared[id])
		all[len(all)-1].Tools = slices.Clone(c.declared[id].Tools)
	}
	return all
}

// DeclaredFor returns the catalogs that code declares and that exist for a caller. A catalog
// without a tool inside the boundary of the caller does not exist.
func (c *Catalogs) DeclaredFor(p access.Principal) []catalog.Found {
	return slices.DeleteFunc(c.Declared(), func(f catalog.Found) bool { return !c.inside(p, f) })
}

func (c *Catalogs) inside(p access.Principal, found catalog.Found) bool {
	return p.Bounds == nil || slices.ContainsFunc(found.Tools, func(tool string) bool {
		return c.Policy.Table.Decide(p, tool).Axis != access.AxisBoundary
	})
}

// Filter is what a query leaves of a list of tools. The zero Filter leaves all.
type Filter struct {
	In   *access.Set // nil leaves all
	Note string      // for the client
	// Sessions is whether the client's version is before 2026-07-28.
	Sessions bool
	// Adopted holds what an adopted server lists to the client; nil without one. Rules and In apply
	// to it as well.
	Adopted *AdoptedItems
	unknown string // the requested catalogs that do not exist for the caller, for the log
}

// Filter resolves what a message requests. A catalog that the caller does not have counts as empty,
// with a note. If none of them can be found, the list is that of all catalogs, with a note, or is
// refused with Strict; the error wraps [catalog.ErrUnknown] for unknown catalogs.
func (c *Catalogs) Filter(ctx context.Context, info *request.Info) (Filter, error) {
	f, err := c.Resolve(ctx, info.Principal, info.Catalog)
	if err == nil && f.unknown == "" {
		return f, nil
	} else if ctx.Err() != nil {
		return Filter{}, ctx.Err() // nobody waits for the list any more
	}
	attrs := []any{"catalog", cmp.Or(f.unknown, c.RecordedQuery(info.Catalog)),
		"principal", info.Principal.Subject, info.IDs()}
	level, note := slog.LevelInfo, "the catalog does not exist"
	text := note + " for the caller"
	if err == nil {
		c.Log.Log(ctx, level, text+"; the list has the tools of the others", attrs...)
		return f, nil
	}
	if !errors.Is(err, catalog.ErrUnknown) {
		level, note = slog.LevelError, "catalogs are not available"
		text, attrs = "the catalog lookup failed", append(attrs, "error", err)
	}
	if c.Strict {
		c.Log.Log(ctx, level, text+"; the list is refused", attrs...)
		return Filter{}, err
	}
	c.Log.Log(ctx, level, text+"; the list is not filtered", attrs...)
	f.Note = note + ": this list is not filtered"
	return f, nil
}

// Resolve is Filter without logging, for any principal. The filter of an error leaves the tools of
// all catalogs.
func (c *Catalogs) Resolve(ctx context.Context, p access.Principal,
	q request.CatalogQuery) (f Filter, err error) {
	if q.ReadOnly {
		f.In = &c.Policy.ReadOnly
	}
	if len(q.Refs) == 0 {
		return f, nil
	} else if q.TooLong {
		return f, catalog.ErrUnknown
	}
	ctx, cancel := context.WithTimeout(ctx, queryTimeout) // of all queries together
	defer cancel()
	var tools, notes []string
	var unknown []catalog.Ref
	for _, ref := range q.Refs {
		found, err := c.find(ctx, p, ref)
		if errors.Is(err, catalog.ErrUnknown) {
			unknown = append(unknown, ref)
			continue
		} else if err != nil {
			return f, err
		}
		tools = append(tools, found.Tools...)
		if found.Note != "" && !slices.Contains(notes, found.Note) {
			notes = append(notes, found.Note)
		}
	}
	if len(unknown) == len(q.Refs) {
		return f, catalog.ErrUnknown
	} else if len(unknown) > 0 {
		f.unknown = c.recorded(unknown)
		notes = append(notes, "the catalog does not exist: "+f.unknown)
	}
	in := c.Policy.Table.Named(tools)
	if f.In != nil {
		in = in.And(*f.In)
	}
	f.In, f.Note = &in, strings.Join(notes, "; ")
	return f, nil
}

// find returns one catalog that a principal may request.
func (c *Catalogs) find(ctx context.Context, p access.Principal,
	ref catalog.Ref) (found catalog.Found, err error) {
	err = catalog.ErrUnknown
	if c.Source != nil && !strings.HasPrefix(ref.ID, DeclaredPrefix) {
		found, err = query(ctx, c, func(ctx context.Context) (catalog.Found, error) {
			return c.Source.Catalog(ctx, p.Within(), ref)
		})
	}
	own, declared := c.declared[cmp.Or(ref.ID, DeclaredID(ref.Name))]
	if declared && c.inside(p, own) && (errors.Is(err, catalog.ErrUnknown) || err == nil &&
		found.Global) {
		return own, nil // the catalog of code wins: it was reviewed with the code
	}
	return found, err
}

// FilterError returns the error for the client whose list was refused.
func (c *Catalogs) FilterError(err error) error {
	if errors.Is(err, catalog.ErrUnknown) {
		return wire.InvalidParams("unknown catalog")
	}
	return wire.Unavailable("catalogs")
}

// RecordedQuery returns what the log and the audit record of requested catalogs.
func (c *Catalogs) RecordedQuery(q request.CatalogQuery) string { return c.recorded(q.Refs) }

func (c *Catalogs) recorded(refs []catalog.Ref) string {
	texts := make([]string, len(refs))
	for i, ref := range refs {
		if texts[i] = ref.Name; ref.ID != "" {
			texts[i] = "id " + ref.ID
		}
	}
	return c.Masker.TextWithin(strings.Join(texts, ", "), maxRecordedQuery)
}

// query calls the source, and does not wait longer than queryTimeout.
func query[T any](ctx context.Context, c *Catalogs,
	call func(context.Context) (T, error)) (result T, err error) {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	select {
	case c.querying <- struct{}{}:
	case <-ctx.Done():
		return result, fmt.Errorf(
			"too many queries wait for the source of catalogs: %w", worker.ErrNoResponse)
	}
	return principal.Supervise(ctx, c.Pool, c.Masker, func() (T, error) {
		defer func() { <-c.querying }()
		return call(ctx)
	})
}
