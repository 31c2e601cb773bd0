// Package toollist reads the results of tools/list, from files and from servers, compares two of
// them, and calls tools. What it reads is input of others: it bounds the size, and quotes names in
// its messages.
package toollist

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/mcpgen/mcpgen/generator/internal/schemafile"
)

// The bounds of a list.
const (
	maxBytes = 64 << 20
	maxTools = 10_000
	// maxSchema bounds one schema.
	maxSchema = 1 << 20
)

// Tool is one tool of a list.
type Tool struct {
	Name         string          `json:"name"`
	Title        string          `json:"title"`
	Description  string          `json:"description"`
	InputSchema  json.RawMessage `json:"inputSchema"`
	OutputSchema json.RawMessage `json:"outputSchema"` // nil without one
	Annotations  Annotations     `json:"annotations"`

	text json.RawMessage // compact
}

// Annotations are the hints of a tool. A nil hint is not written.
type Annotations struct {
	Title           string `json:"title,omitempty"`
	ReadOnlyHint    *bool  `json:"readOnlyHint,omitempty"`
	DestructiveHint *bool  `json:"destructiveHint,omitempty"`
	IdempotentHint  *bool  `json:"idempotentHint,omitempty"`
	OpenWorldHint   *bool  `json:"openWorldHint,omitempty"`
}

// List is the tools of a server, in their order, from all pages.
type List struct {
	Server  string // the name and version that the server reports, if known
	Version string
	Tools   []Tool
	// Skipped are the tools that cannot be read, and why, one line each.
	Skipped []string
}

// Write writes the list as a result of tools/list with one tool per line. [Read] reads it.
func (l List) Write(w io.Writer) error {
	lines := make([]string, len(l.Tools))
	for i, t := range l.Tools {
		lines[i] = "  " + string(t.text)
	}
	_, err := io.WriteString(w, "{\"tools\":[\n"+strings.Join(lines, ",\n")+"\n]}\n")
	return err
}

// page is a JSON-RPC response, the result in it, one tool, or the result of a call.
type page struct {
	Result     *page           `json:"result"`
	Error      json.RawMessage `json:"error"`
	Tools      rawTools        `json:"tools"`
	NextCursor string          `json:"nextCursor"`
	Name       string          `json:"name"`

	StructuredContent json.RawMessage `json:"structuredContent"`
	Type              string          `json:"resultType"`
}

// rawTools are the tools of a page. It is nil for none: null is an empty list.
type rawTools []json.RawMessage

// UnmarshalJSON implements json.Unmarshaler.
func (t *rawTools) UnmarshalJSON(text []byte) error {
	list := []json.RawMessage{}
	err := json.Unmarshal(text, &list)
	*t = append(rawTools{}, list...)
	return err
}

// Read reads a list from JSON: a JSON-RPC response, its result, or an array of tools. Several
// pages are an array of these or one document after the other.
func Read(r io.Reader) (List, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxBytes+1))
	if err != nil {
		return List{}, err
	}
	if len(text) > maxBytes {
		return List{}, fmt.Errorf("the list has more than %d MiB", maxBytes>>20)
	}
	if text, err = schemafile.UTF8(text); err != nil {
		return List{}, fmt.Errorf("not JSON: %w", err)
	}
	var list List
	next, pages := "", 0
	var add func(doc json.RawMessage) error
	add = func(doc json.RawMessage) error {
		if doc[0] == '[' {
			var elements []json.RawMessage
			if err := json.Unmarshal(doc, &elements); err != nil {
				return err
			}
			for _, e := range elements {
				if e[0] == '[' {
					return errors.New("a nested list is neither a page nor a tool")
				}
				var p page
				read := add
				if json.Unmarshal(e, &p) != nil || p.Result == nil && p.Error == nil && p.Tools == nil {
					read = list.add
				}
				if err := read(e); err != nil {
					return err
				}
			}
			pages++
			return nil
		}
		var p page
		if err := json.Unmarshal(doc, &p); err != nil {
			return fmt.Errorf("not a result of tools/list: %w", err)
		}
		if p.Result != nil {
			p = *p.Result
		}
		switch {
		case p.Error != nil:
			return fmt.Errorf("the response is an error: %q", short(p.Error))
		case p.Tools != nil:
			next, pages = p.NextCursor, pages+1
			for _, t := range p.Tools {
				if err := list.add(t); err != nil {
					return err
				}
			}
			return nil
		case p.Name != "":
			return list.add(doc)
		}
		return errors.New("not a result of tools/list: it has no tools")
	}
	for d := json.NewDecoder(bytes.NewReader(text)); ; {
		var doc json.RawMessage
		if err := d.Decode(&doc); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return List{}, fmt.Errorf("not JSON: %w", err)
		}
		if err := add(doc); err != nil {
			return List{}, err
		}
	}
	switch {
	case pages == 0:
		return List{}, errors.New("not a result of tools/list: the input is empty, or a single tool")
	case next != "":
		return List{}, fmt.Errorf("the list is incomplete: the last page has the nextCursor %q; "+
			"append the other pages", short([]byte(next)))
	}
	return list, nil
}

// add adds a tool, or the reason why it cannot be read.
func (l *List) add(text json.RawMessage) error {
	n := len(l.Tools) + len(l.Skipped) + 1
	if n > maxTools {
		return fmt.Errorf("the list has more than %d tools", maxTools)
	}
	t, err := read(text)
	if err != nil {
		l.Skipped = append(l.Skipped, fmt.Sprintf("tool %d is skipped: %s", n, err))
		return nil
	}
	l.Tools = append(l.Tools, t)
	return nil
}

func read(text json.RawMessage) (t Tool, err error) {
	if err := json.Unmarshal(text, &t); err != nil {
		return t, err
	}
	if t.Name == "" {
		return t, errors.New("it has no name")
	}
	if len(t.InputSchema) > maxSchema || len(t.OutputSchema) > maxSchema {
		return t, fmt.Errorf("a schema has more than %d MiB", maxSchema>>20)
	}
	if schemafile.Deep(t.InputSchema) || schemafile.Deep(t.OutputSchema) {
		return t, errors.New("a schema is nested too deeply")
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, text); err != nil {
		return t, err
	}
	t.text = compact.Bytes()
	if bytes.Equal(t.OutputSchema, []byte("null")) {
		t.OutputSchema = nil
	}
	return t, nil
}

// short is the start of a text, for a message.
func short(text []byte) string {
	const most = 200
	if len(text) > most {
		return string(text[:most]) + "…"
	}
	return string(text)
}
