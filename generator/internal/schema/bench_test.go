package schema

import (
	"go/types"
	"testing"
)

// BenchmarkCorpus walks every case of the corpus as arguments and as a result.
func BenchmarkCorpus(b *testing.B) {
	src, err := load()
	if err != nil {
		b.Fatal(err)
	}
	pkg := src[base+"testdata/types"].Types
	corpus := pkg.Scope().Lookup("Corpus").Type().Underlying().(*types.Struct)
	b.ReportAllocs()
	for b.Loop() {
		w := New(pkg, src)
		for i := range corpus.NumFields() {
			w.Input(corpus.Field(i).Type())
			w.Output(corpus.Field(i).Type())
		}
	}
}
