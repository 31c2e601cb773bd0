package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/admin/internal/ids"
	"github.com/mcpgen/mcpgen/runtime/catalog"
	"github.com/mcpgen/mcpgen/runtime/store"
)

// Whoami is the authenticated caller.
type Whoami struct {
	Issuer     string   `json:"issuer" doc:"The issuer of the subject's tokens. An admin needs it and the subject to add the caller as a member"`
	Subject    string   `json:"subject"`
	Client     string   `json:"client" doc:"The OAuth client of the token, or the subject"`
	Roles      []string `json:"roles" nullable:"false" doc:"The caller's roles that the server knows and that count within the boundary of the client"`
	Scopes     []string `json:"scopes" nullable:"false"`
	Boundaries string   `json:"boundaries" enum:"none,optional,required" doc:"none: the server has no boundaries of clients. optional: a client without a boundary is not limited. required: it may use public items only"`
	Admin      bool     `json:"admin" doc:"The caller is an admin of the server"`
	Orgs       []Own    `json:"organizations" nullable:"false" doc:"The caller's memberships"`
	Teams      []Own    `json:"teams" nullable:"false" doc:"The caller's memberships. A member of a team is not a member of its organization"`
}

// Own is an organisation or a team of the caller.
type Own struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	Standing string `json:"standing" enum:"member,manager" doc:"manager: its owners, admins and leads, who manage its catalogs"`
}

// whoami registers the operation about the caller itself.
func (a *API) whoami() {
	op := forAll("caller").operation(http.MethodGet, "whoami", "whoami",
		"Read the caller's identity and its standings")
	type output struct{ Body Whoami }
	register(a, op, anybody, func(ctx context.Context, r *request, _ *struct{}) (*output, error) {
		p := r.caller
		out := &output{Whoami{
			Issuer: p.Issuer, Subject: p.Subject, Client: p.ClientID(),
			Roles: append([]string{}, p.Roles...), Scopes: append([]string{}, p.Scopes...),
			Boundaries: a.need(), Admin: a.authority.Admin(p),
			Orgs: []Own{}, Teams: []Own{},
		}}
		places, err := a.authority.Places(ctx, p)
		if err != nil {
			return nil, err
		}
		for in, standing := range places {
			own := Own{Standing: standing.String()}
			var into *[]Own
			var id int64
			if id = in.Org(); id != 0 {
				var org store.Org
				org, err = a.store.Org(ctx, id)
				own.Name, into = org.Name, &out.Body.Orgs
			} else {
				var team store.Team
				id = in.Team()
				team, err = a.store.Team(ctx, store.Anywhere, id)
				own.Name, into = team.Name, &out.Body.Teams
			}
			switch {
			case errors.Is(err, store.ErrNotFound): // it is gone since
				continue
			case err != nil:
				return nil, err
			}
			own.ID = ids.Text(id)
			*into = append(*into, own)
		}
		for _, own := range [][]Own{out.Body.Orgs, out.Body.Teams} {
			slices.SortFunc(own, func(a, b Own) int { return cmp.Compare(ids.Of(a.ID), ids.Of(b.ID)) })
		}
		return out, nil
	})
}

// need names whether clients need a boundary.
func (a *API) need() string {
	switch {
	case a.server.Boundaries() == nil:
		return "none"
	case a.server.BoundariesOptional():
		return "optional"
	}
	return "required"
}

// Tool is a tool that the caller may use. The names are those of MCP's tools/list.
type Tool struct {
	Name         string   `json:"name"`
	Title        string   `json:"title,omitempty"`
	Description  string   `json:"description,omitempty"`
	InputSchema  any      `json:"inputSchema,omitempty"`
	OutputSchema any      `json:"outputSchema,omitempty"`
	CanExecute   bool     `json:"canExecute" doc:"The server would allow the call"`
	Missing      string   `json:"missing,omitempty" doc:"The missing requirements if canExecute is false"`
	Off          bool     `json:"off,omitempty" doc:"It is switched off; shown to admins only"`
	Catalogs     []string `json:"catalogs,omitempty" nullable:"false" doc:"The catalogs that the source of the server declares"`
	Choices      []Choice `json:"choices,omitempty" nullable:"false" doc:"The arguments with rules for values"`
}

// Choice is an argument with rules for values.
type Choice struct {
	Argument string   `json:"argument"`
	Values   []string `json:"values" nullable:"false" doc:"Those that the caller may send"`
}

func toolOf(t runtime.ListedTool) Tool {
	tool := Tool{
		Name: t.Tool.Name, Title: t.Tool.Title, Description: t.Tool.Description,
		InputSchema: t.Tool.InputSchema, OutputSchema: t.Tool.OutputSchema,
		CanExecute: t.CanExecute, Missing: t.Missing, Off: t.Off, Catalogs: t.Catalogs,
	}
	for _, c := range t.Choices {
		tool.Choices = append(tool.Choices, Choice{c.Argument, append([]string{}, c.Values...)})
	}
	return tool
}

// Tools is a page of tools.
type Tools struct {
	Items []Tool `json:"items" nullable:"false"`
	Next  string `json:"next,omitempty" doc:"Send it as after for the next page; absent on the last"`
	Note  string `json:"note,omitempty" doc:"A note about the requested catalog"`
}

type toolsOutput struct {
	Link string `header:"Link" doc:"The next page, as rel=next; absent on the last"`
	Body Tools
}

// tools registers the list of tools, which is for every authenticated caller.
func (a *API) tools() {
	type listed struct {
		Limit     int    `query:"limit" minimum:"1" maximum:"1000" default:"1000" doc:"The largest number of items"`
		After     string `query:"after" maxLength:"1024" doc:"The value of next in the previous page"`
		Catalog   string `query:"catalog" doc:"The name of a catalog: the caller's teams' first, then its organizations', then global"`
		CatalogID string `query:"catalog_id" doc:"The id of a catalog. It takes precedence over the name"`
	}
	op := forAll("tools").operation(http.MethodGet, "list-tools", "mcp/tools",
		"List the tools that the caller may see, by name", http.StatusNotFound)
	register(a, op, anybody, func(ctx context.Context, r *request, i *listed) (*toolsOutput, error) {
		page, err := Paging{i.Limit, i.After}.names()
		if err != nil {
			return nil, err
		}
		listing, err := a.server.ListTools(ctx, catalog.Ref{ID: i.CatalogID, Name: i.Catalog})
		if err != nil {
			return nil, err
		}
		name := func(t runtime.ListedTool) string { return t.Tool.Name }
		some, more := cut(listing.Tools, name, page)
		out := paged(r, some, more, toolOf,
			func(t runtime.ListedTool) string { return cursorOf(byName, name(t)) })
		return &toolsOutput{out.Link, Tools{out.Body.Items, out.Body.Next, listing.Note}}, nil
	})
}

// Askable is a catalog that the caller may request.
type Askable struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Description string `json:"description"`
	Source      string `json:"source" enum:"store,code" doc:"code: it is declared in the source of the server (//mcp:tool catalog=)"`
	Scope       string `json:"scope" enum:"team,organization,global"`
	OrgID       string `json:"org_id,omitempty" doc:"The organization that it belongs to"`
	TeamID      string `json:"team_id,omitempty" doc:"The team that it belongs to"`
	Resolves    bool   `json:"resolves" doc:"A request by name returns this catalog. Request the others with the same name by id"`
}

// shelf is a place of some of a caller's catalogs. Shelves are in the order in which a name is
// searched: those of teams, of organisations, of code, and of all.
type shelf struct {
	rank  int
	id    int64
	scope store.Scope // none where code declares them
}

const (
	ofTeams = iota
	ofOrgs
	ofCode
	ofAll
)

func (s shelf) compare(other shelf) int {
	return cmp.Or(cmp.Compare(s.rank, other.rank), cmp.Compare(s.id, other.id))
}

// shelves are the caller's.
func (a *API) shelves(ctx context.Context, r *request) ([]shelf, error) {
	places, err := a.authority.Places(ctx, r.caller)
	if err != nil {
		return nil, err
	}
	all := []shelf{{rank: ofCode}, {rank: ofAll, scope: store.Global}}
	for in := range places {
		if in.Team() != 0 {
			all = append(all, shelf{ofTeams, in.Team(), in})
		} else {
			all = append(all, shelf{ofOrgs, in.Org(), in})
		}
	}
	slices.SortFunc(all, shelf.compare)
	return all, nil
}

// shelved is a catalog with its shelf and its key in the order of the shelf.
type shelved struct {
	Askable
	on  shelf
	key string
}

func (s shelved) cursor() string {
	return cursorOf(byShelf, fmt.Sprintf("%d.%d.%s", s.on.rank, s.on.id, s.key))
}

// onShelf reads a cursor.
func onShelf(after string) (on shelf, key string, err error) {
	_, text, err := keyOf(after, byShelf)
	if err != nil || text == "" {
		return shelf{rank: -1}, "", err
	}
	parts := strings.SplitN(text, ".", 3)
	if len(parts) != 3 {
		return on, "", errCursor
	}
	return shelf{rank: int(ids.Of(parts[0])), id: ids.Of(parts[1])}, parts[2], nil
}

// askable registers the list of the catalogs that the caller may request, which is for every
// authenticated caller.
func (a *API) askable() {
	op := forAll("tools").operation(http.MethodGet, "list-tool-catalogs", "mcp/tool_catalogs",
		"List the catalogs that the caller may request: of its teams first, then of its "+
			"organizations, then those in code and global ones")
	register(a, op, anybody, func(ctx context.Context, r *request, i *Paging) (
		*pageOutput[Askable], error) {
		from, key, err := onShelf(i.After)
		if err != nil {
			return nil, err
		}
		all, err := a.shelves(ctx, r)
		if err != nil {
			return nil, err
		}
		var found []shelved
		for n, on := range all {
			after := ""
			switch c := on.compare(from); {
			case c < 0:
				continue
			case c == 0:
				after = key
			}
			// One more than fits shows that there is a next page.
			some, err := a.take(ctx, r, on, after, i.Limit+1-len(found))
			if err != nil {
				return nil, err
			}
			for _, c := range some {
				if c.Resolves, err = a.resolves(ctx, r, c.Name, all[:n]); err != nil {
					return nil, err
				}
				found = append(found, c)
			}
			if len(found) > i.Limit {
				break
			}
		}
		more := len(found) > i.Limit
		found = found[:min(len(found), i.Limit)]
		return paged(r, found, more, func(c shelved) Askable { return c.Askable }, shelved.cursor), nil
	})
}

// take takes some active catalogs from a shelf.
func (a *API) take(ctx context.Context, r *request, on shelf, after string, most int) (
	some []shelved, err error) {
	if on.rank == ofCode {
		declared, _ := cut(a.server.DeclaredCatalogsFor(r.caller),
			func(c catalog.Found) string { return c.Name },
			store.Page[string]{After: after, Limit: most})
		for _, c := range declared {
			shown := Askable{ID: c.ID, Name: c.Name, Source: "code", Scope: "global"}
			some = append(some, shelved{shown, on, c.Name})
		}
		return some, nil
	}
	for page, more := (store.Page[int64]{After: ids.Of(after)}), true; more && len(some) < most; {
		var all []store.Catalog
		if all, more, err = a.store.Catalogs(ctx, on.scope, page); err != nil {
			return nil, err
		}
		for _, c := range all {
			page.After = c.ID
			if c.Active && len(some) < most {
				some = append(some, shelved{askableOf(c), on, ids.Text(c.ID)})
			}
		}
	}
	return some, nil
}

func askableOf(c store.Catalog) Askable {
	shown := Askable{ID: ids.Text(c.ID), Name: c.Name, Description: c.Description,
		Source: "store", Scope: "global"}
	switch {
	case c.Scope.Org() != 0:
		shown.Scope, shown.OrgID = "organization", ids.Text(c.Scope.Org())
	case c.Scope.Team() != 0:
		shown.Scope, shown.TeamID = "team", ids.Text(c.Scope.Team())
	}
	return shown
}

// resolves reports whether none of the shelves before has an active catalog of a name.
func (a *API) resolves(ctx context.Context, r *request, name string, before []shelf) (
	bool, error) {
	var scopes []store.Scope
	for _, on := range before {
		if on.rank != ofCode {
			scopes = append(scopes, on.scope)
		} else if slices.ContainsFunc(a.server.DeclaredCatalogsFor(r.caller),
			func(c catalog.Found) bool { return c.Name == name }) {
			return false, nil
		}
	}
	found, err := a.store.ActiveCatalogs(ctx, name, scopes...)
	return len(found) == 0, err
}
