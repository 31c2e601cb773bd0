// Package scaletest writes modules of many annotated packages, for tests and measurements of the
// generator at scale. No package may import it; tests are left aside.
package scaletest

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
)

// Module is the path of each module that Write makes.
const Module = "example.com/scale"

var moduleLine = regexp.MustCompile(`(?m)^module (\S+)$`)

// Name is the name and the directory of a package.
func Name(i int) string { return fmt.Sprintf("p%03d", i) }

// Write makes a module in dir with a number of packages that have the same number of tools.
// The module uses the checkout of this repository in root, and may import what root may import.
func Write(dir, root string, packages, tools int) error {
	for _, name := range []string{"go.mod", "go.sum"} {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			return err
		}
		if name == "go.mod" {
			own := moduleLine.FindSubmatch(text)[1]
			text = moduleLine.ReplaceAll(text, []byte("module "+Module))
			text = fmt.Appendf(text, "\nrequire %s v0.0.0\n\nreplace %s => %s\n", own, own,
				strconv.Quote(root))
		}
		if err := write(filepath.Join(dir, name), text); err != nil {
			return err
		}
	}
	for i := range packages {
		name := Name(i)
		if err := write(filepath.Join(dir, name, name+".go"), Package(name, tools, 0)); err != nil {
			return err
		}
	}
	return nil
}

func write(path string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	return os.WriteFile(path, content, 0o666)
}

// Package is the source of a package of tools, as services have it: an enum, shared types, and an
// input and an output type for each tool. Each edit changes a description.
func Package(name string, tools, edit int) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, `// Package %s is one of many.
//
//mcp:server name=%[1]s
package %[1]s

import (
	"context"
	"time"
)

// Kind is one of few.
type Kind string

// The kinds.
const (
	Small Kind = "small"
	Large Kind = "large"
)

// Address is part of many inputs, edited for the %[2]dth time.
type Address struct {
	// Street and number, %[2]d.
	Street string `+"`json:\"street\" jsonschema:\"minLength=1,maxLength=80\"`"+`
	City   string `+"`json:\"city\"`"+`
}
`, name, edit)
	for i := range tools {
		fmt.Fprintf(&b, `
// Order%[1]d is an input.
type Order%[1]d struct {
	// Name of the customer.
	Name  string   `+"`json:\"name\" jsonschema:\"minLength=1,maxLength=80\"`"+`
	Kind  Kind     `+"`json:\"kind\"`"+`
	Count int      `+"`json:\"count,omitempty\" jsonschema:\"minimum=1,maximum=%[2]d\"`"+`
	Note  *string  `+"`json:\"note,omitempty\"`"+`
	// To is the place of delivery.
	To    Address  `+"`json:\"to\"`"+`
	Tags  []string `+"`json:\"tags,omitempty\"`"+`
}

// Receipt%[1]d is an output.
type Receipt%[1]d struct {
	Names []string  `+"`json:\"names\"`"+`
	At    time.Time `+"`json:\"at\"`"+`
	Next  *Address  `+"`json:\"next,omitempty\"`"+`
}

// Book%[1]d books an order and returns its receipt.
//
//mcp:tool minrole=Member
func Book%[1]d(ctx context.Context, in Order%[1]d) (Receipt%[1]d, error) {
	return Receipt%[1]d{Names: []string{in.Name}, At: time.Now(), Next: &in.To}, nil
}
`, i, 9+i)
	}
	return b.Bytes()
}
