// Package bench compares mcpgen with its alternatives, the peers: go-sdk's generic AddTool,
// go-sdk's Server.AddTool with handwritten code, and mcp-go. All of them serve the same tool to the
// same client in one process, so that ratios are valid on every machine. Over HTTP, a bare net/http
// handler that writes the same bytes shows what no server can save. Access decisions have
// benchmarks of their own, which compare them with maps and policy engines with the same policy.
// Run `make bench` in the root of the repository.
package bench
