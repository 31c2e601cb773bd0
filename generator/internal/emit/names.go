package emit

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/dave/jennifer/jen"

	"github.com/mcpgen/mcpgen/generator/internal/naming"
)

// names hands out identifiers that clash with nothing: not with what the author declares or
// imports, not with keywords and predeclared names, not with each other. What clashes is
// prefixed with mcp, so that the same source always gets the same names.
type names struct {
	taken  map[string]bool
	handed []string // in the order of asking
}

// predeclared are the predeclared names that jennifer does not reserve.
var predeclared = []string{"any", "comparable", "init", "main", "_"}

func newNames(scope []string) *names {
	n := &names{taken: map[string]bool{}}
	n.reserve(predeclared...)
	n.reserve(scope...)
	return n
}

// reserve keeps names from being handed out.
func (n *names) reserve(taken ...string) {
	for _, name := range taken {
		n.taken[name] = true
	}
}

// pick returns want, or a name made of it where want is taken.
func (n *names) pick(want string) string {
	name := identifier(want)
	if n.clashes(name) {
		name = "mcp" + naming.UpperFirst(name)
	}
	for base, i := name, 2; n.clashes(name); i++ {
		name = fmt.Sprintf("%s%d", base, i)
	}
	return n.hand(name)
}

// pickTest is pick for a name that the go command knows by its beginning.
func (n *names) pickTest(want string) string {
	name := want
	for i := 2; n.clashes(name); i++ {
		name = fmt.Sprintf("%s%d", want, i)
	}
	return n.hand(name)
}

// pickReserved is pick for a name that jennifer reserves because everybody uses it: err.
func (n *names) pickReserved(want string) string {
	if n.taken[want] {
		return n.pick(want)
	}
	return n.hand(want)
}

func (n *names) hand(name string) string {
	n.taken[name] = true
	n.handed = append(n.handed, name)
	return name
}

func (n *names) clashes(name string) bool { return n.taken[name] || jen.IsReservedWord(name) }

// identifier drops what an identifier cannot hold and raises the letter after it: "read-only" is
// readOnly.
func identifier(s string) string {
	var b strings.Builder
	raise := false
	for _, r := range s {
		switch {
		case r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r):
			raise = b.Len() > 0
			continue
		case b.Len() == 0 && unicode.IsDigit(r):
			b.WriteByte('_')
		case raise:
			r = unicode.ToUpper(r)
		}
		raise = false
		b.WriteRune(r)
	}
	if b.Len() == 0 {
		return "_"
	}
	return b.String()
}
