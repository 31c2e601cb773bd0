// Package notes has a note, which a Member may clear.
//
//mcp:server name=notes
//mcp:default minrole=Member
package notes

import (
	"context"
	"errors"
	"sync"

	"github.com/mcpgen/mcpgen/runtime"
)

// Notes has the note.
type Notes struct {
	Server *runtime.Server
	mu     sync.Mutex
	text   string
}

// Confirm is a form.
type Confirm struct {
	Sure bool `json:"sure"`
}

// Note returns the note.
//
//mcp:resource uri=notes://note mimetype=text/plain subscribe
func (n *Notes) Note(ctx context.Context) (string, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.text, nil
}

// Clear clears the note.
//
//mcp:tool elicits
func (n *Notes) Clear(ctx context.Context) error {
	form, err := runtime.Elicit[Confirm](ctx, "sure", "Clear the note?")
	if err != nil {
		return err
	}
	if !form.Sure {
		return errors.New("the note stays")
	}
	n.mu.Lock()
	n.text = ""
	n.mu.Unlock()
	return n.Server.ResourceUpdated(ctx, "notes://note")
}
