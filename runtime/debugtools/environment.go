package debugtools

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Environment is the environment of the server's process.
type Environment struct {
	// Variables by name, with a mask in the place of secrets. One that is empty stays empty. Names that are the same once masked are
	// numbered.
	Variables map[string]string `json:"variables"`
	// TotalCount is how many variables there are.
	TotalCount int `json:"totalCount"`
	// MaskedCount is of how many variables the name or the value is masked, in whole or in part.
	MaskedCount int `json:"maskedCount"`
}

// PrintEnv returns the environment variables of the server's process, with secrets masked.
//
//mcp:tool readonly denial=conceal title="Environment of the server"
func (i *Inspector) PrintEnv(ctx context.Context, _ *mcp.CallToolRequest, _ Nothing) (*mcp.CallToolResult, Environment, error) {
	_, mask := i.look(ctx)
	env := Environment{Variables: map[string]string{}}
	for _, entry := range os.Environ() {
		name, value := variable(entry)
		shown, masked := mask.Text(name), mask.Value(name, value)
		env.Variables[free(env.Variables, shown)] = masked
		env.TotalCount++
		if shown != name || masked != value {
			env.MaskedCount++
		}
	}
	return indented(env)
}

// free is a name that no variable has yet: two that differ in their secrets alone are the same once these are masked.
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
