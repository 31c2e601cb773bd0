// Package document writes the documents of a service: mcp.manifest.json, MCP.md, and what mcpgen
// list, mcpgen matrix and mcpgen docs print.
//
// It is pure: equal models give equal bytes, on every machine, and nothing is read or written.
package document
