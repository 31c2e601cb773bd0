// Command mcpgen generates MCP servers from annotated Go handlers.
package main

import "github.com/mcpgen/mcpgen/generator/command"

// main adds the command audit, which reads what the runtime writes: no package of the generator
// imports the runtime.
func main() { command.Main(newAudit()) }
