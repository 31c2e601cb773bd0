package runtime

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
)

// logStart says once, when a server has been made, how it is configured, and of which packages' toolsets.
func (s *Server) logStart(packages []string) {
	o := s.opts
	kind := func(v any) string {
		if v == nil {
			return "none"
		}
		return fmt.Sprintf("%T", v)
	}
	admin := ""
	if roles := s.table.Hierarchy(); s.admin > 0 && int(s.admin) <= len(roles) {
		admin = roles[s.admin-1]
	}
	// An empty list is none, and not null, in every format.
	list := func(of []string) slog.Value { return slog.AnyValue(append([]string{}, of...)) }
	s.log.LogAttrs(context.Background(), slog.LevelInfo, "MCP server",
		slog.String("name", s.info.Name), slog.String("version", s.info.Version),
		slog.Attr{Key: "packages", Value: list(packages)},
		slog.Int("tools", len(s.lists.tools.items)), slog.Int("prompts", len(s.lists.prompts.items)),
		slog.Int("resources", len(s.lists.resources.items)+len(s.lists.templates.items)),
		slog.Attr{Key: "roles", Value: list(s.table.Hierarchy())}, slog.String("admin_role", admin), slog.Bool("admin", o.Admin != nil),
		slog.String("identity", kind(o.Identity)), slog.Bool("anonymous", o.Anonymous), slog.String("audit", kind(o.Audit)),
		slog.String("denial", o.Denial.String()), slog.Bool("list_all", o.ListAll),
		slog.Bool("permission_aware", o.PermissionAware), slog.String("capabilities", kind(o.Capabilities)),
		slog.String("catalogs", kind(o.Catalogs)), slog.Bool("catalog_strict", o.CatalogStrict), slog.String("grants", kind(o.Grants)),
		slog.Attr{Key: "roots", Value: list(o.Roots.Names())}, slog.String("sandbox", kind(o.Sandbox)),
		slog.Int("middleware", len(o.Middleware)), slog.Attr{Key: "readiness", Value: list(slices.Sorted(maps.Keys(o.Readiness)))},
		slog.String("observer", kind(o.Observer)), slog.Bool("masker", len(o.Masker.Names)+len(o.Masker.Values) > 0), slog.Bool("adopted", s.adopted),
		slog.Attr{Key: "allowed_origins", Value: list(o.AllowedOrigins)}, slog.Attr{Key: "allowed_hosts", Value: list(o.AllowedHosts)},
		slog.Int64("max_body_bytes", o.MaxBodyBytes), slog.Int("max_connections", o.MaxSessions),
		slog.String("idle_timeout", o.SessionTimeout.String()))
}
