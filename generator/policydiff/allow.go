package policydiff

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// Allowed are the changes that an allow-list permits, with the reason of each.
type Allowed map[string]string

// ReadAllowed reads an allow-list. Each line has a change as [Change.String] writes it, and after
// " # " the reason. Empty lines and lines that begin with # are comments.
func ReadAllowed(file string, r io.Reader) (Allowed, error) {
	allowed := Allowed{}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		at := strings.LastIndex(line+" ", " # ")
		if at < 0 || strings.TrimSpace(line[min(at+3, len(line)):]) == "" {
			return nil, fmt.Errorf("%s:%d: this entry has no reason: write # and the reason after "+
				"the change", file, n)
		}
		allowed[strings.TrimSpace(line[:at])] = printable(strings.TrimSpace(line[at+3:]))
	}
	return allowed, lines.Err()
}
