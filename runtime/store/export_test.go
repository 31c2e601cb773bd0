package store

import (
	"database/sql"
	"time"
)

// Hasten makes followers look, and connect again, every so often.
func (s *Store) Hasten(every time.Duration) { s.quiet, s.pause = every, every }

// Writes is the pool that changes are made with.
func (s *Store) Writes() *sql.DB { return s.writes }

// Reads is the pool that reads.
func (s *Store) Reads() *sql.DB { return s.reads }
