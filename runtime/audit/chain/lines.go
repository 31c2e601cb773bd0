package chain

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
)

// Record is a line of an audit trail.
type Record struct {
	Source string // a file's name, as findings have it
	Line   int    // from 1 on
	Text   []byte // without the line's end; valid until the next record
	// Unfinished is true if the line has no line end. It is then the last one of its source.
	Unfinished bool
}

// maxLine bounds a line. A longer one is no record, and is read in parts.
const maxLine = 8 << 20

// Lines returns the records of a source. Within one source, the records of each chain must be in
// order. Sources may come in any order.
func Lines(source string, r io.Reader) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		lines := bufio.NewReaderSize(r, 64<<10)
		var text []byte
		for n := 1; ; n++ {
			var err error
			text, err = line(lines, text[:0])
			if err != nil && !errors.Is(err, io.EOF) {
				yield(Record{}, fmt.Errorf("%s:%d: %w", source, n, err))
				return
			}
			if err != nil && len(text) == 0 {
				return
			}
			whole, ended := bytes.CutSuffix(text, []byte("\n"))
			if !yield(Record{source, n, whole, !ended && err != nil}, nil) || err != nil {
				return
			}
		}
	}
}

// line reads on to the end of a line, or as far as a line may be.
func line(r *bufio.Reader, text []byte) ([]byte, error) {
	for {
		part, err := r.ReadSlice('\n')
		text = append(text, part...)
		if !errors.Is(err, bufio.ErrBufferFull) || len(text) > maxLine {
			if errors.Is(err, bufio.ErrBufferFull) {
				err = nil
			}
			return text, err
		}
	}
}
