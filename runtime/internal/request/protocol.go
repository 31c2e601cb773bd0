package request

import "github.com/mcpgen/mcpgen/runtime/access"

// Protocol versions. They compare as text.
const (
	Stateless          = "2026-07-28" // the first version without sessions
	NewestWithSessions = "2025-11-25" // the newest version that the initialize handshake negotiates
)

// Headers of the streamable HTTP transport.
const (
	HeaderSession         = "Mcp-Session-Id"
	HeaderProtocolVersion = "Mcp-Protocol-Version"
)

// Kinds are the kinds of targets.
var Kinds = [...]access.Kind{access.Tools, access.Prompts, access.Resources}

// KnownVersion returns a protocol version if it exists, and "" if not.
func KnownVersion(version string) string {
	switch version {
	case "2024-11-05", "2025-03-26", "2025-06-18", NewestWithSessions, Stateless:
		return version
	}
	return ""
}

// IsStateless reports whether a version, which a client may have made up, counts as one without
// sessions: a date from [Stateless] on.
func IsStateless(version string) bool { return version >= Stateless && version < "a" }
