package access

import (
	"fmt"
	"strings"
)

// Explanation is why a principal may use a tool, a prompt or a resource, or why not. It is for logs
// and admins, and never for the caller: it reveals what exists.
type Explanation struct {
	Kind    Kind
	Name    string
	Allowed bool
	// Off reports that the tool is switched off: it is unknown to every caller, whatever its rule.
	Off bool
	// Listed reports that the principal's lists contain it: allowed ones, those that a challenge
	// demands more scopes for, and all of them if the server lists everything.
	Listed bool
	// Missing is what the caller lacks, as [Decision.Missing] words it.
	Missing string
	// Verdicts has one for each part of the rule, also after the first that fails.
	Verdicts []Verdict
	// Host is why the host's permissions are not known, if they are needed, or why the caller is
	// not admitted at all.
	Host string
	// Places are those of a field in the schemas of tools: a tool and a JSON Pointer from it, as in
	// "create /inputSchema/properties/salary". A pointer into a result without a schema in lists
	// begins with /result.
	Places []string
}

// String returns the explanation, one line for each verdict.
func (e Explanation) String() string {
	word := "denied"
	if e.Allowed {
		word = "allowed"
	}
	text := fmt.Sprintf("%s %q: %s\n", e.Kind, e.Name, word)
	if e.Off {
		text += "  the tool is switched off\n"
	}
	for _, v := range e.Verdicts {
		text += "  " + v.String() + "\n"
	}
	if e.Host != "" {
		text += "  " + e.Host + "\n"
	}
	for _, place := range e.Places {
		text += "  in " + place + "\n"
	}
	return text
}

// Failing returns the verdicts that do not hold, in one line.
func (e Explanation) Failing() string {
	var words []string
	for _, v := range e.Verdicts {
		if !v.Holds {
			words = append(words, v.String())
		}
	}
	return strings.Join(words, "; ")
}
