// Package embedded has an excerpt of the page.
//
//mcp:server name=embedded
//mcp:default minrole=Member
package embedded

import (
	"context"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
)

func sqrt(text string) (string, error) {
	x, err := strconv.ParseFloat(text, 64)
	return fmt.Sprint(math.Sqrt(x)), err
}

func escape(text string) (string, error) { return regexp.QuoteMeta(text), nil }

// builtins are the modules that a script may use.
var builtins = map[string]func(string) (string, error){"math.sqrt": sqrt, "re.escape": escape}

// Run runs one call, such as "math.sqrt 4".
//
//mcp:tool readonly
//mcp:limit timeout=1s memory=64MiB output=64KiB isolate=process capabilities=none
func Run(ctx context.Context, script string) (string, error) {
	name, argument, _ := strings.Cut(script, " ")
	builtin, ok := builtins[name]
	if !ok {
		return "", fmt.Errorf("there is no %q", name)
	}
	return builtin(argument)
}
