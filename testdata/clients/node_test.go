package clients

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// script is a file of this folder. Node reads it from the command line, in the folder of packages.
func script(t *testing.T, file string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// packages is the folder of what make npm installs, which has node_modules. The file .npm names it.
func packages(t *testing.T) string {
	text, err := os.ReadFile("../../.npm")
	if err != nil {
		t.Fatal("run make npm: ", err)
	}
	return strings.TrimSpace(string(text))
}

// nodeCommand is a command of the node that make npm installs, in the folder of its packages.
func nodeCommand(t *testing.T, args ...string) *exec.Cmd {
	tools := packages(t)
	found, _ := filepath.Glob(filepath.Join(tools, "node_modules", "node-*", "bin", "node"))
	if len(found) == 0 {
		t.Fatal("no node: run make npm")
	}
	cmd := exec.CommandContext(t.Context(), found[0], args...)
	cmd.Dir = tools
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir()) // some keep files there
	return cmd
}

var slots = make(chan struct{}, 4)

// slot waits until few programs of node run, and returns the func that ends the wait of another.
func slot() func() {
	slots <- struct{}{}
	return func() { <-slots }
}

// inNode runs a client of clients.mjs.
func inNode(name string) func(*testing.T, client, endpoints) (string, cells) {
	return func(t *testing.T, c client, at endpoints) (string, cells) {
		defer slot()()
		where := map[string]any{"conformance": at.conformance[0]}
		if len(at.conformance) > 1 {
			where["conformance"] = at.conformance
		} else {
			where["team"], where["inventory"] = at.team[0], at.inventory[0]
			where["results"] = map[string]any{at.typed[0]: typed, at.adopted[0]: adopted}
		}
		text, err := json.Marshal(where)
		if err != nil {
			t.Error(err)
		}
		cmd := nodeCommand(t, "--input-type=module", "--eval", script(t, "clients.mjs"), "--", name,
			string(text))
		out, stderr, err := output(cmd)
		var found struct {
			Version string
			Cells   cells
		}
		lines := strings.Split(out, "\n")
		if err = errors.Join(err, json.Unmarshal([]byte(lines[len(lines)-1]), &found)); err != nil {
			t.Errorf("%s: %v\n%s\n%s", name, err, out, stderr)
		}
		return found.Version, found.Cells
	}
}

func output(cmd *exec.Cmd) (stdout, stderr string, err error) {
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	return strings.TrimSpace(string(out)), errs.String(), err
}

// inspector drives the CLI of the MCP Inspector, which makes a connection for each request, all at
// once.
func inspector(era string) func(*testing.T, client, endpoints) (string, cells) {
	return func(t *testing.T, _ client, at endpoints) (version string, found cells) {
		found = cells{}
		for _, feature := range features {
			found[feature] = none
		}
		inspect := func(server []string, user string, args ...string) (string, error) {
			args = append([]string{"node_modules/.bin/mcp-inspector", "--cli", "--protocol-era", era,
				"--method"}, args...)
			if user != "" {
				args = append(args, "--header", "Authorization: Bearer demo-"+user, "--stored-auth-only")
			}
			out, stderr, err := output(nodeCommand(t, append(args, server...)...))
			if err != nil {
				return out, errors.New(out + stderr)
			}
			return out, nil
		}
		contains := func(server []string, user, want string, args ...string) error {
			out, err := inspect(server, user, args...)
			if err == nil && !strings.Contains(out, want) {
				err = errors.New(out)
			}
			return err
		}
		id := []string{"--tool-arg", "id=1"}
		all := func(feature string) func() error {
			return func() error {
				version := map[string]string{"modern": stateless, "legacy": "2025-11-25"}[era]
				err := inspectsAll(version, at.typed, of(feature, typed), inspect)
				if err == nil {
					err = inspectsAll(version, at.adopted, of(feature, adopted), inspect)
				}
				return err
			}
		}
		var wait sync.WaitGroup
		var mu sync.Mutex
		for feature, run := range map[string]func() error{
			"list": func() error {
				return contains(at.team, "ada", `"promote_to_manager"`, "tools/list", "--strict")
			},
			"call": func() error {
				return contains(at.conformance, "", "This is a simple text", "tools/call", "--tool-name",
					"test_simple_text")
			},
			"results": all("results"),
			"null":    all("null"),
			"denied": func() error {
				hidden, err := inspect(at.team, "vera", append([]string{"tools/call", "--tool-name",
					"promote_to_manager"}, id...)...)
				unknown, other := inspect(at.team, "vera", append([]string{"tools/call", "--tool-name",
					"no_such_tool"}, id...)...)
				one := strings.ReplaceAll(hidden+fmt.Sprint(err), "promote_to_manager", "TOOL")
				two := strings.ReplaceAll(unknown+fmt.Sprint(other), "no_such_tool", "TOOL")
				if one != two || !strings.Contains(one, "TOOL") {
					return fmt.Errorf("a hidden tool: %s, an unknown one: %s", one, two)
				}
				return nil
			},
			"bearer": func() error {
				if _, err := inspect(at.team, "nobody", "tools/list"); err == nil {
					return errors.New("another token is accepted")
				}
				return contains(at.team, "vera", `"get_all"`, "tools/list")
			},
			"OAuth": func() error { return inspectorOAuth(t, at, era) },
			"": func() error { // the version
				out, err := inspect(at.conformance, "", "initialize")
				_, version, _ = strings.Cut(out, `"protocolVersion": "`)
				version, _, _ = strings.Cut(version, `"`)
				return err
			},
		} {
			wait.Go(func() {
				defer slot()()
				err := run()
				mu.Lock()
				defer mu.Unlock()
				found[feature] = outcomeOf(err)
			})
		}
		wait.Wait()
		if found[""] != works {
			t.Error(found[""])
		}
		return version, found
	}
}

func outcomeOf(err error) string {
	switch {
	case errors.Is(err, errNone):
		return none
	case err != nil:
		return "error: " + strings.Join(strings.Fields(err.Error()), " ")
	}
	return works
}

var errNone = errors.New("the client has no such feature")
