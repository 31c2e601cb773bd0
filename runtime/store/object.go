package store

import (
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// done is what a change did: the kind that followers receive, and how the audit names what it was
// done to.
//
// The audit has names of organisations, teams, catalogs and tools, and issuers and subjects, in
// full: they are names and no secrets, and a record of what is deleted is the last to say them.
// Descriptions are not in it. Each name is quoted, so that none reads like another object.
type done struct {
	kind   Kind
	object string
}

// quoted is a name for the audit: as [strconv.Quote] writes it, of [MaxIdentity] bytes at most,
// which is all that the store takes.
func quoted(name string) string {
	if len(name) <= MaxIdentity {
		return strconv.Quote(name)
	}
	return strconv.Quote(strings.ToValidUTF8(name[:MaxIdentity], "")) + "…"
}

// became is a name for the audit, with the one before, if that was another.
func became(before, now string) string {
	if before == now {
		return quoted(now)
	}
	return quoted(before) + " → " + quoted(now)
}

// was reads a row as it is before an update from a version, and nothing if there is none at that
// version: the update says so. A concurrent change also changes the version.
func was[T any](t *tx, q *statement, version int64, read func(scanner) (T, error)) (T, error) {
	found, err := read(versioned(q, version).row(t.ctx, t))
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return found, err
}

// hold keeps rows as they are until the transaction ends: nobody can put anything into what is
// being deleted once that is counted. On SQLite nobody can anyway.
func (t *tx) hold(rows ...*statement) error {
	for _, q := range rows {
		if _, err := all(t.ctx, t, q.and(t.engine.forUpdate), readID); err != nil {
			return err
		}
	}
	return nil
}

// countable is a thing with the statement that counts it.
type countable struct {
	noun  string
	count *statement
}

// count says for the audit what goes with what is being deleted, as in ", with 2 teams and 1
// member".
func (t *tx) count(things ...countable) (string, error) {
	var counts []string
	for _, thing := range things {
		var n int64
		if err := thing.count.row(t.ctx, t).Scan(&n); err != nil {
			return "", err
		}
		counts = append(counts, plural(n, thing.noun))
	}
	last := len(counts) - 1
	if last == 0 {
		return ", with " + counts[0], nil
	}
	return ", with " + strings.Join(counts[:last], ", ") + " and " + counts[last], nil
}

func plural(n int64, noun string) string {
	switch stem, y := strings.CutSuffix(noun, "y"); {
	case n == 1:
		return "1 " + noun
	case y:
		return fmt.Sprintf("%d %sies", n, stem)
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
