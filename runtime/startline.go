package runtime

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
)

// logStart says once, when a server has been made, how it is configured.
func (s *Server) logStart() {
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
	identity := kind(o.Identity)
	if o.Anonymous {
		identity += ", anonymous callers admitted"
	}
	s.log.LogAttrs(context.Background(), slog.LevelInfo, "MCP server",
		slog.String("name", s.info.Name), slog.String("version", s.info.Version),
		slog.Int("tools", len(s.lists.tools.items)), slog.Int("prompts", len(s.lists.prompts.items)),
		slog.Int("resources", len(s.lists.resources.items)+len(s.lists.templates.items)),
		slog.Any("roles", s.table.Hierarchy()), slog.String("admin_role", admin),
		slog.String("identity", identity), slog.String("audit", kind(o.Audit)),
		slog.String("denial", o.Denial.String()), slog.Bool("list_all", o.ListAll),
		slog.Bool("permission_aware", o.PermissionAware), slog.String("capabilities", kind(o.Capabilities)),
		slog.String("catalogs", kind(o.Catalogs)), slog.String("grants", kind(o.Grants)),
		slog.Any("roots", o.Roots.Names()), slog.String("sandbox", kind(o.Sandbox)),
		slog.Int("middleware", len(o.Middleware)), slog.Any("readiness", slices.Sorted(maps.Keys(o.Readiness))),
		slog.String("observer", kind(o.Observer)), slog.Bool("adopted", s.adopted),
		slog.Any("allowed_origins", o.AllowedOrigins), slog.Any("allowed_hosts", o.AllowedHosts),
		slog.Int64("max_body_bytes", o.MaxBodyBytes), slog.Int("max_connections", o.MaxSessions),
		slog.Duration("idle_timeout", o.SessionTimeout))
}
