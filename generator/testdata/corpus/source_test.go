package corpus

import (
	"context"
	"go/types"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/invopop/jsonschema"

	"github.com/mcpgen/mcpgen/generator/internal/load"
	"github.com/mcpgen/mcpgen/generator/internal/schema"
)

// source is the corpus as mcpgen loads it: this module from source, the others from export data.
type source struct {
	*load.Program
	pkg *types.Package // the corpus itself
	// named are the types that JSON can see.
	named []*types.TypeName
	// comments is the Reflector's CommentMap of their packages.
	comments map[string]string
}

var loaded = sync.OnceValues(func() (source, error) {
	prog, err := load.Load(context.Background(), load.Options{})
	if err != nil {
		return source{}, err
	}
	s := source{Program: prog, pkg: prog.Roots[0].Types}
	walker := schema.New(s.pkg, nil)
	for _, p := range s.pairs() {
		walker.Output(p.static)
	}
	s.named = walker.Named()
	files := map[string][]string{}
	for _, name := range s.named {
		files[name.Pkg().Path()] = s.GoFiles(name.Pkg().Path())
	}
	s.comments, err = commentMap(files)
	return s, err
})

// commentMap returns the Reflector's CommentMap of packages, which are given by import path with
// their files. AddGoComments reads trees of directories and has no import paths, so the files are
// copied to directories with these names.
func commentMap(files map[string][]string) (map[string]string, error) {
	scratch, err := os.MkdirTemp("", "mcpgen-comments-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(scratch)
	for pkg, paths := range files {
		dir := filepath.Join(scratch, filepath.FromSlash(pkg))
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, err
		}
		for _, path := range paths {
			text, err := os.ReadFile(path)
			if err != nil {
				return nil, err
			}
			if err := os.WriteFile(filepath.Join(dir, filepath.Base(path)), text, 0o600); err != nil {
				return nil, err
			}
		}
	}
	var reflector jsonschema.Reflector
	if err := reflector.AddGoComments("", scratch, jsonschema.WithFullComment()); err != nil {
		return nil, err
	}
	comments := map[string]string{}
	for key, text := range reflector.CommentMap {
		comments[strings.TrimPrefix(filepath.ToSlash(key), filepath.ToSlash(scratch)+"/")] = text
	}
	return comments, nil
}

func read(t *testing.T) source {
	t.Helper()
	s, err := loaded()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// mistaken lists declarations without a comment to which the Reflector gives the comment of another
// declaration: see the rule every-doc.
var mistaken = map[string]bool{
	"github.com/mcpgen/mcpgen/generator/internal/schema/testdata/types.GroupedFirst": true,
	"github.com/mcpgen/mcpgen/generator/internal/schema/testdata/types.Mixed.Name":   true,
	"github.com/mcpgen/mcpgen/generator/internal/schema/testdata/types.Mixed.Sub":    true,
}

// TestCommentsAreTheReflectors compares, for all types and fields of the corpus, the comments that
// mcpgen finds by declaration with those that the Reflector finds by name.
func TestCommentsAreTheReflectors(t *testing.T) {
	src := read(t)
	equal, missed := 0, 0
	compare := func(key, got string) {
		want, known := src.comments[key]
		switch {
		case !known && got != "":
			missed++
		case got != want && !mistaken[key]:
			t.Errorf("%s: got %q, the Reflector has %q", key, got, want)
		case got == want && mistaken[key]:
			t.Errorf("%s: the Reflector has the same comment", key)
		case got != "":
			equal++
		}
	}
	for _, name := range src.named {
		key := name.Pkg().Path() + "." + name.Name()
		compare(key, src.TypeDoc(name))
		if u, ok := name.Type().Underlying().(*types.Struct); ok {
			for f := range u.Fields() {
				compare(key+"."+f.Name(), src.FieldDoc(f))
			}
		}
	}
	t.Logf("%d comments equal, %d of declarations that the Reflector misses", equal, missed)
	if equal < 1000 {
		t.Errorf("%d comments compared, want 1000", equal)
	}
}
