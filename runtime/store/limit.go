package store

import (
	"database/sql"
	"errors"
	"fmt"

	"github.com/mcpgen/mcpgen/runtime/grant"
)

// Limits of the number of items. They keep a manager of one scope from filling the database, or
// the memory of all replicas. Items from before a limit stay readable.
const (
	MaxEntries        = 10_000  // in a catalog
	MaxCatalogs       = 1_000   // in an organisation or a team
	MaxGlobalCatalogs = 100_000 // that are global
	MaxTeams          = 1_000   // in an organisation
	MaxMembers        = 100_000 // in an organisation or a team
	MaxRequests       = 10_000  // for grants, of all clients, that are open
)

// limits are the constants of these names, or a test's.
type limits struct{ entries, catalogs, globalCatalogs, teams, members, grants, requests int }

var usual = limits{MaxEntries, MaxCatalogs, MaxGlobalCatalogs, MaxTeams, MaxMembers, grant.MaxGrants, MaxRequests}

// catalogsOf is how many catalogs a scope has at most.
func (l limits) catalogsOf(in Scope) int {
	if in == Global {
		return l.globalCatalogs
	}
	return l.catalogs
}

// owner keeps what something is put into as it is until the transaction ends: others put theirs
// into it before or after, so that each counts all. What is global is in nothing; as many more come
// to stand there as are made at the same moment.
func (t *tx) owner(in Scope) error {
	switch in.kind {
	case inOrg:
		return t.hold(say(`SELECT id FROM organizations WHERE id = ?`, in.id))
	case inTeam:
		return t.hold(say(`SELECT id FROM teams WHERE id = ?`, in.id))
	}
	return nil
}

// bounded refuses what was just put into a place where there is no more room. The statement gives
// all that is there.
func (t *tx) bounded(place, nouns string, most int, there *statement) error {
	var one int64
	switch err := there.and(`LIMIT 1 OFFSET ?`, most).row(t.ctx, t).Scan(&one); {
	case errors.Is(err, sql.ErrNoRows):
		return nil
	case err != nil:
		return err
	}
	return fmt.Errorf("%s has %d %s, which %w: remove one first", place, most, nouns, ErrLimit)
}
