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
		slog.String("audit", kind(o.Audit.Sink)), slog.String("denial", o.Access.Denial.String())}
	further := []slog.Attr{
		list("packages", s.packages), list("manifests", digests),
		slog.String("boundaries", kind(o.Access.Boundaries)),
		slog.Bool("boundaries_optional", o.Access.BoundariesOptional),
		list("roles", s.table.Hierarchy()), slog.String("admin_role", s.admin),
		slog.Bool("admin", o.Admin != nil),
		slog.String("audit_intent", string(o.Audit.Intent)),
		slog.Bool("list_all", o.Lists.ListAll), slog.String("host", kind(o.Host.Source)),
		slog.Bool("record_only", o.Host.RecordOnly),
		slog.String("catalogs", kind(o.Catalogs.Source)),
		slog.Bool("catalogs_strict", o.Catalogs.Strict), slog.Bool("read_only", o.ReadOnly),
		slog.String("grants", kind(o.Grants.Source)),
		list("roots", o.Grants.Roots.Names()), slog.String("sandbox", kind(o.Sandbox)),
		slog.Int("interceptors", len(o.Interceptors)),
		list("readiness", slices.Sorted(maps.Keys(o.Observe.Readiness))),
		slog.String("observer", kind(o.Observe.Observer)),
		slog.Bool("masker", len(o.Observe.Masker.Names)+len(o.Observe.Masker.Values) > 0),
		slog.Bool("adopted", s.own.info != nil), slog.String("path", o.HTTP.Path),
		list("origins", o.HTTP.Origins),
		list("hosts", o.HTTP.Hosts),
		slog.Any("trusted_proxies", append([]netip.Prefix{}, o.HTTP.TrustedProxies...)),
		slog.Int64("max_body", o.HTTP.MaxBody),
		// Values under names with session would be masked.
		slog.Int("max_connections", o.HTTP.MaxSessions),
		slog.String("idle_timeout", o.HTTP.SessionTimeout.String()),
	}
	if s.brief {
		usual := map[string]string{"admin_role": s.highestRole(), "admin": "false",
			"boundaries": "none", "boundaries_optional": "false", "list_all": "false",
			"sandbox": "none", "interceptors": "0", "adopted": "false",
			"origins": "[]", "hosts": "[]", "trusted_proxies": "[]"}
		further = slices.DeleteFunc(further, func(a slog.Attr) bool {
			value, ok := usual[a.Key]
			return !ok || a.Value.String() == value
		})
	}
	return append(record, further...)
}
