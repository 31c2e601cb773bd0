package emit

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/mcpgen/mcpgen/sourcehash"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestGeneratedFilesAreAsWrittenDown compares each service's files with testdata and then
// builds, vets and tests them in a module of their own.
func TestGeneratedFilesAreAsWrittenDown(t *testing.T) {
	scratch := newScratch(t)
	for _, tc := range testCases() {
		golden := filepath.Join("testdata", tc.name)
		dir := filepath.Join(scratch, tc.name)
		copySources(t, golden, dir)
		tc.service.Dir = dir
		tc.service.CompileGuards = compileGuards(t, scratch, tc.service.Package, tc.facts,
			tokens(tc.service)...)
		hash, err := sourcehash.Hash(dir, tc.service.HashInputs.Decls)
		if err != nil {
			t.Fatal(err)
		}
		files, err := Files(tc.service, Present{Hash: hash})
		if err != nil {
			t.Errorf("%s: %v", tc.name, err)
			continue
		}
		for _, file := range files {
			write(t, file.Path, file.Content)
			path := filepath.Join(golden, filepath.Base(file.Path))
			if *update {
				write(t, path, file.Content)
				continue
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Errorf("%v: run go test -update", err)
				continue
			}
			if !bytes.Equal(file.Content, want) {
				t.Errorf("%s differs from what is written down; look at git diff after go test -update", path)
			}
		}
	}
	for _, command := range []string{"vet", "test"} {
		if out, err := goCommand(t, scratch, command, "./..."); err != nil {
			t.Errorf("go %s: %v\n%s", command, err, out)
		}
	}
}
