package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
)

//go:embed migrations/postgres/*.sql
var postgresMigrations embed.FS

const (
	// connections is how many a store opens for statements; one more for each follower of changes.
	connections = 10
	// changing is how many changes have one at once: while they wait for each other, there are
	// others for what is read and for the audit trail.
	changing = 4
	// contended is how long a change waits for one of another process: less than a server waits for
	// its audit trail (runtime.DefaultAuditTimeout).
	contended = 3 * time.Second
	// connecting is how long one may take to open, where the URL has no connect_timeout.
	connecting = 10 * time.Second
)

// channel is where a store's changes are announced: channels belong to a database, and a store to
// one schema of it.
const channel = `'mcpgen_' || md5(current_schema())`

func postgresEngine(url string) (*engine, error) {
	config, err := pgx.ParseConfig(url)
	if err != nil {
		// What the parser says repeats the URL, and its password with it where that is what it
		// cannot read.
		return nil, wrong("store: the URL cannot be read: write postgres://USER:PASSWORD@HOST:PORT/DATABASE?OPTION=VALUE with special characters percent-encoded")
	}
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = connecting
	}
	place := "public" // the schema, once it is known
	migrations, err := fs.Sub(postgresMigrations, "migrations/postgres")
	if err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	return &engine{
		name: "PostgreSQL", dialect: goose.DialectPostgres, migrations: migrations,
		forUpdate: "FOR UPDATE", changes: changing,
		open: func(context.Context) (*sql.DB, *sql.DB, error) {
			db := stdlib.OpenDB(*config)
			db.SetMaxOpenConns(connections)
			db.SetMaxIdleConns(connections)
			db.SetConnMaxIdleTime(5 * time.Minute)
			return db, db, nil
		},
		connect: func(ctx context.Context) (driver.Conn, error) {
			c, err := stdlib.GetConnector(*config).Connect(ctx)
			if err != nil {
				return nil, fmt.Errorf("store: %w", postgresUnreached(err))
			}
			return c, nil
		},
		begin: func(ctx context.Context, c driver.Conn) error {
			if err := execute(ctx, c, "BEGIN"); err != nil {
				return err
			}
			schema, err := text(ctx, c, `SELECT coalesce(current_schema(), '')`)
			if err != nil {
				return err
			}
			if schema == "" {
				return postgresNoSchema(ctx, c)
			}
			place = schema
			// Held until the transaction ends, or the connection does.
			if err := execute(ctx, c,
				`SELECT pg_advisory_xact_lock(hashtextextended('mcpgen store ' || current_schema(), 0))`); err != nil {
				return fmt.Errorf("wait for the migration lock: %w", err)
			}
			return nil
		},
		moment: func(t time.Time) any { return t },
		fault:  postgresFault,
		insert: postgresInsert,
		cured: func(err error) error {
			if postgresFault(err) == forbidden {
				return fmt.Errorf("%w; to serve, the role needs: %s", err,
					postgresGrants(place, config.User))
			}
			if postgresFault(err) == blocked {
				return fmt.Errorf("another change to the database has been running for %s: try again; if "+
					"this persists, find it in pg_stat_activity: %w", contended, err)
			}
			return postgresUnreached(err)
		},
		serves:   postgresServes,
		writable: postgresWritable,
		hurry: func(ctx context.Context, tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, fmt.Sprintf(`SET LOCAL lock_timeout = %d`,
				contended.Milliseconds()))
			return err
		},
		announce: func(ctx context.Context, tx *sql.Tx, payload string) error {
			_, err := tx.ExecContext(ctx, `SELECT pg_notify(`+channel+`, $1)`, payload)
			return err
		},
		listen: func(ctx context.Context, box *mailbox, every time.Duration) error {
			return postgresListen(ctx, config, box, every)
		},
	}, nil
}

// postgresListen tells a mailbox of changes until the connection or ctx ends. Every so often,
// whatever is heard meanwhile, it looks at the revision: a connection that is dead without knowing
// ends by that, and a change that was not heard of, as behind a pooler that drops notifications, is
// noticed.
func postgresListen(ctx context.Context, config *pgx.ConnConfig, box *mailbox,
	every time.Duration) error {
	conn, err := pgx.ConnectConfig(ctx, config.Copy())
	if err != nil {
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		conn.Close(ctx) // what there was to lose is announced again by the next connection
	}()
	var name string
	if err := conn.QueryRow(ctx, "SELECT "+channel).Scan(&name); err != nil {
		return err
	}
	if _, err := conn.Exec(ctx, "LISTEN "+pgx.Identifier{name}.Sanitize()); err != nil {
		return err
	}
	revision := func() (at int64, err error) {
		ctx, cancel := context.WithTimeout(ctx, connecting)
		defer cancel()
		err = conn.QueryRow(ctx, revisionQuery).Scan(&at)
		return at, err
	}
	at, err := revision()
	if err != nil {
		return err
	}
	box.everything(at)
	for look := time.Now().Add(every); ; {
		waiting, cancel := context.WithDeadline(ctx, look)
		notification, err := conn.WaitForNotification(waiting)
		quiet := waiting.Err() != nil
		cancel()
		if err != nil && (!quiet || ctx.Err() != nil) {
			return err
		}
		if at, err = revision(); err != nil {
			return err
		}
		if notification != nil {
			box.receive(notification.Payload, at)
		}
		if !time.Now().Before(look) {
			box.saw(at)
			look = time.Now().Add(every)
		}
	}
}

// postgresFault reads an error by its SQLSTATE (PostgreSQL documentation, appendix A).
func postgresFault(err error) fault {
	var e *pgconn.PgError
	if errors.Is(err, errReadOnly) {
		return unwritable
	}
	if !errors.As(err, &e) {
		return other
	}
	switch e.Code {
	case "23505": // unique_violation
		return taken
	case "23503": // foreign_key_violation
		return orphan
	case "40001", "40P01": // serialization_failure, deadlock_detected
		return again
	case "55P03": // lock_not_available
		return blocked
	case "23514": // check_violation
		return unfit
	case "42P07": // duplicate_table
		return occupied
	case "42501": // insufficient_privilege
		return forbidden
	case "25006", "53100": // read_only_sql_transaction, disk_full
		return unwritable
	}
	switch e.Code[:min(2, len(e.Code))] {
	case "22", "54": // data exception, program limit exceeded
		return unfit
	}
	return other
}

// postgresWritable refuses a standby, and a session that may only read.
func postgresWritable(ctx context.Context, db *sql.DB) error {
	var readOnly string
	err := db.QueryRowContext(ctx, "SHOW transaction_read_only").Scan(&readOnly)
	if err == nil && readOnly != "off" {
		err = errReadOnly
	}
	return err
}

var errReadOnly = errors.New("transaction_read_only is on: " +
	"name the primary server in the URL, with target_session_attrs=read-write, or set default_transaction_read_only to off")
