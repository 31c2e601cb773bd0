package toollist

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"text/tabwriter"
	"unicode"
	"unicode/utf16"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Print prints a row for each tool: its name, its arguments and the first line of its description.
func (l List) Print(w io.Writer) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, t := range l.Tools {
		description, _, _ := strings.Cut(t.Description, "\n")
		fmt.Fprintf(table, "%s\t%s\t%s\n", strings.Trim(strconv.QuoteToASCII(t.Name), `"`), t.Usage(),
			Printable(description))
	}
	return table.Flush()
}

// PrintResult prints the structured content of a result, or each content: text as it is, others as
// JSON.
func PrintResult(w io.Writer, result *mcp.CallToolResult) error {
	if structured, ok := result.StructuredContent.(json.RawMessage); ok {
		var indented bytes.Buffer
		if err := json.Indent(&indented, structured, "", "  "); err != nil {
			return err
		}
		_, err := fmt.Fprintln(w, Printable(indented.String()))
		return err
	}
	for _, content := range result.Content {
		text, ok := content.(*mcp.TextContent)
		if ok {
			fmt.Fprintln(w, Printable(text.Text))
			continue
		}
		encoded, err := json.Marshal(content)
		if err != nil {
			return err
		}
		fmt.Fprintln(w, Printable(string(encoded)))
	}
	return nil
}

// Line is like [Printable], and escapes line ends and tabs as well.
func Line(text string) string {
	return strings.NewReplacer("\n", `\u000a`, "\t", `\u0009`).Replace(Printable(text))
}

// Printable escapes the characters of a server's text that are not graphic as JSON does, apart from
// line ends and tabs: a terminal must not interpret them.
func Printable(text string) string {
	var b strings.Builder
	for _, r := range text {
		if unicode.IsGraphic(r) || r == '\n' || r == '\t' {
			b.WriteRune(r)
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&b, `\u%04x`, unit)
		}
	}
	return b.String()
}

// maxLine is the longest line of a server that is written as one.
const maxLine = 1 << 16

// labelled writes whole lines, each with the label of a server, as [Printable] text.
type labelled struct {
	to   io.Writer
	mu   sync.Mutex
	rest []byte // of a line without an end
}

func (l *labelled) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rest = append(l.rest, p...)
	for {
		line, rest, ended := bytes.Cut(l.rest, []byte("\n"))
		if !ended && len(line) < maxLine {
			return len(p), nil
		}
		l.rest = rest
		l.print(line)
	}
}

func (l *labelled) print(line []byte) {
	fmt.Fprintf(l.to, "server: %s\n", Printable(strings.TrimSuffix(string(line), "\r")))
}

// flush writes a last line without an end.
func (l *labelled) flush() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.rest) > 0 {
		l.print(l.rest)
	}
	l.rest = nil
}
