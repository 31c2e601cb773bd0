package runtime

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/catalog"
	"github.com/mcpgen/mcpgen/runtime/redact"
)

const (
	// catalogTimeout is how long Options.Catalogs may take for one question.
	catalogTimeout = 5 * time.Second
	// maxCatalogQuestions bounds the questions at a time, and so the goroutines that a source can hold which does
	// not come back.
	maxCatalogQuestions = 256
	// catalogPause is how long is waited before a question that failed is asked again, where nobody waits for
	// its answer.
	catalogPause = time.Second
	// gathering is how long changes of catalogs come together before clients are looked at again: whoever may change one
	// would otherwise have each client's list resolved with each change.
	gathering = 200 * time.Millisecond
)

// declaredPrefix tells the ids of catalogs that code declares from those of a source.
const declaredPrefix = "code:"

// DeclaredID is the id of a catalog that code declares.
func DeclaredID(name string) string { return declaredPrefix + name }

// catalogs are the named groups of tools, and which tools are switched off.
type catalogs struct {
	table    access.Table
	declared map[string]catalog.Found // by name
	source   catalog.Source           // nil where there are none but those
	asking   chan struct{}            // a place for each question to the source
	loading  chan struct{}            // held from the question to when its answer counts: a later one is newer
	off      atomic.Pointer[access.Set]
	masker   redact.Masker
}

func newCatalogs(table access.Table, source catalog.Source, tools map[string]*tool) *catalogs {
	c := &catalogs{table: table, declared: map[string]catalog.Found{}, source: source, asking: make(chan struct{}, maxCatalogQuestions), loading: make(chan struct{}, 1)}
	for _, name := range slices.Sorted(maps.Keys(tools)) {
		for _, in := range tools[name].Catalogs {
			found := c.declared[in]
			found.ID, found.Name, found.Global, found.Tools = DeclaredID(in), in, true, append(found.Tools, name)
			c.declared[in] = found
		}
	}
	return c
}

// DeclaredCatalogs returns the catalogs that code declares (//mcp:tool catalog=), in the order of names. They are
// global, nobody changes them, and their ids are [DeclaredID] of their names.
func (s *Server) DeclaredCatalogs() []catalog.Found {
	var all []catalog.Found
	for _, name := range slices.Sorted(maps.Keys(s.catalogs.declared)) {
		found := s.catalogs.declared[name]
		found.Tools = slices.Clone(found.Tools)
		all = append(all, found)
	}
	return all
}

// find finds a catalog: the source's, unless that has none but a global one and code declares another of the
// same name, which was reviewed with it. Its error wraps catalog.ErrUnknown where there is none.
func (c *catalogs) find(ctx context.Context, p access.Principal, ask catalog.Ask) (catalog.Found, error) {
	if name, ok := strings.CutPrefix(ask.ID, declaredPrefix); ok {
		if found, ok := c.declared[name]; ok {
			return found, nil
		}
		return catalog.Found{}, catalog.ErrUnknown
	}
	found, err := catalog.Found{}, catalog.ErrUnknown
	if c.source != nil {
		found, err = consult(ctx, c, func(ctx context.Context) (catalog.Found, error) { return c.source.Catalog(ctx, p, ask) })
	}
	own, declared := c.declared[ask.Name]
	if declared && ask.ID == "" && (errors.Is(err, catalog.ErrUnknown) || err == nil && found.Global) {
		return own, nil
	}
	return found, err
}

// consult asks the source, and does not wait for one that does not answer.
func consult[T any](ctx context.Context, c *catalogs, ask func(context.Context) (T, error)) (answer T, err error) {
	ctx, cancel := context.WithTimeout(ctx, catalogTimeout)
	defer cancel()
	select {
	case c.asking <- struct{}{}:
	case <-ctx.Done():
		return answer, fmt.Errorf("too many questions wait for the source of catalogs: %w", errNoAnswer)
	}
	return supervised(ctx, c.masker, func() (T, error) {
		defer func() { <-c.asking }()
		return ask(ctx)
	})
}

// narrowing is what a catalog makes of a list of tools.
type narrowing struct {
	in   *access.Set // nil leaves all
	note string      // for the client
}

// unfiltered is how a list is refused whose catalog could not be had, with Options.CatalogStrict.
func unfiltered(err error) error {
	if errors.Is(err, catalog.ErrUnknown) {
		return invalidParams("unknown catalog")
	}
	return internalError()
}

// narrow finds out what the catalog that a message asks for makes of its caller's list. With
// Options.CatalogStrict an error refuses the list; it wraps catalog.ErrUnknown where there is no such catalog. Without, it
// never fails, and leaves the list whole: a catalog only ever shortens what the table shows.
func (s *Server) narrow(ctx context.Context, rec *record) (narrowing, error) {
	n, err := s.narrowed(ctx, rec.principal, rec.asked)
	if err == nil {
		return n, nil
	}
	if ctx.Err() != nil {
		return narrowing{}, ctx.Err() // nobody waits any more
	}
	unknown := errors.Is(err, catalog.ErrUnknown)
	level, text, reason := slog.LevelInfo, "there is no such catalog for the caller", slog.Attr{}
	if !unknown {
		level, text, reason = slog.LevelError, "the catalog could not be looked for", slog.Any("error", err)
	}
	outcome := "; the list is not filtered"
	if s.opts.CatalogStrict {
		outcome = "; the list is refused"
	}
	s.log.LogAttrs(ctx, level, text+outcome, slog.String("catalog", s.recordedAsk(rec.asked.Ask)),
		slog.String("principal", rec.principal.Subject), rec.ids(), reason)
	switch {
	case s.opts.CatalogStrict:
		return narrowing{}, err
	case unknown:
		return narrowing{note: "there is no such catalog: this list is not filtered"}, nil
	}
	return narrowing{note: "catalogs are not available: this list is not filtered"}, nil
}

// narrowed is narrow where nobody waits for an answer in words.
func (s *Server) narrowed(ctx context.Context, p access.Principal, a asked) (narrowing, error) {
	switch {
	case a.IsZero():
		return narrowing{}, nil
	case a.long:
		return narrowing{}, catalog.ErrUnknown
	}
	found, err := s.catalogs.find(ctx, p, a.Ask)
	if err != nil {
		return narrowing{}, err
	}
	set := s.catalogs.table.Named(found.Tools)
	return narrowing{in: &set, note: found.Note}, nil
}

const recordedAskBytes = 64

// recordedAsk is what is recorded of a catalog that was asked for: at most 64 bytes, and nothing that
// looks like a secret.
func (s *Server) recordedAsk(ask catalog.Ask) string {
	text := ask.Name
	if ask.ID != "" {
		text = "id " + ask.ID
	}
	return s.recordedName(text, recordedAskBytes, access.Decision{Axis: access.AxisUnknown})
}

// isOff reports whether a tool is switched off: it is unknown then, whatever its rule.
func (c *catalogs) isOff(k access.Kind, name string) bool {
	if k != access.Tools {
		return false
	}
	off := c.off.Load()
	return off != nil && off.Contains(name)
}

// decide decides by the table. What is switched off is unknown.
func (s *Server) decide(p access.Principal, k access.Kind, name string) access.Decision {
	if s.catalogs.isOff(k, name) {
		return access.Decision{Axis: access.AxisUnknown}
	}
	return s.table.Of(k).Decide(p, name)
}

// load asks the source which tools are off. It reports whether that is something else than before.
func (c *catalogs) load(ctx context.Context) (changed bool, err error) {
	select {
	case c.loading <- struct{}{}:
		defer func() { <-c.loading }()
	case <-ctx.Done():
		return false, ctx.Err()
	}
	names, err := consult(ctx, c, c.source.ToolsOff)
	if err != nil {
		return false, err
	}
	var off *access.Set
	if set := c.table.Named(names); set.Len() > 0 {
		off = &set
	}
	before := c.off.Swap(off)
	return before == nil != (off == nil) || off != nil && before.Key() != off.Key(), nil
}

// follow keeps up with what the source says has changed, until the server is closed: what is switched off, and
// who is listed something else now, several changes at once. While the source does not answer, what it said last counts.
func (s *Server) follow() {
	var (
		last time.Time        // when clients were looked at
		due  <-chan time.Time // they are to be again
	)
	for s.closing.Err() == nil {
		changes, err := supervised(s.closing, s.opts.Masker, func() (<-chan catalog.Change, error) { return s.opts.Catalogs.Changes(s.closing), nil })
		for err == nil && changes != nil {
			select {
			case <-s.closing.Done():
				return
			case <-due:
				last, due = time.Now(), nil
				s.watch.recatalog()
			case change, open := <-changes:
				if !open {
					changes = nil
					continue
				}
				s.changed(change)
				switch since := time.Since(last); {
				case !change.Catalogs || due != nil:
				case since < gathering:
					due = time.After(gathering - since)
				default:
					last = time.Now()
					s.watch.recatalog()
				}
			}
		}
		if s.closing.Err() != nil {
			return
		}
		s.log.Error("the source of catalogs tells no more of what changes; it is asked again", "error", err)
		s.rest()
	}
}

func (s *Server) rest() {
	select {
	case <-time.After(catalogPause):
	case <-s.closing.Done():
	}
}

func (s *Server) changed(change catalog.Change) {
	if change.Deaf {
		s.log.Warn("changes of catalogs and switches are not heard: the source has lost its connection, and tries again; what it said last counts")
		s.deaf = true
		return
	}
	if s.deaf {
		s.log.Info("changes of catalogs and switches are heard again")
		s.deaf = false
	}
	for change.Tools && s.closing.Err() == nil {
		err := s.ReloadSwitches(s.closing)
		if err == nil {
			break
		}
		s.log.Error("it could not be read which tools are switched off; those that were are so still", "error", err)
		s.rest()
	}
}

// ReloadSwitches asks Options.Catalogs anew which tools are off, and has it count when it returns. The source tells
// of changes by itself; whoever makes one through this process calls it so as not to wait for that.
func (s *Server) ReloadSwitches(ctx context.Context) error {
	if s.catalogs.source == nil {
		return nil
	}
	changed, err := s.catalogs.load(ctx)
	if changed {
		s.lists.tools.forget()
		s.watch.recheck(nil)
	}
	return err
}

// startCatalogs reads which tools are off, without which the server does not start.
func (s *Server) startCatalogs() error {
	if s.catalogs.source == nil {
		return nil
	}
	if _, err := s.catalogs.load(s.closing); err != nil {
		return fmt.Errorf("Options.Catalogs: it could not be read which tools are switched off: %w", err)
	}
	return nil
}
