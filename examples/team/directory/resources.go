package directory

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// Handbook is the public handbook of the team.
//
//mcp:resource uri=team://handbook public mimetype=text/markdown title="Handbook"
func (d *Directory) Handbook(ctx context.Context) (string, error) {
	return fmt.Sprintf("# Team %s\n\nAsk a manager to change your entry.\n", d.team), nil
}

// Card is the entry of a person as text.
//
//mcp:resource uri=team://people/{id} authenticated mimetype=text/markdown
//mcp:param id description="The number of the entry." minimum=1
func (d *Directory) Card(ctx context.Context, id int64) (string, error) {
	p, err := d.GetByID(ctx, id)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("# %s\n\n%s, %s since %s\n", p.Name, p.Email, p.Rank,
		p.Joined.Format(time.DateOnly)), nil
}

// Ranked lists the names of the persons of a rank.
//
//mcp:resource uri=team://ranks/{rank} minrole=Manager,Auditor mimetype=text/plain
func (d *Directory) Ranked(ctx context.Context, rank Rank) (string, error) {
	names, err := d.column(ctx, "SELECT name FROM people WHERE rank = ? ORDER BY name, id",
		string(rank))
	return strings.Join(names, "\n"), err
}

// Numbers completes the number of an entry.
//
//mcp:complete ref=team://people/{id} argument=id
func (d *Directory) Numbers(ctx context.Context, prefix string) ([]string, error) {
	return d.column(ctx, "SELECT id FROM people WHERE substr(id, 1, length(?1)) = ?1 ORDER BY id",
		prefix)
}

// column reads the only column of a query with one argument.
func (d *Directory) column(ctx context.Context, query, argument string) ([]string, error) {
	rows, err := d.db.QueryContext(ctx, query, argument)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var values []string
	for rows.Next() {
		var value string
		if err := rows.Scan(&value); err != nil {
			return nil, err
		}
		values = append(values, value)
	}
	return values, rows.Err()
}
