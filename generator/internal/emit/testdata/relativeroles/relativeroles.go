// Package relativeroles fits any hierarchy: its rules name the lowest and the highest role.
//
//mcp:server name=relativeroles version=0.1.0
package relativeroles

import "context"

// Words are said.
type Words struct {
	// Text may hold a ` and a | and
	// lines.
	Text string "json:\"text\" jsonschema:\"default=`\""
}

// Echo says it again.
//
//mcp:tool minrole=lowest action=list
//mcp:limit timeout=1s
func Echo(ctx context.Context, in Words) (Words, error) { return in, nil }

// Shout says it louder.
//
//mcp:tool minrole=highest
func Shout(ctx context.Context, in Words) (string, error) { return in.Text, nil }
