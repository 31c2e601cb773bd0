package store

import (
	"context"
	"time"

	"github.com/mcpgen/mcpgen/runtime/audit"
)

// Switch contains whether a tool is switched off. A tool without a switch is on.
type Switch struct {
	Tool    string
	Off     bool
	Updated time.Time // when this was said last
}

// SwitchTool switches a tool off, or on again. The store does not check that the tool exists. A
// repeated call is recorded too.
func (s *Store) SwitchTool(ctx context.Context, name string, off bool, by audit.Event) error {
	if err := checkTool(name); err != nil {
		return invalid("switch tool", err)
	}
	action := "switch tool on"
	if off {
		action = "switch tool off"
	}
	return s.change(ctx, by, action, func(t *tx) (done, error) {
		_, err := say(`INSERT INTO tool_switches (name, is_off, updated_at) VALUES (?, ?, ?)
			ON CONFLICT (name) DO UPDATE SET is_off = excluded.is_off, updated_at = excluded.updated_at`,
			name, off, t.engine.moment(t.now)).exec(ctx, t)
		return done{ChangedTool, "tool " + name}, err
	})
}

// ToolsOff returns the names of the tools that are switched off, in order.
func (s *Store) ToolsOff(ctx context.Context) ([]string, error) {
	names, err := all(ctx, s.asks, say(`SELECT name FROM tool_switches WHERE is_off = ? ORDER BY name`, true), readName)
	if err != nil {
		return nil, s.engine.explain(ctx, "list tools that are off", err)
	}
	return names, nil
}

// Switches returns a page of the switches, of tools that are off or on again, in the order of the
// tools' names, and whether there are more.
func (s *Store) Switches(ctx context.Context, page Page[string]) ([]Switch, bool, error) {
	q := say(`SELECT name, is_off, updated_at FROM tool_switches WHERE name > ? ORDER BY name`, keepable(page.After))
	return list(ctx, s, "tool switches", q, page, func(row scanner) (w Switch, err error) {
		return w, row.Scan(&w.Tool, &w.Off, moment{&w.Updated})
	})
}
