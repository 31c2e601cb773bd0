package testdb

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
)

// ErrLost is the error of a database that a [Probe] cuts off.
var ErrLost = errors.New("testdb: the connection was lost")

// Probe is a proxy of a database. It counts queries, and cuts results short.
type Probe struct {
	*sql.DB

	rows atomic.Int64 // that are still let through; negative is all

	mu      sync.Mutex
	queries []Query
}

// Query is a query with the values of its parameters.
type Query struct {
	Text string
	Args []any
}

// Probe opens the database once more, through a probe.
func (d *Database) Probe(t testing.TB) *Probe {
	t.Helper()
	p := &Probe{}
	p.rows.Store(-1)
	p.DB = sql.OpenDB(&connector{probe: p, dsn: d.DSN, driver: d.DB.Driver()})
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// Queries returns how many queries have reached the database.
func (p *Probe) Queries() int { return len(p.Recorded()) }

// Recorded returns the queries that have reached the database, in order.
func (p *Probe) Recorded() []Query {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.queries)
}

// CutAfter lets n more rows through, over all queries, and then fails with [ErrLost].
func (p *Probe) CutAfter(n int) { p.rows.Store(int64(n)) }

// CutAtEachRow calls run with the connection lost after 0 rows, 1 row and so on, until run
// succeeds, and returns the error of each call. It fails the test if run still fails after 1,000
// rows.
func (p *Probe) CutAtEachRow(t testing.TB, run func() error) []error {
	t.Helper()
	var failures []error
	for n := range 1000 {
		p.CutAfter(n)
		err := run()
		if err == nil {
			return failures
		}
		failures = append(failures, err)
	}
	t.Fatal("fails with the connection lost after each of 1,000 rows")
	return nil
}

func (p *Probe) record(query string, args []driver.NamedValue) {
	q := Query{Text: query}
	for _, arg := range args {
		q.Args = append(q.Args, arg.Value)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.queries = append(p.queries, q)
}

type connector struct {
	probe  *Probe
	dsn    string
	driver driver.Driver
}

func (c *connector) Driver() driver.Driver { return c.driver }

func (c *connector) Connect(context.Context) (driver.Conn, error) {
	opened, err := c.driver.Open(c.dsn)
	if err != nil {
		return nil, err
	}
	return &conn{Conn: opened, probe: c.probe}, nil
}

// conn hides all of a connection but the counted methods: the driver's other methods are left to
// database/sql, which makes do without.
type conn struct {
	driver.Conn
	probe *Probe
}

func (c *conn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (
	driver.Rows, error) {
	c.probe.record(query, args)
	found, err := c.Conn.(driver.QueryerContext).QueryContext(ctx, query, args)
	if err != nil {
		return nil, err
	}
	return &rows{Rows: found, probe: c.probe}, nil
}

type rows struct {
	driver.Rows
	probe *Probe
}

func (r *rows) Next(dest []driver.Value) error {
	switch left := r.probe.rows.Load(); {
	case left == 0:
		return ErrLost
	case left > 0:
		r.probe.rows.Add(-1)
	}
	return r.Rows.Next(dest)
}
