package postgres

import (
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// unreached is a failed connection, described in one line.
type unreached struct {
	text string
	error
}

func (e unreached) Error() string { return e.text }

func (e unreached) Unwrap() error { return e.error }

// reached describes why no connection was made, and the cure. The driver tries each
// address of each host, with TLS and then without, unless sslmode forbids one of these. The text
// has each error once. Refusals of TLS count only if there is no other error, and a response of
// the server decides the cure. Errors of another kind are returned unchanged.
func reached(err error) error {
	var failed *pgconn.ConnectError
	if !errors.As(err, &failed) {
		return err
	}
	const noTLS = "server refused TLS connection"
	var met []string
	for line := range strings.Lines(failed.Unwrap().Error()) {
		line = strings.TrimSpace(line)
		if !strings.HasSuffix(line, noTLS) && !strings.Contains(strings.Join(met, "\n"), line) {
			met = append(met, line)
		}
	}
	cure := "check that the server is running and reachable; host and port are from the URL, or " +
		"from PGHOST and PGPORT"
	var serverError *pgconn.PgError
	switch found := errors.As(err, &serverError); {
	case len(met) == 0:
		met, cure = []string{noTLS}, "set sslmode=disable in the URL if you trust the network, or "+
			"enable TLS on the server"
	// invalid_password, invalid_authorization_specification
	case found && (serverError.Code == "28P01" || serverError.Code == "28000"):
		cure = "put the role's password into PGPASSWORD or ~/.pgpass, and check the role, " +
			"pg_hba.conf and sslmode in the URL"
	case found && serverError.Code == "3D000": // invalid_catalog_name
		cure = "create it with CREATE DATABASE"
	case found:
		cure = "the server returned this error"
	}
	config := failed.Config
	return unreached{fmt.Sprintf("cannot connect to PostgreSQL at %s:%d as %q, database %q: %s; %s",
		config.Host, config.Port, config.User, config.Database, strings.Join(met, "; "), cure), err}
}
