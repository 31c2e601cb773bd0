package document

import (
	"bytes"
	"errors"
	"regexp"
	"strings"
)

// The markers between which MCP.md is ours.
const (
	beginMarker = "<!-- mcpgen:begin; mcpgen generates the text up to mcpgen:end; DO NOT EDIT. -->"
	endMarker   = "<!-- mcpgen:end -->"
)

// ErrMarkers reports that MCP.md does not hold one begin marker with one end marker after it, or
// neither. Nothing is written then, since mcpgen's part of the file is unknown.
var ErrMarkers = errors.New("the markers of mcpgen do not match: keep one \"" +
	"<!-- mcpgen:begin" + " …\" line with one \"" +
	endMarker + "\" line after it, or remove both")

// Markers count at the start of a line only, where neither a description nor a cell of a table
// begins.
var (
	beginLine = regexp.MustCompile(`(?m)(?:^|\A\x{FEFF})<!-- mcpgen:begin`)
	endLine   = regexp.MustCompile(`(?m)^` + endMarker + `\r?\n?`)
)

// markers finds our part of a document: from the begin marker's line to the end marker's, both
// included. A document without markers has start and end equal.
func markers(doc []byte) (start, end int, err error) {
	begins, ends := beginLine.FindAllIndex(doc, 2), endLine.FindAllIndex(doc, 2)
	switch {
	case len(begins) == 0 && len(ends) == 0:
		return len(doc), len(doc), nil
	case len(begins) != 1 || len(ends) != 1 || ends[0][0] < begins[0][0]:
		return 0, 0, ErrMarkers
	}
	return begins[0][0], ends[0][1], nil
}

// merge puts our part into a document, at its old place or at the end.
func merge(doc []byte, part string) ([]byte, error) {
	start, end, err := markers(doc)
	if err != nil {
		return nil, err
	}
	before, after := string(doc[:start]), string(doc[end:])
	if start == end && before != "" {
		before = strings.TrimRight(before, "\r\n") + "\n\n"
	}
	return []byte(before + beginMarker + "\n\n" + strings.TrimRight(part, "\n") + "\n\n" +
		endMarker + "\n" + after), nil
}

// WithoutDocs returns what remains of an MCP.md when its package serves nothing any more, or nil
// where nothing does and the file can go.
func WithoutDocs(doc []byte) ([]byte, error) {
	start, end, err := markers(doc)
	if err != nil {
		return nil, err
	}
	if start == end {
		return doc, nil
	}
	before := bytes.TrimRight(doc[:start], "\r\n")
	after := bytes.TrimLeft(doc[end:], "\r\n")
	switch {
	case len(before) == 0 && len(bytes.TrimSpace(after)) == 0:
		return nil, nil
	case len(before) == 0:
		return after, nil
	case len(after) == 0:
		return append(before[:len(before):len(before)], '\n'), nil
	}
	return bytes.Join([][]byte{before, after}, []byte("\n\n")), nil
}
