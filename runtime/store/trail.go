package store

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcpgen/mcpgen/runtime/audit"
)

// Recorded is an event in the store, with its id.
type Recorded struct {
	ID int64 // increases, except between records that were written at the same time
	audit.Event
}

// EventFilter selects events. An empty or zero field selects all. Only the first 256 characters
// of a text are compared, in the filter and in events. Type, Status and Failure also find the
// records with the names of earlier versions. An unknown Status or Failure selects no event.
type EventFilter struct {
	Principal, Client, Tool string
	Type                    audit.Type
	Status                  audit.Status
	Failure                 audit.Failure
	RequestID               string
	From, Until             time.Time // From is included, Until is not
}

// Events returns a page of the audit trail, in the order of the records' ids, and whether there are
// more.
func (s *Store) Events(ctx context.Context, page Page[int64]) ([]Recorded, bool, error) {
	return list(ctx, s, "audit events",
		stmt(`SELECT id, event FROM audit_events WHERE id > ? ORDER BY id`, page.After), page,
		readEvent)
}

// EventPlace is the place of an event in a search: by time, and by id for equal times. The zero
// value is before the newest event.
type EventPlace struct {
	Time time.Time // to the microsecond
	ID   int64
}

// String returns the place as the text that [ParseEventPlace] reads.
func (p EventPlace) String() string {
	if p == (EventPlace{}) {
		return ""
	}
	return fmt.Sprintf("%d.%d", p.Time.UnixMicro(), p.ID)
}

// ParseEventPlace reads a place of [EventPlace.String]. The empty text is the zero value.
func ParseEventPlace(text string) (p EventPlace, err error) {
	if text == "" {
		return p, nil
	}
	at, id, _ := strings.Cut(text, ".")
	micros, err := strconv.ParseInt(at, 10, 64)
	if err == nil {
		p.ID, err = strconv.ParseInt(id, 10, 64)
	}
	p.Time = time.UnixMicro(micros).UTC()
	if err == nil && (p.ID < 0 || p.before(earliest) || latest.before(p)) {
		err = errors.New("it is not the place of an event")
	}
	if err != nil {
		return EventPlace{}, invalid("read the place of an event", fmt.Errorf("%w: %w", ErrInvalid, err))
	}
	return p, nil
}

func (p EventPlace) before(other EventPlace) bool { return p.compare(other) < 0 }

// compare orders places by time, and by id for equal times.
func (p EventPlace) compare(other EventPlace) int {
	return cmp.Or(p.Time.Compare(other.Time), cmp.Compare(p.ID, other.ID))
}

// All events are between earliest and latest: JSON has the years 0 to 9999, in any time zone.
var (
	earliest = EventPlace{Time: time.Date(-1, 1, 1, 0, 0, 0, 0, time.UTC)}
	latest   = EventPlace{Time: time.Date(10_001, 1, 1, 0, 0, 0, 0, time.UTC)}
)

// within returns the nearest place from earliest to latest.
func within(p EventPlace) EventPlace {
	return slices.MinFunc([]EventPlace{latest,
		slices.MaxFunc([]EventPlace{earliest, p}, EventPlace.compare)}, EventPlace.compare)
}

// EventPage selects a part of a search.
type EventPage struct {
	After EventPlace // the place that the page before has returned; zero for the first page
	Limit int        // the maximum number of events; 0 is 100, and more than 1,000 are 1,000
}

// searching is the maximum number of entries of indexes that a page of a search reads. Each entry
// may be an intent, whose outcome is one entry more.
const searching = 4_000

// SearchEvents returns a page of the events of a filter, newest first by time, and the place after
// which the next page begins. That place is zero if no event follows.
//
// A page reads a limited number of events. It may have fewer events than its limit, and even none,
// although more follow: continue until the place is zero. By one field or none, a page has fewer
// only if it leaves out intents, or if it searches for them.
//
// An intent is left out if the store has its outcome, unless the filter names the request. So
// each call appears once: with its outcome, or with an intent that has none.
func (s *Store) SearchEvents(ctx context.Context, f EventFilter, page EventPage) (
	found []Recorded, next EventPlace, err error) {
	limit := Page[int64]{Limit: page.Limit}.limit()
	err = s.engine.searching(ctx, s.prepared, func(db querier) error {
		found, next, err = s.search(ctx, db, f, page.After, limit)
		return err
	})
	if err != nil {
		return nil, EventPlace{}, s.engine.explain(ctx, "search audit events", err)
	}
	return found, next, nil
}

func (s *Store) search(ctx context.Context, db querier, f EventFilter, after EventPlace,
	limit int) (found []Recorded, next EventPlace, err error) {
	if f.impossible() {
		return nil, next, nil
	}
	in := f.window()
	if after != (EventPlace{}) && after.before(in.until) {
		in.until = after
	}
	by, rest, err := s.choose(ctx, db, f, &in)
	if err != nil {
		return nil, next, err
	}
	// Each word is read up to the limit.
	limit = min(limit, max(s.searching/max(len(by.words), 1)-1, 1))
	at := make([]EventPlace, 0, limit+1)
	found, err = all(ctx, db, by.read(s.engine, `id, at, event`, in, f.conditions(rest), limit+1),
		func(row scanner) (r Recorded, err error) {
			var event string
			var place EventPlace
			if err := row.Scan(&r.ID, moment{&place.Time}, &event); err != nil {
				return r, err
			}
			place.ID = r.ID
			at = append(at, place)
			return r, json.Unmarshal([]byte(event), &r.Event)
		})
	switch {
	case err != nil:
		return nil, next, err
	case len(found) > limit:
		return found[:limit], at[limit-1], nil
	case in.short:
		return found, in.from, nil
	}
	return found, next, nil
}

// window is the part of the trail that a statement reads: from is included, until is not.
type window struct {
	from, until EventPlace
	short       bool // earlier events of the search follow
}

func (f EventFilter) window() window {
	in := window{from: earliest, until: latest}
	if !f.From.IsZero() {
		in.from = within(EventPlace{Time: f.From})
	}
	if !f.Until.IsZero() {
		in.until = within(EventPlace{Time: f.Until})
	}
	return in
}

// field is a field of a filter: an indexed column and the words that it may have. Without a column
// it selects all events.
type field struct {
	column  string
	words   []any
	partial bool // the index has no entries for an empty text
}

// fields returns the fields of a filter that select something.
func (f EventFilter) fields() (all []field) {
	for _, one := range []field{
		{"request_id", texts(f.RequestID), false}, {"client", texts(f.Client), true},
		{"tool", texts(f.Tool), true}, {"principal", texts(f.Principal), true},
		{"type", texts(f.Type.Words()...), false},
	} {
		if len(one.words) > 0 {
			all = append(all, one)
		}
	}
	if f.Status != "" || f.Failure != "" {
		all = append(all, field{"status", texts(f.Status.Words(f.Failure)...), false})
	}
	return all
}

// impossible reports whether no event has the status and the failure.
func (f EventFilter) impossible() bool {
	return (f.Status != "" || f.Failure != "") && len(f.Status.Words(f.Failure)) == 0
}

// texts returns the search keys of all texts that are not empty.
func texts(all ...string) (keys []any) {
	for _, text := range all {
		if text != "" {
			keys = append(keys, findable(text))
		}
	}
	return keys
}

// choose returns the field by whose index a page is read, and the others. It narrows the window to
// the number of entries that the page may read. It chooses the field whose entries reach back
// farthest.
func (s *Store) choose(ctx context.Context, db querier, f EventFilter, in *window) (
	by field, rest []field, err error) {
	all := f.fields()
	if len(all) < 2 && (f.RequestID != "" || !f.intents()) {
		if len(all) == 1 {
			by = all[0]
		}
		return by, nil, nil // each entry is a result
	}
	entries := s.searching / (len(all) + 1)
	if len(all) < 2 {
		entries = s.searching / 4 // nearly all are results
	}
	if len(all) == 0 {
		all = []field{{}}
	}
	chosen, end := 0, EventPlace{}
	for i, one := range all {
		last, short, err := one.nth(ctx, s.engine, db, *in, entries)
		if err != nil {
			return by, nil, err
		}
		if !short {
			return one, slices.Delete(all, i, i+1), nil
		}
		if i == 0 || last.before(end) {
			chosen, end = i, last
		}
	}
	in.from, in.short = end, true
	by = all[chosen]
	return by, slices.Delete(all, chosen, chosen+1), nil
}

// nth returns a place from which the window has at most n events of a field, and whether there may
// be more before it.
func (b field) nth(ctx context.Context, e *engine, db querier, in window, n int) (
	at EventPlace, short bool, err error) {
	n = max(n/max(len(b.words), 1), 1)
	places, err := all(ctx, db, b.union(`id, at`, func(q *statement, word any) *statement {
		return b.part(e, q, word, `id, at`, in, none).and(`LIMIT 1 OFFSET ?`, n-1)
	}), func(row scanner) (p EventPlace, err error) { return p, row.Scan(&p.ID, moment{&p.Time}) })
	if err != nil || len(places) == 0 {
		return at, false, err
	}
	return slices.MaxFunc(places, EventPlace.compare), true, nil
}

// intents reports whether a filter selects intents.
func (f EventFilter) intents() bool {
	return f.Status == "" && f.Failure == "" ||
		slices.Contains(f.Status.Words(f.Failure), string(audit.Intent))
}

// none adds no condition.
func none(q *statement) *statement { return q }

// among adds conditions for fields of a filter. The columns are expressions, so that no other
// index is used than the one that was chosen.
func among(fields []field) func(*statement) *statement {
	return func(q *statement) *statement {
		for _, one := range fields {
			if one.column != "" {
				anyOf(q.and(`AND `+one.column+` || ''`), one.words)
			}
		}
		return q
	}
}

// conditions adds the fields of a search, and leaves out intents with an outcome.
func (f EventFilter) conditions(fields []field) func(*statement) *statement {
	if f.RequestID != "" || !f.intents() {
		return among(fields)
	}
	return func(q *statement) *statement {
		return among(fields)(q).and(`AND (status || '' <> ? OR (SELECT 1 FROM audit_events AS o
			WHERE o.request_id = audit_events.request_id AND o.type || '' = audit_events.type
				AND o.status || '' <> ? LIMIT 1) IS NULL)`,
			string(audit.Intent), string(audit.Intent))
	}
}

// part appends a query for the events of a word and a window, newest first. The order is that of
// one index, and of no other one. The caller adds the limit.
func (b field) part(e *engine, q *statement, word any, columns string, in window,
	where func(*statement) *statement) *statement {
	key, mark, order := `(at, id)`, `(?, ?)`, `at DESC, id DESC`
	from := []any{e.moment(in.from.Time.UTC()), in.from.ID}
	until := []any{e.moment(in.until.Time.UTC()), in.until.ID}
	if b.column != "" {
		key, mark, order = `(`+b.column+`, at, id)`, `(?, ?, ?)`, b.column+` DESC, `+order
		from, until = slices.Insert(from, 0, word), slices.Insert(until, 0, word)
	}
	q.and(`SELECT `+columns+` FROM audit_events WHERE `+key+` >= `+mark, from...).
		and(`AND `+key+` < `+mark, until...)
	if b.partial {
		q.and(`AND ` + b.column + ` <> ''`) // the condition of the index
	}
	return where(q).and(`ORDER BY ` + order)
}

// union returns a statement with a query for each word of a field.
func (b field) union(columns string, query func(q *statement, word any) *statement) *statement {
	switch {
	case b.column == "":
		return query(stmt(``), nil)
	case len(b.words) == 1:
		return query(stmt(``), b.words[0])
	}
	q := stmt(`SELECT ` + columns + ` FROM (`)
	for i, word := range b.words {
		if i > 0 {
			q.and(`UNION ALL`)
		}
		query(q.and(`SELECT * FROM (`), word).and(`) AS one`)
	}
	return q.and(`) AS words`)
}

// read returns a statement for the first events of a window, newest first.
func (b field) read(e *engine, columns string, in window, where func(*statement) *statement,
	limit int) *statement {
	q := b.union(columns, func(q *statement, word any) *statement {
		return b.part(e, q, word, columns, in, where).and(`LIMIT ?`, limit)
	})
	if len(b.words) > 1 {
		q.and(`ORDER BY at DESC, id DESC LIMIT ?`, limit)
	}
	return q
}

func readEvent(row scanner) (r Recorded, err error) {
	var event string
	if err := row.Scan(&r.ID, &event); err != nil {
		return r, err
	}
	return r, json.Unmarshal([]byte(event), &r.Event)
}

// texts calls yield with each record of a statement.
func (s *Store) texts(ctx context.Context, q *statement,
	yield func(string) (more bool, err error)) error {
	rows, err := s.reads.QueryContext(ctx, q.text.String(), q.args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			return err
		}
		if more, err := yield(text); err != nil || !more {
			return err
		}
	}
	return rows.Err()
}

// recent is the number of records that LastEvent reads.
const recent = 10_000

// LastEvent returns the text of the newest chained record of a replica, with which its next chain
// begins. It returns nil if none of the newest ten thousand records is one.
func (s *Store) LastEvent(ctx context.Context, replica string) (last []byte, err error) {
	err = s.texts(ctx, stmt(`SELECT event FROM audit_events ORDER BY id DESC LIMIT ?`, recent),
		func(text string) (bool, error) {
			link, _, err := placeOf(text)
			if err == nil && link != nil && strings.HasPrefix(link.ID, replica+".") {
				last = []byte(text)
			}
			return last == nil, err
		})
	if err != nil {
		return nil, s.engine.explain(ctx, "read the last audit event", err)
	}
	return last, nil
}

const (
	// exportRows and exportBytes limit one read of an export. The last record may exceed the bytes.
	exportRows  = 1_000
	exportBytes = 1 << 20
	// exportWrite is the size of one write, and so of the reader's time limit.
	exportWrite = 64 << 10
	// settled is a number of newer records after which all writers of a record have ended. An
	// export lists the ids of the newer ones at its start.
	settled = 10_000
)

var errPruned = errors.New(
	"the oldest records are being deleted, so the export has a gap: export again afterwards")

// ExportEvents writes the events of a filter as lines of JSON, in the order of their ids, from
// one snapshot, and returns their number. All events of a trail verify as the output of a chain's
// sink. A part of them has gaps.
//
// ExportEvents reads a megabyte or a thousand events at a time, and holds no connection to the
// database during writes to w. If records that are still to be written are pruned meanwhile, it
// returns an error, and the output is not complete.
func (s *Store) ExportEvents(ctx context.Context, w io.Writer, f EventFilter) (int64, error) {
	n, err := s.exportEvents(ctx, w, f)
	if err != nil {
		return n, s.engine.explain(ctx, "export audit events", err)
	}
	return n, nil
}

func (s *Store) exportEvents(ctx context.Context, w io.Writer, f EventFilter) (n int64, err error) {
	// Read the oldest record first, to detect its deletion later.
	var oldest int64
	if err := stmt(`SELECT coalesce(min(id), 0) FROM audit_events`).row(ctx, s.reads).Scan(
		&oldest); err != nil || oldest == 0 {
		return 0, err
	}
	m, err := s.recordsNow(ctx)
	if err != nil {
		return 0, err
	}
	found, err := s.find(ctx, f, m)
	if err != nil {
		return 0, err
	}
	for p := (part{more: true}); p.more; {
		if p, err = s.exportPart(ctx, found, m, p.last); err != nil {
			return n, err
		}
		// Records are deleted from the oldest on: if this one exists, all newer ones do.
		if err := s.checkPresent(ctx, oldest); err != nil {
			return n, err
		}
		if p.last > 0 {
			oldest = p.last
		}
		n += p.rows
		for out := range slices.Chunk(p.text.Bytes(), exportWrite) {
			if _, err := w.Write(out); err != nil {
				return n, err
			}
		}
	}
	return n, nil
}

// checkPresent returns an error if a record was deleted.
func (s *Store) checkPresent(ctx context.Context, id int64) error {
	var there int64
	err := stmt(`SELECT id FROM audit_events WHERE id = ?`, id).row(ctx, s.reads).Scan(&there)
	if errors.Is(err, sql.ErrNoRows) {
		return errPruned
	}
	return err
}

// recordsAt are the records at one moment: all below from, and the noted ones. A transaction that
// was open then may commit an id between theirs, because PostgreSQL assigns ids at the insert.
type recordsAt struct {
	from, upto int64
	noted      map[int64]bool
}

func (m recordsAt) has(id int64) bool { return id < m.from || m.noted[id] }

func (s *Store) recordsNow(ctx context.Context) (recordsAt, error) {
	newest, err := all(ctx, s.reads, stmt(`SELECT id FROM audit_events ORDER BY id DESC LIMIT ?`,
		settled), readID)
	if err != nil || len(newest) == 0 {
		return recordsAt{}, err
	}
	m := recordsAt{newest[len(newest)-1], newest[0], make(map[int64]bool, len(newest))}
	for _, id := range newest {
		m.noted[id] = true
	}
	return m, nil
}

// sorting is the maximum number of entries of an index that an export sorts.
const sorting = 100_000

// finding is how an export finds its records in the order of their ids: by a list of them, or by a
// condition on those of a range.
type finding struct {
	listed     bool
	ids        []int64
	from, upto int64 // both included
	where      func(*statement) *statement
}

// find looks for a field of the filter with few events. Without one, it reads all records of the
// window once.
func (s *Store) find(ctx context.Context, f EventFilter, m recordsAt) (found finding, err error) {
	found = finding{upto: m.upto, where: none}
	if f == (EventFilter{}) || f.impossible() {
		found.listed = f.impossible()
		return found, nil
	}
	in, fields, timed := f.window(), f.fields(), !f.From.IsZero() || !f.Until.IsZero()
	if timed {
		fields = append(fields, field{})
	}
	err = s.engine.searching(ctx, s.prepared, func(db querier) error {
		for i, by := range fields {
			_, many, err := by.nth(ctx, s.engine, db, in, s.sorting)
			if many || err != nil {
				if err != nil {
					return err
				}
				continue
			}
			rest := slices.Delete(slices.Clone(fields), i, i+1)
			found.listed = true
			found.ids, err = all(ctx, db, by.read(s.engine, `id, at`, in, among(rest), s.sorting),
				func(row scanner) (id int64, err error) {
					var at time.Time
					return id, row.Scan(&id, moment{&at})
				})
			slices.Sort(found.ids)
			return err
		}
		from, until := s.engine.moment(in.from.Time.UTC()), s.engine.moment(in.until.Time.UTC())
		found.where = func(q *statement) *statement {
			return among(fields)(q).and(`AND coalesce(at, at) >= ? AND coalesce(at, at) < ?`, from,
				until)
		}
		if !timed {
			return nil
		}
		return stmt(`SELECT coalesce(min(id + 0), 0), coalesce(max(id + 0), 0) FROM audit_events
			WHERE at >= ? AND at < ?`, from, until).row(ctx, db).Scan(&found.from, &found.upto)
	})
	found.upto = min(found.upto, m.upto)
	return found, err
}

// after returns a statement for the next records after an id.
func (f finding) after(id int64) *statement {
	if !f.listed {
		return f.where(stmt(`SELECT id, event FROM audit_events WHERE id >= ? AND id <= ?`,
			max(id+1, f.from), f.upto)).and(`ORDER BY id LIMIT ?`, exportRows)
	}
	i, _ := slices.BinarySearch(f.ids, id+1)
	ids := f.ids[i:min(i+exportRows, len(f.ids))]
	if len(ids) == 0 {
		return stmt(`SELECT id, event FROM audit_events WHERE false`)
	}
	return anyOf(stmt(`SELECT id, event FROM audit_events WHERE id`), ids).and(`ORDER BY id`)
}

// part is a piece of an export.
type part struct {
	text bytes.Buffer
	rows int64
	last int64 // id of the last record
	more bool  // there may be more
}

// exportPart reads the records after an id.
func (s *Store) exportPart(ctx context.Context, found finding, m recordsAt, after int64) (
	p part, err error) {
	p.last = after
	err = s.engine.searching(ctx, s.reads, func(db querier) error {
		q := found.after(after)
		rows, err := db.QueryContext(ctx, q.text.String(), q.args...)
		if err != nil {
			return err
		}
		defer rows.Close()
		for read := 0; rows.Next(); {
			var event string
			if err := rows.Scan(&p.last, &event); err != nil {
				return err
			}
			if m.has(p.last) {
				p.text.WriteString(event)
				p.text.WriteByte('\n')
				p.rows++
			}
			if read++; read == exportRows || p.text.Len() >= exportBytes {
				p.more = true
				return rows.Close()
			}
		}
		return rows.Err()
	})
	return p, err
}
