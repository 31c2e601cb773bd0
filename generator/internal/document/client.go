package document

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/mcpgen/mcpgen/generator/internal/model"
	"github.com/mcpgen/mcpgen/internal/boundaryfile"
	"github.com/mcpgen/mcpgen/internal/boundaryitem"
	"github.com/mcpgen/mcpgen/internal/editdistance"
	"github.com/mcpgen/mcpgen/internal/roleorder"
)

// Client is a client with a boundary. A nil Client has no boundary.
type Client struct {
	entry boundaryfile.Entry
	order *roleorder.Order // of a service that has roles; nil if none has
}

// NewClient returns the client of an entry of a file. notes are about items that no service has.
// The error names a role that no service has.
func NewClient(services []model.Service, e boundaryfile.Entry) (c *Client, notes []string,
	err error) {
	c = &Client{entry: e}
	for _, s := range services {
		if order := s.Roles.Order(); s.Roles.Own && c.order == nil {
			c.order = &order
		}
	}
	for _, role := range e.Boundary.Roles {
		switch {
		case boundaryitem.IsAll(e.Boundary.Roles):
		case c.order == nil:
			return nil, nil, fmt.Errorf("%s: no package here has roles, so %q cannot be found: name the "+
				"package with the roles too", e.Boundary.Where, role)
		case !slices.Contains(c.order.Names(), role):
			return nil, nil, fmt.Errorf("%s: no package here has the role %q%s", e.Boundary.Where, role,
				nearest(role, c.order.Names()))
		}
	}
	for _, text := range e.Boundary.Items {
		if item, err := boundaryitem.Parse(text); err == nil && !slices.ContainsFunc(services,
			func(s model.Service) bool { return hasItem(s, item) }) {
			notes = append(notes, fmt.Sprintf("%s: no package here has %s%s", e.Boundary.Where, text,
				renamed(services, item)))
		}
	}
	return c, notes, nil
}

// renamed returns the cure for an item that has an alias of a tool.
func renamed(services []model.Service, item boundaryitem.Item) string {
	for _, s := range services {
		for _, t := range s.Tools {
			if item.Kind == boundaryitem.Tool && slices.Contains(t.Aliases, item.Name) {
				return fmt.Sprintf(": %s is an alias, write tool:%s", item.Name, t.Name)
			}
		}
	}
	return ""
}

func nearest(name string, names []string) string {
	if near := editdistance.Nearest(name, names, 2); near != "" {
		return fmt.Sprintf(": did you mean %q?", near)
	}
	return ": correct the name, or remove it"
}

// hasItem reports whether a service has an item of a boundary.
func hasItem(s model.Service, item boundaryitem.Item) bool {
	kind := item.Kind
	switch kind {
	case boundaryitem.Catalog:
		return slices.ContainsFunc(s.Catalogs(), func(c model.Catalog) bool {
			return c.Name == item.Name
		})
	case boundaryitem.Skill:
		kind = boundaryitem.Resource
	}
	return slices.ContainsFunc(s.Served(), func(of model.Served) bool {
		return of.Kind == string(kind) && of.ID == item.Name && (item.Argument == "" ||
			slices.ContainsFunc(of.Values, func(v model.Value) bool {
				return v.Argument == item.Argument && v.Value == item.Value
			}))
	})
}

// words are those after the name of a server.
func (c *Client) words() string {
	if c == nil {
		return ""
	}
	p, b := c.entry.Party, c.entry.Boundary
	words := " for client " + p.Client
	if p.Actor != "" {
		words = " for actor " + p.Actor
	}
	if p.Subject != "" {
		words += " of subject " + p.Subject
	}
	words += fmt.Sprintf(", issuer %s (%s)", cmp.Or(p.Issuer, "none"), b.Where)
	if !b.Until.IsZero() {
		words += ", until " + b.Until.Format(time.RFC3339)
	}
	return words
}

// MatrixClient is the party of a boundary.
type MatrixClient struct {
	Issuer  string `json:"issuer"`
	Client  string `json:"client,omitempty"`
	Subject string `json:"subject,omitempty"`
	Actor   string `json:"actor,omitempty"`
	Where   string `json:"where"`           // the place in the file
	Until   string `json:"until,omitempty"` // the end of the boundary
}

func (c *Client) report() *MatrixClient {
	if c == nil {
		return nil
	}
	p := c.entry.Party
	r := &MatrixClient{Issuer: p.Issuer, Client: p.Client, Subject: p.Subject, Actor: p.Actor,
		Where: c.entry.Boundary.Where}
	if until := c.entry.Boundary.Until; !until.IsZero() {
		r.Until = until.Format(time.RFC3339)
	}
	return r
}

// within is a boundary for one service. A nil within has everything.
type within struct {
	roles    uint64
	items    boundaryitem.Set
	readOnly bool
}

func (c *Client) within(s model.Service, order roleorder.Order) *within {
	if c == nil {
		return nil
	}
	catalogs := map[string][]string{}
	for _, of := range s.Catalogs() {
		catalogs[of.Name] = of.Tools
	}
	b := c.entry.Boundary
	w := &within{roles: order.Held(b.Roles), readOnly: b.ReadOnly}
	if boundaryitem.IsAll(b.Roles) {
		w.roles = order.Held(order.Names())
	}
	w.items, _ = boundaryitem.NewSet(b.Items, catalogs, func(tool, argument string) bool {
		return slices.ContainsFunc(s.Served(), func(of model.Served) bool {
			return of.Kind == "tool" && of.ID == tool && slices.ContainsFunc(of.Values,
				func(v model.Value) bool { return v.Argument == argument })
		})
	})
	return w
}

// mask are the roles of a caller that count.
func (w *within) mask() uint64 {
	if w == nil {
		return ^uint64(0)
	}
	return w.roles
}

func (w *within) has(of model.Served) bool {
	return w == nil || w.items.Has(boundaryitem.Kind(of.Kind), of.ID) &&
		(!w.readOnly || of.Kind != "tool" || of.Hints.ReadOnly != nil && *of.Hints.ReadOnly)
}

func (w *within) hasValue(of model.Served, v model.Value) bool {
	return w == nil || w.items.HasValue(of.ID, v.Argument, v.Value)
}

// values returns the values that have rows: those with a rule, and with a boundary all values
// inside of arguments whose values have rules.
func (w *within) values(of model.Served) (values []model.Value) {
	if w == nil {
		return of.Ruled()
	}
	for _, v := range of.Values {
		if w.hasValue(of, v) {
			values = append(values, v)
		}
	}
	return values
}

// shows reports whether the matrix has a row: with a boundary, some caller may use it.
func (m matrix) shows(row matrixRow) bool {
	return m.within == nil || slices.Contains(row.may[withoutRole:], true) || len(row.sets) > 0
}

// narrow removes the column of anonymous callers, whom no client represents.
func (m *matrix) narrow() {
	if m.within == nil {
		return
	}
	m.callers = m.callers[withoutRole:]
	for i := range m.rows {
		m.rows[i].may = m.rows[i].may[withoutRole:]
	}
}

// catalogs returns the catalogs of a service with the tools that the matrix has.
func (m matrix) catalogs(s model.Service) (list []model.Catalog) {
	for _, c := range s.Catalogs() {
		c.Tools = slices.DeleteFunc(slices.Clone(c.Tools), func(tool string) bool {
			return !slices.ContainsFunc(m.rows, func(row matrixRow) bool {
				return row.kind == "tool" && row.tool == tool
			})
		})
		if len(c.Tools) > 0 {
			list = append(list, c)
		}
	}
	return list
}
