package store

import (
	"context"
	"database/sql"
	"sync"
)

// statements is how many are kept. Where a question has a list in it, each length of the list is
// another.
const statements = 64

// prepared asks a pool by statements that each connection parses once. PostgreSQL's driver does so
// by itself.
type prepared struct {
	*sql.DB
	mu   sync.Mutex
	kept map[string]*sql.Stmt // closed with the pool
}

func (p *prepared) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if s := p.statement(ctx, query); s != nil {
		return s.QueryContext(ctx, args...)
	}
	return p.DB.QueryContext(ctx, query, args...)
}

func (p *prepared) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	if s := p.statement(ctx, query); s != nil {
		return s.QueryRowContext(ctx, args...)
	}
	return p.DB.QueryRowContext(ctx, query, args...)
}

// statement is one that is kept, or nil where there is no room or it cannot be prepared: asked
// without it, the pool says why.
func (p *prepared) statement(ctx context.Context, query string) *sql.Stmt {
	p.mu.Lock()
	s, room := p.kept[query], len(p.kept) < statements
	p.mu.Unlock()
	if s != nil || !room {
		return s
	}
	s, err := p.PrepareContext(ctx, query)
	if err != nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if other := p.kept[query]; other != nil {
		s.Close() // two have asked it first at once
		return other
	}
	p.kept[query] = s
	return s
}
