// Package peers measures mcpgen against what its users could use in its place: go-sdk's generic
// AddTool, go-sdk's Server.AddTool with code by hand, and mcp-go. All of them serve the same
// tool, are driven by the same client and run in one process, so that the ratios hold where the
// times do not. What decides about them is measured by itself, beside maps and policy engines that are
// given one and the same policy. `make bench` in the repository's root runs it.
package peers
