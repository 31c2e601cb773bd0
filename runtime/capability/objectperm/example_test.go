package objectperm_test

import (
	"context"
	"database/sql"
	"fmt"
	"log"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/capability/dialect"
	"github.com/mcpgen/mcpgen/runtime/capability/objectperm"
)

func ExampleNew() {
	// import _ "github.com/jackc/pgx/v5/stdlib"
	db, err := sql.Open("pgx", "host=/run/postgresql dbname=netbox user=mcp_reader")
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	// EXEMPT_VIEW_PERMISSIONS = ["dcim.site"]
	source, err := objectperm.New(db, dialect.PostgreSQL, objectperm.NetBox(), objectperm.Options{ExemptView: []string{"dcim.site"}})
	if err != nil {
		log.Fatal(err)
	}
	set, err := source.Capabilities(context.Background(), access.Principal{User: "ada"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(set.Unrestricted("dcim.site", "view"), set.Has("dcim.napalm_read_device"))
}
