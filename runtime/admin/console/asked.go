package console

import (
	"errors"
	"slices"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/catalog"
)

// askedCatalog is a catalog that a principal asks for, and what its list of tools has then.
type askedCatalog struct {
	catalog.Found
	Unknown bool // to the principal
	Listed  []string
}

// Left is how many names of the catalog are not in the list.
func (c *askedCatalog) Left() int { return len(c.Tools) - len(c.Listed) }

// weigh puts a tool into the list that it is in.
func (c *askedCatalog) weigh(row viewRow) {
	if c != nil && row.Shows() && slices.Contains(c.Tools, row.Name) {
		c.Listed = append(c.Listed, row.Name)
	}
}

// askedBy finds a catalog by its name, or else by its id, as the server would for a principal. Nil is none asked for.
func (v *visit) askedBy(p access.Principal, text string) (*askedCatalog, error) {
	if text == "" {
		return nil, nil
	}
	for _, ask := range []catalog.Ask{{Name: text}, {ID: text}} {
		found, err := v.find(p, ask)
		switch {
		case err == nil:
			return &askedCatalog{Found: found}, nil
		case !errors.Is(err, catalog.ErrUnknown):
			return nil, err
		}
	}
	return &askedCatalog{Unknown: true}, nil
}

// find asks the server's source. What code declares comes before what is global of the same name, and after what is an
// organisation's or a team's.
func (v *visit) find(p access.Principal, ask catalog.Ask) (catalog.Found, error) {
	found, err := catalog.Found{}, catalog.ErrUnknown
	if source := v.server.Catalogs(); source != nil {
		found, err = source.Catalog(v.ctx, p, ask)
	}
	if err != nil && !errors.Is(err, catalog.ErrUnknown) || err == nil && (ask.ID != "" || !found.Global) {
		return found, err
	}
	for _, declared := range v.server.DeclaredCatalogs() {
		if ask.ID != "" && declared.ID == ask.ID || ask.ID == "" && declared.Name == ask.Name {
			return declared, nil
		}
	}
	return found, err
}
