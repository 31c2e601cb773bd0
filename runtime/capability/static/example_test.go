package static_test

import (
	"context"
	"fmt"
	"log"
	"testing/fstest"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/capability/static"
)

func ExampleOpenFS() {
	files := fstest.MapFS{"permissions.yaml": {Data: []byte(`
groups:
  readers:
    permissions: [dcim.view_device]
users:
  ada:
    groups: [readers]
    constrained:
      dcim.change_device:
        - {site: ams}
`)}}
	source, err := static.OpenFS(files, "permissions.yaml")
	if err != nil {
		log.Fatal(err)
	}
	ada := access.Principal{User: "ada"}
	set, err := source.Capabilities(context.Background(), ada)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(set.Has("dcim.view_device"))
	constraints, _ := set.Constraints("dcim.change_device")
	fmt.Printf("%s\n", constraints)

	files["permissions.yaml"].Data = []byte("users: {ada: {superusr: true}}")
	fmt.Println(source.Reload())
	// Output:
	// true
	// [{"site":"ams"}]
	// permissions.yaml:1: /users/ada/superusr: is not a known key: use permissions, constrained, exempt, groups, active, superuser
}
