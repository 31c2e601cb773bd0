// Package bench compares mcpgen with its alternatives, the peers: go-sdk's generic AddTool,
// go-sdk's Server.AddTool with handwritten code, and mcp-go. Each of them serves the same tool to
// the same client, in a process of its own: the test binary, started again. A bare server that
// writes the same bytes shows what no server can save. Access decisions have benchmarks of their
// own, which compare them with maps and policy engines with the same policy. Run `make bench` in
// the root of the repository.
package bench
