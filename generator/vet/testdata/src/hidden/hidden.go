// Package hidden has text that people do not see.
package hidden

import "context"

// want +2 `MCP046: the comment has the bidirectional control U\+202E`

// Bidi ‮sorts‬ the list.
//
//mcp:tool public
func Bidi(ctx context.Context) error { return nil }

// want +2 `MCP046: the comment has the bidirectional control U\+2066`

// Isolate ⁦sorts⁩ the list.
//
//mcp:tool public
func Isolate(ctx context.Context) error { return nil }

// want +2 `MCP046: the comment has the tag character U\+E0041`

// Tag has 󠁁󠁂 tags.
//
//mcp:tool public
func Tag(ctx context.Context) error { return nil }

// want +2 `MCP046: the comment has the invisible character U\+200B`

// Zero has a zero​width space. A family 👩‍👧 is visible.
//
//mcp:tool public
func Zero(ctx context.Context) error { return nil }

// want +4 `MCP046: title= has the bidirectional control U\+202E`

// Title has a title.
//
//mcp:tool public title="a‮b"
func Title(ctx context.Context) error { return nil }
