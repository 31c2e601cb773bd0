package runtime

import (
	"context"
	"fmt"
	"log"
	"log/slog"
	"maps"
	"net/netip"
	"os"
	"slices"
)

// original is the handler of the default logger before the program can replace it.
var original = slog.Default().Handler()

// onTerminal reports whether the default logger writes to a terminal, and the program chose no
// other one, nor an output. A person reads the record of the start there.
func onTerminal(chosen *slog.Logger) bool {
	if chosen != nil || log.Writer() != os.Stderr || slog.Default().Handler() != original {
		return false
	}
	file, err := os.Stderr.Stat()
	return err == nil && file.Mode()&os.ModeCharDevice != 0
}

// logStart logs once how a server is configured.
func (s *Server) logStart() {
	s.opts.Logger.LogAttrs(context.Background(), slog.LevelInfo, "MCP server", s.startRecord()...)
}

// startRecord returns the configuration of a server. A brief record has the settings that a person
// looks for, in at most 200 bytes on most servers, and those that widen the access to the server.
func (s *Server) startRecord() []slog.Attr {
	o := s.opts
	kind := func(v any) string {
		if v == nil {
			return "none"
		}
		return fmt.Sprintf("%T", v)
	}
	roles := s.table.Hierarchy()
	// An empty list is [], and not null, in every format.
	list := func(key string, of []string) slog.Attr {
		return slog.Any(key, append([]string{}, of...))
	}
	var digests []string
	for _, m := range s.manifests {
		digests = append(digests, m.String())
	}
	tools, prompts, resources := s.lists.Totals()
	record := []slog.Attr{
		slog.String("name", s.info.Name), slog.String("version", s.info.Version),
		slog.Int("tools", tools), slog.Int("prompts", prompts), slog.Int("resources", resources),
		slog.String("identity", kind(o.Identity)), slog.Bool("anonymous", o.Anonymous),
		slog.String("audit", kind(o.Audit)), slog.String("denial", o.Denial.String())}
	further := []slog.Attr{
		list("packages", s.packages), list("manifests", digests),
		list("roles", roles), slog.String("admin_role", roles[s.admin-1]),
		slog.Bool("admin", o.Admin != nil),
		slog.String("audit_intent", string(o.AuditIntent)),
		slog.Bool("list_all", o.ListAll), slog.Bool("permission_aware", o.PermissionAware),
		slog.String("capabilities", kind(o.Capabilities)),
		slog.String("catalogs", kind(o.Catalogs)),
		slog.Bool("catalog_strict", o.CatalogStrict), slog.Bool("read_only", o.ReadOnly),
		slog.String("grants", kind(o.Grants)),
		list("roots", o.Roots.Names()), slog.String("sandbox", kind(o.Sandbox)),
		slog.Int("middleware", len(o.Interceptors)),
		list("readiness", slices.Sorted(maps.Keys(o.Readiness))),
		slog.String("observer", kind(o.Observer)),
		slog.Bool("masker", len(o.Masker.Names)+len(o.Masker.Values) > 0),
		slog.Bool("adopted", s.Adopted()), slog.String("path", o.Path),
		list("allowed_origins", o.AllowedOrigins),
		list("allowed_hosts", o.AllowedHosts),
		slog.Any("trusted_proxies", append([]netip.Prefix{}, o.TrustedProxies...)),
		slog.Int64("max_body_bytes", o.MaxBodyBytes),
		slog.Int("max_connections", o.MaxSessions),
		slog.String("idle_timeout", o.SessionTimeout.String()),
	}
	if s.brief {
		usual := map[string]string{"admin_role": roles[len(roles)-1], "admin": "false",
			"list_all": "false", "sandbox": "none", "middleware": "0", "adopted": "false",
			"allowed_origins": "[]", "allowed_hosts": "[]", "trusted_proxies": "[]"}
		further = slices.DeleteFunc(further, func(a slog.Attr) bool {
			value, ok := usual[a.Key]
			return !ok || a.Value.String() == value
		})
	}
	return append(record, further...)
}
