package stored

import (
	"time"

	"github.com/mcpgen/mcpgen/runtime/store"
)

// Database is the part of a store that a source reads.
type Database = database

// NewFrom is New over a store that tests interrupt.
func NewFrom(from Database) *Source { return newSource(nil, from, looking) }

// NewListening is New for a source that depends on notifications.
func NewListening(s *store.Store) *Source { return newSource(s, s, time.Hour) }

// At is the revision of the boundaries that are kept.
func (s *Source) At() store.Revision { return s.kept.Load().at }

// Backlog and MaxSeen are the constants of these names.
const (
	Backlog = backlog
	MaxSeen = maxSeen
)
