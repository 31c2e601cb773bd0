// Package misspelt has misspelt directives, keys and roles.
package misspelt

import "context"

// want +4 `MCP009: unknown role Meber in Viewer < .*; fix: did you mean Member\?`

// Role has a misspelt role.
//
//mcp:tool minrole=Meber
func Role(ctx context.Context) error { return nil }

// want +4 `MCP003: unknown directive //mcp:tol; fix: did you mean //mcp:tool\?`

// Directive has a misspelt directive.
//
//mcp:tol minrole=Member
func Directive(ctx context.Context) error { return nil }

// want +4 `MCP010: this comment resembles a directive`

// Upper has a directive in upper case.
//
// mcp:Tool minrole=Member
func Upper(ctx context.Context) error { return nil }

// want +4 `MCP004: //mcp:tool has no key minrol; fix: did you mean minrole\?`

// Key has a misspelt key with a value.
//
//mcp:tool minrol=Member
func Key(ctx context.Context) error { return nil }

// want +5 `MCP030: Param has no parameter nam; fix: did you mean name\?`

// Param has a misspelt parameter.
//
//mcp:tool minrole=Member
//mcp:param nam maximum=3
func Param(ctx context.Context, name int) error { return nil }

// want +5 `MCP010: this comment resembles a directive, and has no effect`

// Prefix has a misspelt prefix.
//
//mcp:tool minrole=Member
//mpc:limit timeout=1s
func Prefix(ctx context.Context) error { return nil }

// want +4 `MCP010: this comment resembles a directive, and has no effect`

// Disabled is no tool any more: mcpgen does not write the comment.
//
// mcp:tool minrole=Member
func Disabled(ctx context.Context) error { return nil }

// want +4 `MCP009: unknown role FILL_IN`

// Undecided has no role yet.
//
//mcp:tool minrole=FILL_IN
func Undecided(ctx context.Context) error { return nil }

// Prose is no directive: it has no fix.
//
//mcp:tool minrole=Member
func Prose(ctx context.Context) error {
	// want +2 `MCP010: this comment resembles a directive, and has no effect`

	// MCP tool public
	return nil
}

// want +3 `MCP010: this comment resembles a directive, and has no effect`

// A sentence may continue with
// mcp:Tool, which is no directive.
//
//mcp:tool minrole=Member
func Sentence(ctx context.Context) error { return nil }

// want +4 `MCP003: unknown directive //mcp:tol; fix: did you mean //mcp:tool\?`

// Open would admit everybody: its author decides.
//
//mcp:tol title="open" public
func Open(ctx context.Context) error { return nil }

// want +4 `MCP003: unknown directive //mcp:defalt; fix: did you mean //mcp:default\?`

// Site would have a default: its author decides.
//
//mcp:defalt minrole=Member
type Site struct{}

// want +4 `MCP010: this comment resembles a directive`

// OpenUpper would admit everybody: its author decides.
//
// mcp:Tool public
func OpenUpper(ctx context.Context) error { return nil }

// want +4 `MCP004: //mcp:tool has no key authentcated; fix: did you mean authenticated\?`

// Login would admit every caller with an identity: its author decides.
//
//mcp:tool authentcated
func Login(ctx context.Context) error { return nil }
