package api

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/admin/internal/ids"
	"github.com/mcpgen/mcpgen/runtime/catalog"
	"github.com/mcpgen/mcpgen/runtime/store"
)

// Whoami is the authenticated caller.
type Whoami struct {
	Issuer  string   `json:"issuer" doc:"The issuer of the subject's tokens. An admin needs it and the subject to add the caller as a member"`
	Subject string   `json:"subject"`
	Client  string   `json:"client" doc:"The OAuth client of the token, or the subject"`
	Roles   []string `json:"roles" nullable:"false" doc:"The caller's roles that the server knows"`
	Scopes  []string `json:"scopes" nullable:"false"`
	Admin   bool     `json:"admin" doc:"The caller is an admin of the server"`
	Orgs    []Own    `json:"organizations" nullable:"false" doc:"The caller's memberships"`
	Teams   []Own    `json:"teams" nullable:"false" doc:"The caller's memberships. A member of a team is not a member of its organization"`
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
			Roles: append([]string{}, p.Roles...), Scopes: append([]string{}, p.Scopes...), Admin: a.authority.Admin(p),
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
}

func toolOf(t runtime.ListedTool) Tool {
	return Tool{
		Name: t.Tool.Name, Title: t.Tool.Title, Description: t.Tool.Description,
		InputSchema: t.Tool.InputSchema, OutputSchema: t.Tool.OutputSchema,
		CanExecute: t.CanExecute, Missing: t.Missing, Off: t.Off, Catalogs: t.Catalogs,
	}
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
