// Package drivers registers the drivers of the databases that internal/testdb opens.
package drivers

import (
	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
	_ "modernc.org/sqlite"             // the driver "sqlite", in Go alone
)
