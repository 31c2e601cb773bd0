package task

import (
	"context"
	"encoding/json"
	"maps"
	"sync"
	"time"
)

const (
	memoryBytes     = 256 << 20       // the texts of all tasks
	memoryUserBytes = memoryBytes / 8 // of one user
	endBytes        = 1 << 10         // a task can end with these, whatever is kept
)

// Memory is a [Store] in the memory of the process. It keeps at most 256 MiB, and 32 MiB of one
// user.
type Memory struct {
	mu    sync.Mutex
	tasks map[key]Record
	bytes int // of the tasks
}

type key struct {
	Owner
	id string
}

func (o Owner) sameUser(other Owner) bool {
	return o.Issuer == other.Issuer && o.Subject == other.Subject
}

// NewMemory returns an empty store.
func NewMemory() *Memory { return &Memory{tasks: map[key]Record{}} }

// Create implements [Store].
func (m *Memory) Create(_ context.Context, r Record, l Limits) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.purge(r.Created)
	own, total := 0, 0
	for k, kept := range m.tasks {
		if !r.Created.Before(kept.Expires) {
			continue
		}
		if total++; k.sameUser(r.Owner) {
			own++
		}
	}
	if own >= l.User || total >= l.Total {
		return ErrFull
	}
	return m.put(r)
}

// put adds a task or replaces it. A task may always shrink, and always end: one that cannot would
// be found as lost for ever.
func (m *Memory) put(r Record) error {
	k := key{r.Owner, r.ID}
	more := bytesOf(r) - bytesOf(m.tasks[k])
	if more > 0 && !(r.Status.Ended() && bytesOf(r) <= endBytes) {
		own := 0
		for other, kept := range m.tasks {
			if other.sameUser(r.Owner) {
				own += bytesOf(kept)
			}
		}
		if m.bytes+more > memoryBytes || own+more > memoryUserBytes {
			return ErrFull
		}
	}
	m.tasks[k] = copied(r)
	m.bytes += more
	return nil
}

// bytesOf returns the size of the texts of a task.
func bytesOf(r Record) int {
	n := len(r.Message) + len(r.State) + len(r.Arguments) + len(r.Result)
	for _, texts := range []map[string]json.RawMessage{r.Requests, r.Answers} {
		for name, text := range texts {
			n += len(name) + len(text)
		}
	}
	return n
}

// Get implements [Store].
func (m *Memory) Get(_ context.Context, o Owner, id string) (Record, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, ok := m.tasks[key{o, id}]
	if !ok {
		return Record{}, ErrUnknown
	}
	return copied(r), nil
}

// Due implements [Store].
func (m *Memory) Due(_ context.Context, ids []string) (map[string]time.Time, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	wanted, due := map[string]bool{}, map[string]time.Time{}
	for _, id := range ids {
		wanted[id] = true
	}
	for k, r := range m.tasks {
		if at := r.Due(); !at.IsZero() && wanted[k.id] {
			due[k.id] = at
		}
	}
	return due, nil
}

// Change implements [Store].
func (m *Memory) Change(_ context.Context, o Owner, id string,
	change func(*Record) error) (Record, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, ok := m.tasks[key{o, id}]
	if !ok {
		return Record{}, ErrUnknown
	}
	r = copied(r)
	if err := change(&r); err != nil {
		return Record{}, err
	}
	if err := m.put(r); err != nil {
		return Record{}, err
	}
	return r, nil
}

// Lost implements [Store].
func (m *Memory) Lost(_ context.Context, now time.Time, most int) ([]Record, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var lost []Record
	for _, r := range m.tasks {
		if due := r.Due(); !due.IsZero() && !now.Before(due) && len(lost) < most {
			lost = append(lost, copied(r))
		}
	}
	return lost, nil
}

// Owners implements [Store].
func (m *Memory) Owners(context.Context) (map[string]Owner, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	owners := map[string]Owner{}
	for k, r := range m.tasks {
		if !r.Due().IsZero() {
			owners[k.id] = k.Owner
		}
	}
	return owners, nil
}

// Purge implements [Store].
func (m *Memory) Purge(_ context.Context, now time.Time) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.purge(now)
	return nil
}

func (m *Memory) purge(now time.Time) {
	maps.DeleteFunc(m.tasks, func(_ key, r Record) bool {
		over := !now.Before(r.Expires) && r.Due().IsZero()
		if over {
			m.bytes -= bytesOf(r)
		}
		return over
	})
}

// copied returns a record whose maps are its own. Nobody writes to the texts in them.
func copied(r Record) Record {
	r.Requests, r.Answers = maps.Clone(r.Requests), maps.Clone(r.Answers)
	return r
}
