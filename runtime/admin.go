package runtime

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/boundary"
	"github.com/mcpgen/mcpgen/runtime/catalog"
	"github.com/mcpgen/mcpgen/runtime/grant"
	"github.com/mcpgen/mcpgen/runtime/internal/principal"
	"github.com/mcpgen/mcpgen/runtime/internal/request"
	"github.com/mcpgen/mcpgen/runtime/internal/wire"
	"github.com/mcpgen/mcpgen/runtime/isolate"
	"github.com/mcpgen/mcpgen/runtime/redact"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// MetaCatalog and HeaderCatalog are where a client names the catalogs of tools to list: params
// (catalog and catalog_id), then _meta, the header, and the URL's query (catalog and catalog_id),
// as in https://tools.example/mcp?catalog=research. The first of these places counts. Ids come
// before names, and an empty value requests all tools. The list has the tools of any of the
// catalogs. Params and _meta take a text or an array of texts. The header and the query take texts
// with commas between them, and the query can be repeated. HeaderCatalog may be percent-encoded.
// _meta of the result has the notes, by MetaCatalogNote.
//
// The parameter readonly of the query leaves the tools that are marked readonly, for the list and
// the calls of the message with this URL; other tools are unknown. Its value "false" is like no
// parameter, and any other value is like "true". It is the client's wish: Options.ReadOnly is the
// boundary.
const (
	MetaCatalog     = wire.MetaCatalog     // "io.github.mcpgen/catalog"
	MetaCatalogNote = wire.MetaCatalogNote // "io.github.mcpgen/catalog-note"
	HeaderCatalog   = wire.HeaderCatalog   // "Mcpgen-Catalog"
)

// Refusal is the error of a request that is not admitted, in HTTP's terms.
type Refusal struct {
	Status     int    // 401, 403, 429 or 503
	Challenge  string // for WWW-Authenticate, with 401 and 429
	RetryAfter int    // for Retry-After in seconds, with 429 and 503
	Reason     string // for the client
}

// Error returns the reason.
func (r *Refusal) Error() string { return r.Reason }

// Identify authenticates an HTTP request as the MCP endpoint does, for handlers beside MCP; see
// Options.Admin. [Caller] finds the principal in the returned context, which ends with the request,
// with the credential, and with a block of the client. A caller without credentials is refused,
// also with Options.Anonymous. The error is a *[Refusal]. Such handlers see the whole request,
// credentials included.
func (s *Server) Identify(r *http.Request) (context.Context, error) {
	return s.identify(r, func(access.Principal) bool { return false })
}

// identify is Identify, and admits a blocked client that administers.
func (s *Server) identify(r *http.Request,
	administers func(access.Principal) bool) (context.Context, error) {
	id, err := s.authenticator.Authenticate(r)
	if err != nil {
		return nil, (*Refusal)(s.authenticator.Refusal(r, "", err))
	}
	info := request.New(id)
	err = s.rights().Attach(r.Context(), info)
	if errors.Is(err, principal.ErrBlocked) && administers(info.Principal) {
		err = s.host.Attach(r.Context(), info)
	}
	if err != nil || info.Principal.Anonymous() {
		s.guard.Refused(r.Context(), info, r.Method+" "+r.URL.Path, err)
		return nil, &Refusal{Status: http.StatusForbidden, Reason: "forbidden"}
	}
	if info.Permissions != nil && info.Permissions.Unavailable {
		// The host may not have the caller any more, and a role alone does not admit one.
		const reason = "the host's permissions are not available"
		return nil, &Refusal{Status: http.StatusServiceUnavailable, Reason: reason}
	}
	ctx := request.With(r.Context(), info)
	if administers(info.Principal) {
		ctx = request.ForHandler(ctx, info, &info.Principal)
	}
	if !administers(info.Principal) && r.Context().Done() != nil {
		entered, leave := s.rights().Enter(ctx, info)
		context.AfterFunc(r.Context(), leave)
		ctx = entered
	}
	if !info.Expires.IsZero() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, info.Expires)
		context.AfterFunc(r.Context(), cancel)
	}
	return ctx, nil
}

// Administered is a server as its administration uses it; see [Options.Admin] and package admin.
type Administered interface {
	// Identify is [Server.Identify].
	Identify(r *http.Request) (context.Context, error)
	// ExplainOf is [Server.ExplainOf].
	ExplainOf(ctx context.Context, p access.Principal, k access.Kind, name string) access.Explanation
	// DeclaredCatalogs is [Server.DeclaredCatalogs].
	DeclaredCatalogs() []catalog.Found
	// DeclaredCatalogsFor returns those of DeclaredCatalogs that exist for a principal. A catalog
	// without a tool inside the boundary of the principal does not.
	DeclaredCatalogsFor(p access.Principal) []catalog.Found
	// ReloadSwitches is [Server.ReloadSwitches].
	ReloadSwitches(ctx context.Context) error
	// Table is [Server.Table].
	Table() access.Table
	// IsAdmin reports whether a principal has Options.Access.AdminRole or a role above it, and
	// MayManage reports true.
	IsAdmin(p access.Principal) bool
	// MayManage reports whether the client of a principal may change what its user manages: catalogs
	// too, which can be those of an organization or a team. With Options.Access.Boundaries these are
	// the clients of AdministeredBy, without an actor: an agent has the rights of its user.
	MayManage(p access.Principal) bool
	// AdministeredBy returns the same server with the clients that may administer it, by Issuer and
	// Client. Boundaries do not limit their roles for administration.
	AdministeredBy(clients []boundary.Party) Administered
	// Boundaries returns Options.Access.Boundaries, which may be nil.
	Boundaries() boundary.Source
	// BoundariesOptional returns Options.Access.BoundariesOptional.
	BoundariesOptional() bool
	// CheckBoundary returns an error for each name of a boundary that the server does not have: the
	// issuer of its party, a role or an item. Without Options.Access.Boundaries it returns none.
	CheckBoundary(party boundary.Party, b boundary.Boundary) []error
	// Reach returns the tools, prompts and resources that an agent with a boundary reaches while
	// somebody else controls it; see [access.Table.Reach]. A block and an end do not count. Nil is
	// the boundary of a client without one: all, or with Options.Access.Boundaries the public items,
	// unless these are optional.
	Reach(ctx context.Context, b *boundary.Boundary) (private, untrusted, egress []string)
	// Blocked reports whether a client, or a caller of it, is blocked, or its boundary cannot be read.
	Blocked(ctx context.Context, client boundary.Party) bool
	// ListTools lists tools for the caller that [Server.Identify] has admitted: those that the caller
	// may use, and those that are refused and not concealed. Admins get concealed tools too. With
	// Options.Catalogs.Strict a catalog that cannot be found is an error, which wraps
	// catalog.ErrUnknown if it does not exist. Without an admitted request the list is empty.
	ListTools(ctx context.Context, ref catalog.Ref) (Listing, error)
	// Allows returns the permissions that a tool's calls need on their arguments; nil without the
	// tool.
	Allows(tool string) []toolset.Allow
	// Info returns the name of the server.
	Info() toolset.ServerInfo
	// Manifests returns the manifests of the toolsets, in the order of [New]. No MCP message contains
	// a digest, because it changes with each tool, concealed ones included. Show it to admins only.
	Manifests() []Manifest
	// Adopted reports whether the server is one of [Adopt]: no manifest describes the adopted
	// server's own tools.
	Adopted() bool
	// Masker returns Options.Observe.Masker.
	Masker() redact.Masker
	// Audit returns Options.Audit.Sink, which may be nil.
	Audit() audit.Sink
	// Catalogs returns Options.Catalogs.Source, which may be nil.
	Catalogs() catalog.Source
	// Grants returns Options.Grants.Source, which may be nil.
	Grants() grant.Source
	// GrantDefaults returns the grants that every client has, by Options.Grants.Defaults.
	GrantDefaults() []grant.Grant
	// Workspaces returns Options.Sandbox if it keeps workspaces of clients, and nil otherwise.
	Workspaces() isolate.Workspaces
	// Roots returns the sorted names of Options.Grants.Roots. Resources of file permissions begin with
	// them.
	Roots() []string
}

// administered implements Administered.
type administered struct {
	*Server
	clients []boundary.Party
}

func (s administered) IsAdmin(p access.Principal) bool {
	if !s.MayManage(p) {
		return false
	}
	if s.boundaries != nil {
		p.Bounds = nil
	}
	return s.table.Holds(p, s.admin)
}

func (s administered) MayManage(p access.Principal) bool {
	return s.boundaries == nil || s.administers(p)
}

// administers reports whether the client of a caller may administer.
func (s administered) administers(p access.Principal) bool {
	return p.Client != "" && p.Actor.Subject == "" &&
		slices.Contains(s.clients, boundary.Party{Issuer: p.Issuer, Client: p.Client})
}

// Identify is [Server.Identify]. A block does not stop the clients that may administer, so that
// nobody locks all administrators out.
func (s administered) Identify(r *http.Request) (context.Context, error) {
	return s.identify(r, s.administers)
}

func (s administered) AdministeredBy(clients []boundary.Party) Administered {
	s.clients = slices.Clone(clients)
	return s
}

func (s administered) DeclaredCatalogsFor(p access.Principal) []catalog.Found {
	return s.catalogs.DeclaredFor(p)
}

func (s administered) Boundaries() boundary.Source { return s.opts.Access.Boundaries }

func (s administered) BoundariesOptional() bool { return s.opts.Access.BoundariesOptional }

func (s administered) Reach(ctx context.Context, b *boundary.Boundary) (private, untrusted,
	egress []string) {
	return s.table.Reach(s.boundaries.Bounds(ctx, b))
}

func (s administered) CheckBoundary(party boundary.Party, b boundary.Boundary) []error {
	if s.boundaries == nil {
		return nil
	}
	return s.boundaries.Check(party, b)
}

func (s administered) Blocked(ctx context.Context, client boundary.Party) bool {
	return s.boundaries.Blocks(ctx, client)
}

// Listing is a list of tools for people and programs beside MCP.
type Listing struct {
	Tools []ListedTool // in the order of names
	Note  string       // about the requested catalog, as in _meta over MCP; it may be empty
}

// ListedTool is a tool, and whether the caller may use it.
type ListedTool struct {
	Tool       *mcp.Tool // shared: do not write to it
	CanExecute bool      // a call is allowed
	Off        bool      // switched off: unknown to callers, and listed to admins alone
	Missing    string    // what the caller lacks, as access.Decision.Missing words it
	Catalogs   []string  // those that code declares
	// Choices are the values that the caller may send, of arguments with rules for values.
	Choices []access.Choice
}

func (s administered) ListTools(ctx context.Context, ref catalog.Ref) (Listing, error) {
	info := request.From(ctx)
	if info == nil {
		return Listing{}, nil
	}
	filter, err := s.catalogs.Filter(ctx, &request.Info{
		ID: info.ID, Principal: info.Principal,
		Catalog: wire.NewCatalogQuery(s.opts.Observe.Masker, ref)})
	if err != nil {
		return Listing{}, err
	}
	list := Listing{Note: filter.Note}
	for _, e := range s.lists.Entries(info.Principal, s.IsAdmin(info.Principal), filter) {
		listed := ListedTool{Tool: e.Tool, CanExecute: e.CanExecute, Off: e.Off, Missing: e.Missing,
			Choices: s.table.Choices(info.Principal, e.Tool.Name)}
		if t := s.tools[e.Tool.Name]; t != nil {
			listed.Catalogs = t.Catalogs
		}
		list.Tools = append(list.Tools, listed)
	}
	return list, nil
}

// ReloadSwitches reads from Options.Catalogs.Source which tools are switched off, and applies it.
// Call it after a change that this process has made: the source reports other changes by itself.
func (s *Server) ReloadSwitches(ctx context.Context) error {
	changed, err := s.catalogs.Reload(ctx)
	if changed != nil {
		s.changes.RecheckSwitches(changed)
	}
	return err
}

// InvalidateCapabilities drops the host's permissions of the principals that match, of all if match
// is nil. The next requests read them again. Call it when a permission, a role or a user has
// changed in the host. match is also called later, by requests that run now. Without
// Options.Host.Source it does nothing.
func (s *Server) InvalidateCapabilities(match func(access.Principal) bool) {
	if s.host != nil {
		within := match
		if match != nil {
			within = func(p access.Principal) bool { return match(p.Within()) }
		}
		s.host.Invalidate(within)
		s.changes.Recheck(within)
	}
}

// OfUser matches the principals of one user of the host, for [Server.InvalidateCapabilities].
func OfUser(user string) func(access.Principal) bool {
	return func(p access.Principal) bool { return p.User == user }
}

// DeclaredCatalogs returns the catalogs that code declares (//mcp:tool catalog=), in the order of
// names. They are global and do not change, and their ids are made from their names.
func (s *Server) DeclaredCatalogs() []catalog.Found { return s.catalogs.Declared() }

func (s administered) Allows(tool string) []toolset.Allow {
	if t := s.tools[tool]; t != nil {
		return slices.Clone(t.Allow)
	}
	return nil
}

func (s administered) Info() toolset.ServerInfo { return s.info }

// Path returns Options.HTTP.Path, or its default.
func (s *Server) Path() string { return s.opts.HTTP.Path }

// Manifest identifies the mcp.manifest.json of a toolset's package. It covers what is compiled:
// options of the server, narrowed toolsets and the rules of [Adopt] do not change it.
type Manifest struct {
	Package string // import path
	// Digest is "sha256:" and hexadecimal digits. It is empty in code of earlier versions of mcpgen,
	// and for a toolset that code made of the description of another one.
	Digest string
}

// String returns the package and the digest.
func (m Manifest) String() string { return m.Package + " " + cmp.Or(m.Digest, "unknown") }

func (s administered) Manifests() []Manifest { return slices.Clone(s.manifests) }

func (s administered) Adopted() bool { return s.own.info != nil }

// Table returns a copy of the rules of the server. A change of the copy changes no decision.
func (s *Server) Table() access.Table { return s.table.Clone() }

func (s administered) Masker() redact.Masker { return s.opts.Observe.Masker }

func (s administered) Audit() audit.Sink { return s.opts.Audit.Sink }

func (s administered) Catalogs() catalog.Source { return s.opts.Catalogs.Source }

func (s administered) Grants() grant.Source { return s.opts.Grants.Source }

func (s administered) GrantDefaults() []grant.Grant { return s.grants.Defaults() }

func (s administered) Workspaces() isolate.Workspaces {
	if keeps, ok := s.opts.Sandbox.(isolate.Workspaces); ok && keeps.Folder() != "" {
		return keeps
	}
	return nil
}

func (s administered) Roots() []string { return s.opts.Grants.Roots.Names() }
