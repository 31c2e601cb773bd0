// Package document writes the documents of a service: mcp.manifest.json, MCP.md, and the matrix
// that mcpgen matrix prints.
//
// It is pure: equal models give equal bytes, on every machine, and nothing is read or written.
package document
