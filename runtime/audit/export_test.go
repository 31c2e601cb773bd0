package audit

import (
	"os"
	"time"
)

// MostBytes is how long a record may be.
const MostBytes = mostBytes

// At makes a file take the time from elsewhere.
func (r *RotatingFile) At(now func() time.Time) { r.now = now }

// SyncBy makes a file sync by another function.
func (r *RotatingFile) SyncBy(sync func(*os.File) error) { r.sync = sync }

// Waiting counts the records that wait for a sync that is under way.
func (r *RotatingFile) Waiting() int { return r.together.Waiting() }

// OfUser refuses a file of another user.
var OfUser = ofUser

// Ready is the state of a sink.
var Ready = ready
