package runtime

import "strings"

// traceID is the trace-id of a traceparent header (W3C Trace Context, section 3.2), empty where that is none. It is the caller's
// word, and joins records to traces; nothing is decided by it. Later versions add fields at the end.
func traceID(parent string) string {
	const zeros = "00000000000000000000000000000000"
	if len(parent) < 55 || parent[2] != '-' || parent[35] != '-' || parent[52] != '-' || len(parent) > 55 && parent[55] != '-' {
		return ""
	}
	version, id := parent[:2], parent[3:35]
	for _, part := range []string{version, id, parent[36:52], parent[53:55]} {
		if strings.Trim(part, "0123456789abcdef") != "" {
			return ""
		}
	}
	if version == "ff" || version == "00" && len(parent) > 55 || id == zeros || parent[36:52] == zeros[:16] {
		return ""
	}
	return id
}
