package directive

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// maxCatalogName is in bytes.
const maxCatalogName = 256

// checkCatalog returns the fault in the name of a catalog, or an empty message. Catalogs of code
// and of runtime/store have the same rule for names, since clients request both by name. Both sides
// implement it, since neither imports the other; a test of cmd/mcpgen compares them.
func checkCatalog(key, name string) (fix, message string) {
	quoted := strconv.Quote(name)
	if len(name) > maxCatalogName {
		return "write a shorter name", fmt.Sprintf(
			"%s= lists a name of %d bytes, more than %d", key, len(name), maxCatalogName)
	}
	bad := func(r rune) bool { return !unicode.IsPrint(r) || r == unicode.ReplacementChar }
	if i := strings.IndexFunc(name, bad); i >= 0 {
		r, is := []rune(name[i:])[0], "invisible"
		if r == unicode.ReplacementChar {
			is = "replacement" // it stands for one that was lost
		}
		return "write the name with plain spaces and visible characters only",
			fmt.Sprintf("%s= lists %s, which has the %s character %s",
				key, quoted, is, strconv.QuoteRuneToASCII(r))
	}
	if strings.HasPrefix(name, " ") || strings.HasSuffix(name, " ") {
		return "write the name without it", fmt.Sprintf(
			"%s= lists %s, which has a space at its start or end", key, quoted)
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
