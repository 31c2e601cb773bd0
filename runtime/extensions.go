package runtime

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// extensionApps is the extension of MCP Apps (SEP-1865). A server with a tool that has one declares
// it.
const extensionApps = "io.modelcontextprotocol/ui"

// declared are MCP capabilities that code declares by name, each with its settings as JSON.
type declared struct{ extensions, experimental map[string]any }

// declares returns what the options declare, encoded, so that no later change of theirs counts.
func (o Options) declares() (d declared, errs []error) {
	encode := func(option string, named map[string]map[string]any) map[string]any {
		encoded := map[string]any{}
		for _, name := range slices.Sorted(maps.Keys(named)) {
			settings := named[name]
			if settings == nil {
				settings = map[string]any{}
			}
			text, err := json.Marshal(settings)
			if err != nil {
				errs = append(errs, fmt.Errorf("the option %s[%q] cannot be JSON: %w", option, name, err))
			}
			if prefix, rest, ok := strings.Cut(name, "/"); option == "Extensions" &&
				(!ok || prefix == "" || rest == "") {
				errs = append(errs, fmt.Errorf("the option Extensions has %q: write a prefix of "+
					"your domain before it, as in com.example/name", name))
			}
			encoded[name] = json.RawMessage(text)
		}
		return encoded
	}
	return declared{encode("Extensions", o.Extensions), encode("Experimental", o.Experimental)}, errs
}

// joined returns a map of both, nil if both are empty. What options declare counts.
func joined(own, options map[string]any) map[string]any {
	if len(own)+len(options) == 0 {
		return nil
	}
	all := map[string]any{}
	maps.Copy(all, own)
	maps.Copy(all, options)
	return all
}
