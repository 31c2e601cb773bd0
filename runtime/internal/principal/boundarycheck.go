package principal

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/mcpgen/mcpgen/internal/boundaryitem"
	"github.com/mcpgen/mcpgen/internal/editdistance"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/boundary"
)

// lister is a source with a fixed set of boundaries.
type lister interface {
	All() iter.Seq2[boundary.Party, boundary.Boundary]
}

// hasCatalogs is a source whose boundaries may name global catalogs of a store by their ids.
type hasCatalogs interface{ HasCatalog(item string) bool }

// check returns the errors of [Boundaries.Check] for a source that lists its boundaries. It warns
// of boundaries that have ended.
func (b *Boundaries) check() error {
	var found problems
	if _, ok := b.Source.(hasCatalogs); ok {
		for _, name := range slices.Sorted(maps.Keys(b.Catalogs)) {
			if strings.Trim(name, "0123456789") == "" {
				found.add("the name of the catalog %s of the code is an id of a catalog in the store for "+
					"Options.Access.Boundaries: rename it (//mcp:tool catalog=)", name)
			}
		}
	}
	source, ok := b.Source.(lister)
	if !ok {
		return errors.Join(found...)
	}
	for party, e := range source.All() {
		for _, err := range append(b.Check(party, e), b.alone(e)...) {
			found.add("Options.Access.Boundaries: %s: %w", e.Where, err)
		}
		if e.Ended(time.Now()) {
			b.Log.Warn("a boundary has ended: its client may use nothing", "boundary", e.Where,
				"until", e.Until)
		}
	}
	return errors.Join(found...)
}

// alone returns an error for each item that allows nothing without others: see
// [Boundaries.outside].
func (b *Boundaries) alone(e boundary.Boundary) (found []error) {
	items, _ := boundaryitem.NewSet(e.Items, b.Catalogs, b.isRuled)
	for _, text := range e.Items {
		item, err := boundaryitem.Parse(text)
		if err != nil || item.Kind != boundaryitem.Resource && item.Kind != boundaryitem.Skill {
			continue
		}
		if others := b.outside(items, item.Name); len(others) > 0 {
			found = append(found, fmt.Errorf("the item %q matches URIs that %s of the adopted server "+
				"answers: add resource:%[2]s to the items, or remove this item", text, others[0]))
		}
	}
	return found
}

// watchRegistration logs a warning of each issuer by which a client can register again and so lose
// its boundary: boundaries are optional, and there is none for new clients.
func (b *Boundaries) watchRegistration() {
	source, ok := b.Identity.(interface {
		OnRegistration(report func(issuer, field string))
	})
	if !ok || !b.Optional {
		return
	}
	source.OnRegistration(func(issuer, field string) {
		party := boundary.Party{Issuer: issuer, Client: boundaryitem.All}
		if _, bounded, err := b.find(context.Background(), party); bounded && err == nil {
			return
		}
		b.Log.Warn("boundaries are optional, and the issuer lets clients register: a client that "+
			"registers again has no boundary. Add a boundary of the client \"*\" of the issuer, or remove "+
			"Options.Access.BoundariesOptional", "issuer", issuer, "metadata", field)
	})
}

// Check returns an error for each name of a boundary that the server does not have: the issuer of
// its party, a role or an item.
func (b *Boundaries) Check(party boundary.Party, e boundary.Boundary) (found []error) {
	bad := func(err error) {
		if err != nil {
			found = append(found, err)
		}
	}
	if issuer := party.Issuer; party.Actor == "" && b.Issuers != nil &&
		!slices.Contains(b.Issuers, issuer) {
		bad(fmt.Errorf("Options.Identity has no issuer %q%s", issuer, nearest(issuer, b.Issuers)))
	}
	if !boundaryitem.IsAll(e.Roles) {
		for _, role := range e.Roles {
			if err := checkRole(b.Table, role); err != nil {
				bad(fmt.Errorf("roles has %w", err))
			}
		}
	}
	if !boundaryitem.IsAll(e.Items) {
		for _, text := range e.Items {
			bad(b.checkItem(text))
		}
	}
	return found
}

// checkItem returns an error for an item that the server does not have.
func (b *Boundaries) checkItem(text string) error {
	item, err := boundaryitem.Parse(text)
	if err != nil {
		return err
	}
	var names []string
	known := func(k access.Kind, name string) bool {
		names = b.Table.Of(k).Tools()
		return slices.Contains(names, name)
	}
	switch item.Kind {
	case boundaryitem.Prompt:
		ok := known(access.Prompts, item.Name)
		return absent(ok, text, item.Name, "prompt", names)
	case boundaryitem.Resource, boundaryitem.Skill:
		ok := known(access.Resources, item.Name)
		return absent(ok, text, item.Name, "resource, or URI template as its author wrote it,", names)
	case boundaryitem.Catalog:
		if _, ok := b.Catalogs[item.Name]; ok {
			return nil
		}
		cure := ""
		if source, ok := b.Source.(hasCatalogs); ok {
			if source.HasCatalog(text) {
				return nil
			}
			cure = ", and no active global catalog of the store by its id"
		}
		names = slices.Sorted(maps.Keys(b.Catalogs))
		return fmt.Errorf("the item %q names no catalog that code declares (//mcp:tool catalog=)%s%s. "+
			"A boundary takes no other catalogs: people who may change one could widen the boundary",
			text, cure, nearest(item.Name, names))
	}
	if name, ok := b.Aliases[item.Name]; ok {
		return fmt.Errorf("the item %q is an alias: write tool:%s", text, name)
	}
	if !known(access.Tools, item.Name) || item.Argument == "" {
		return absent(slices.Contains(names, item.Name), text, item.Name, "tool", names)
	}
	rule := access.Rule{Tool: item.Name, Argument: item.Argument, Value: item.Value}.Name()
	ok := known(access.Values, rule)
	return absent(ok, text, rule, "value of an argument with rules", names)
}

func absent(known bool, item, name, kind string, names []string) error {
	if known {
		return nil
	}
	return fmt.Errorf("the item %q names no %s of the server%s", item, kind, nearest(name, names))
}

// nearest returns the cure for a name that is not one of the names.
func nearest(name string, names []string) string {
	if near := editdistance.Nearest(name, names, 2); near != "" {
		return fmt.Sprintf(": did you mean %q?", near)
	}
	return ": correct the name, or remove it"
}
