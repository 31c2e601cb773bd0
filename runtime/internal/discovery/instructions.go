package discovery

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/internal/request"
	"github.com/mcpgen/mcpgen/runtime/internal/worker"
)

// Instructions makes the instructions of a handshake. They are empty for a caller from whom the
// server hides a tool, prompt or resource that the text names.
type Instructions struct {
	InstructionsConfig
	names  []named
	last   atomic.Pointer[mentions] // of the newest text, which usually does not change
	logged sync.Map                 // names that the log has, so that clients cannot fill it
}

// mentions are the names that a text has.
type mentions struct {
	text  string
	names []named
}

// InstructionsConfig is what instructions read.
type InstructionsConfig struct {
	Policy *Policy
	Text   string
	// Func makes the text for a caller and the names of the tools that the caller is listed. It is
	// called from many goroutines; nil for a constant text.
	Func    func(access.Principal, []string) string
	Aliases map[string]string            // of tools, to their names
	Hidden  func(k access.Kind) []string // names beside those of the table
	Pool    *worker.Pool
	Log     *slog.Logger
}

// instructionsTimeout bounds each call of InstructionsConfig.Func.
const instructionsTimeout = 5 * time.Second

// named is what a name can mean.
type named struct {
	name    string
	targets []request.Target
}

// NewInstructions indexes the names of a server. An error reports a constant text with a name that
// not every caller is listed. anonymous reports that callers without identity are admitted.
func NewInstructions(c InstructionsConfig, anonymous bool) (*Instructions, error) {
	i := &Instructions{InstructionsConfig: c}
	byName := map[string][]request.Target{}
	add := func(name string, k access.Kind, of string) {
		target := request.Target{Kind: k, Name: of}
		if !slices.Contains(byName[name], target) {
			byName[name] = append(byName[name], target)
		}
	}
	for _, k := range request.Kinds {
		for _, name := range append(c.Policy.Table.Of(k).Tools(), c.Hidden(k)...) {
			add(name, k, name)
		}
	}
	for alias, name := range c.Aliases {
		add(alias, access.Tools, name)
	}
	for name, targets := range byName {
		i.names = append(i.names, named{name, targets})
	}
	// The longest first: a name within a longer one is not a name of its own.
	slices.SortFunc(i.names, func(a, b named) int {
		return cmp.Or(len(b.name)-len(a.name), cmp.Compare(a.name, b.name))
	})
	everybody := access.Principal{}
	if !anonymous {
		everybody.Subject = "anybody"
	}
	if hidden, ok := i.hidden(everybody, c.Text); ok {
		return nil, fmt.Errorf("Options.Texts.Instructions contains the %s %q, which is hidden "+
			"from some "+
			"callers: remove the name, or write the text in Options.Texts.InstructionsFor",
			hidden.targets[0].Kind, hidden.name)
	}
	return i, nil
}

// For returns the instructions for a caller. own are those of an adopted server.
func (i *Instructions) For(ctx context.Context, p access.Principal, own string) string {
	text := cmp.Or(i.Text, own)
	if i.Func != nil {
		o := worker.Run(i.Pool, worker.Job[string]{Context: ctx,
			Timeout: instructionsTimeout,
			Do: func(context.Context) string {
				return i.Func(p.Within(), i.Policy.Listed(p, access.Tools).Names())
			}})
		if err := o.Err(); err != nil {
			i.Log.ErrorContext(
				ctx, "Options.Texts.InstructionsFor failed: the caller gets no instructions",
				"error", err)
		}
		text = o.Value
	}
	hidden, ok := i.hidden(p, text)
	if !ok {
		return text
	}
	if _, again := i.logged.LoadOrStore(hidden.name, true); !again {
		i.Log.WarnContext(ctx, "the instructions contain the name of something hidden; callers from "+
			"whom it is hidden get no instructions", hidden.targets[0].Kind.String(), hidden.name)
	}
	return ""
}

// hidden returns the first name in a text that the server hides from a caller.
func (i *Instructions) hidden(p access.Principal, text string) (named, bool) {
	seen := func(t request.Target) bool { return i.Policy.Listed(p, t.Kind).Contains(t.Name) }
	for _, n := range i.mentioned(text) {
		if !slices.ContainsFunc(n.targets, seen) {
			return n, true
		}
	}
	return named{}, false
}

func (i *Instructions) mentioned(text string) []named {
	if last := i.last.Load(); last != nil && last.text == text {
		return last.names
	}
	found := &mentions{text: text}
	left, code := []byte(text), inCode(text)
	for _, n := range i.names {
		if takes(left, code, n) {
			found.names = append(found.names, n)
		}
	}
	i.last.Store(found)
	return found.names
}

// takes reports whether a text has a name as a word, and removes it. A name without an underscore
// counts in code only, because it can be a plain word; the URI of a resource counts everywhere.
func takes(left []byte, code []bool, n named) (found bool) {
	everywhere := strings.Contains(n.name, "_") || n.targets[0].Kind == access.Resources
	for from := 0; ; {
		at := bytes.Index(left[from:], []byte(n.name))
		if at < 0 {
			return found
		}
		at += from
		end := at + len(n.name)
		from = at + 1
		switch {
		case at > 0 && isWord(left[at-1]) && isWord(left[at]),
			end < len(left) && isWord(left[end]) && isWord(left[end-1]),
			!everywhere && !code[at]:
		default:
			found = true
			for i := at; i < end; i++ {
				left[i] = 0
			}
		}
	}
}

func isWord(b byte) bool {
	return b == '_' || '0' <= b && b <= '9' || 'a' <= b|0x20 && b|0x20 <= 'z'
}

// inCode reports for each byte whether it is between backticks. Several in a row count as one.
func inCode(text string) []bool {
	code, inside := make([]bool, len(text)), false
	for i := range len(text) {
		if text[i] == '`' && (i == 0 || text[i-1] != '`') {
			inside = !inside
		}
		code[i] = inside
	}
	return code
}
