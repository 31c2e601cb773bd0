package codecapabilities

import (
	"database/sql"
	"database/sql/driver"
	"os"
)

type files struct{}

func (files) Open(name string) (driver.Conn, error) { _, err := os.Open(name); return nil, err }

func init() { sql.Register("files", files{}) }

// want files network
func Queries(db *sql.DB) { db.Query("SELECT 1") }
