package django_test

import (
	"context"
	"database/sql"
	"fmt"
	"log"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/capability/dialect"
	"github.com/mcpgen/mcpgen/runtime/capability/django"
)

func ExampleNew() {
	// import _ "github.com/jackc/pgx/v5/stdlib"
	db, err := sql.Open("pgx", "host=/run/postgresql dbname=shop user=mcp_reader")
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	// AUTH_USER_MODEL = "accounts.Member", whose USERNAME_FIELD is "email"
	source, err := django.New(db, dialect.PostgreSQL, django.Options{UserModel: "accounts.Member", Username: "email"})
	if err != nil {
		log.Fatal(err)
	}
	set, err := source.Capabilities(context.Background(), access.Principal{User: "ada@example.com"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(set.Has("shop.change_order"))
}
