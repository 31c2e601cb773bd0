package directive

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// maxCatalogName is in bytes.
const maxCatalogName = 256

// checkCatalog returns what is wrong with the name of a catalog, or an empty message. Whatever a
// catalog in runtime/store may be called, one that code declares may be called too, and nothing
// else: clients ask for both by name. The rule stands in both places, since neither side imports
// the other; a test of cmd/mcpgen holds them equal.
func checkCatalog(key, name string) (fix, message string) {
	quoted := strconv.Quote(name)
	if len(name) > maxCatalogName {
		return "write a shorter name", fmt.Sprintf("%s= lists a name of %d bytes, more than %d", key, len(name), maxCatalogName)
	}
	if i := strings.IndexFunc(name, func(r rune) bool { return !unicode.IsPrint(r) || r == unicode.ReplacementChar }); i >= 0 {
		r, is := []rune(name[i:])[0], "invisible"
		if r == unicode.ReplacementChar {
			is = "replacement" // it stands for one that was lost
		}
		return "write the name with plain spaces and visible characters only",
			fmt.Sprintf("%s= lists %s, which has the %s character %s", key, quoted, is, strconv.QuoteRuneToASCII(r))
	}
	if strings.HasPrefix(name, " ") || strings.HasSuffix(name, " ") {
		return "write the name without it", fmt.Sprintf("%s= lists %s, which has a space at its start or end", key, quoted)
	}
	return "", ""
}

// Listed is a list as a directive writes it: bare words where they can be, and Go string literals.
func Listed(values []string) string {
	words := make([]string, len(values))
	for i, v := range values {
		words[i] = v
		if v == "" || v[0] == '\'' || strings.ContainsFunc(v, func(r rune) bool {
			return !unicode.IsPrint(r) || r == unicode.ReplacementChar || strings.ContainsRune(" ,\"`", r)
		}) {
			words[i] = strconv.Quote(v)
		}
	}
	return strings.Join(words, ",")
}
