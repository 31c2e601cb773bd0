package console

import (
	"errors"
	"slices"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/catalog"
)

// requestedCatalog is a catalog that a principal requests, and the tools that are listed then.
type requestedCatalog struct {
	catalog.Found
	Unknown bool // to the principal
	Listed  []string
}

// Left is the number of names in the catalog that are not listed.
func (c *requestedCatalog) Left() int { return len(c.Tools) - len(c.Listed) }

// add adds a listed tool of the catalog.
func (c *requestedCatalog) add(row viewRow) {
	if c != nil && row.Shows() && slices.Contains(c.Tools, row.Name) {
		c.Listed = append(c.Listed, row.Name)
	}
}

// requestedCatalog finds a catalog by its name, or else by its id, as the server does for a
// principal. It returns nil for an empty text.
func (v *visit) requestedCatalog(p access.Principal, text string) (*requestedCatalog, error) {
	if text == "" {
		return nil, nil
	}
	for _, query := range []catalog.Ask{{Name: text}, {ID: text}} {
		found, err := v.findCatalog(p, query)
		switch {
		case err == nil:
			return &requestedCatalog{Found: found}, nil
		case !errors.Is(err, catalog.ErrUnknown):
			return nil, err
		}
	}
	return &requestedCatalog{Unknown: true}, nil
}

// findCatalog finds a catalog as the server does. A catalog declared in code comes before a global
// one of the same name, and after that of an organisation or a team.
func (v *visit) findCatalog(p access.Principal, query catalog.Ask) (catalog.Found, error) {
	found, err := catalog.Found{}, catalog.ErrUnknown
	if source := v.server.Catalogs(); source != nil {
		found, err = source.Catalog(v.ctx, p, query)
	}
	if err != nil && !errors.Is(err, catalog.ErrUnknown) ||
		err == nil && (query.ID != "" || !found.Global) {
		return found, err
	}
	for _, declared := range v.server.DeclaredCatalogs() {
		if query.ID != "" && declared.ID == query.ID ||
			query.ID == "" && declared.Name == query.Name {
			return declared, nil
		}
	}
	return found, err
}
