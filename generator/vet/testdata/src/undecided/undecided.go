// Package undecided has mistakes that no fix may correct: it would choose who may call.
//
//mcp:roles Level1 < Level2 < Editor
package undecided

import "context"

// want +4 `MCP009: unknown role Level4 in .*; fix: write one of Level1, Level2, Editor`

// Tie is as near to two roles.
//
//mcp:tool minrole=Level4
func Tie(ctx context.Context) error { return nil }

// want +4 `MCP009: unknown role Auditor in .*; fix: did you mean Editor\?`

// Far differs in two letters.
//
//mcp:tool minrole=Auditor
func Far(ctx context.Context) error { return nil }

// want +2 `MCP011: //mcp:rule is not on a declaration`

//mcp:rule action=delete minrole=Editor

// want +4 `MCP010: this comment resembles a directive`

// Disabled is disabled on purpose.
//
//xmcp:tool minrole=Level1
func Disabled(ctx context.Context) error { return nil }
