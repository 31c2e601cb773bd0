package debugtools

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Environment contains the environment variables of the server's process.
type Environment struct {
	// Variables by name, with the same mask in place of each secret. Names that are equal after
	// masking get numbers.
	Variables map[string]string `json:"variables"`
	// EmptyVariables are the names of the variables that are set and empty, secrets included.
	EmptyVariables []string `json:"emptyVariables"`
	// TotalCount is the number of variables.
	TotalCount int `json:"totalCount"`
	// MaskedCount is the number of variables whose name or value is masked, in whole or in part.
	MaskedCount int `json:"maskedCount"`
}

// PrintEnv returns the environment variables of the server's process, with secrets masked, and the
// names of those that are set and empty.
//
//mcp:tool readonly denial=conceal title="Environment of the server"
func (i *Inspector) PrintEnv(ctx context.Context, _ *mcp.CallToolRequest, _ Nothing) (
	*mcp.CallToolResult, Environment, error) {
	_, mask := i.look(ctx)
	env := Environment{Variables: map[string]string{}, EmptyVariables: []string{}}
	for _, entry := range os.Environ() {
		name, value := variable(entry)
		shown, masked := mask.Text(name), mask.Value(name, value)
		key := free(env.Variables, shown)
		env.Variables[key] = masked
		if value == "" {
			env.EmptyVariables = append(env.EmptyVariables, key)
		}
		env.TotalCount++
		if shown != name || masked != value {
			env.MaskedCount++
		}
	}
	slices.Sort(env.EmptyVariables)
	return indented(env)
}

// free returns a name that no variable has yet: two names can be equal once masked.
func free(variables map[string]string, name string) string {
	free := name
	for n := 2; ; n++ {
		if _, taken := variables[free]; !taken {
			return free
		}
		free = fmt.Sprintf("%s (%d)", name, n)
	}
}

// variable splits NAME=value. Windows has variables whose names begin with "=".
func variable(entry string) (name, value string) {
	if entry == "" {
		return "", ""
	}
	if at := strings.IndexByte(entry[1:], '='); at >= 0 {
		return entry[:at+1], entry[at+2:]
	}
	return entry, ""
}
