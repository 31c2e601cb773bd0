package directive

import (
	"fmt"
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/mcpgen/mcpgen/generator/internal/diag"
)

// The wrong forms of each directive are in TestMisspeltDirectivesAreFindings of package scan.
func TestNearMisses(t *testing.T) {
	for text, want := range map[string]string{
		"// mcp:tool minrole=Viewer":    "0 tool, arguments",
		"//mcp: tool":                   "0 tool",
		"// mcp: tool":                  "0 tool",
		"//mcp:Tool":                    "0 tool",
		"//mcp :ignore reason=x":        "0 ignore, arguments",
		"/*mcp:tool*/":                  "0 tool",
		"/* mcp:tool */":                "0 tool",
		"/*\n * //mcp:roles A < B\n */": "1 roles, arguments",
		"/*mcp:limit timeout=1s\n\n\tmcp tool public\n*/": "0 limit, arguments; 2 tool, arguments",
		"// mcp:tools are listed here":                    "0 tool, perhaps",
		"//tcp:server":                                    "0 server, perhaps",
		"//gcp:resource x":                                "0 resource, perhaps",
		"//mpc:lmit":                                      "0 limit, perhaps",
		"// mcp roles":                                    "0 roles, perhaps",
		"//mcp-limit 1s":                                  "0 limit, perhaps",
		"//mcp.roles.":                                    "0 roles, perhaps",
		"//mcp.limit.timeout=1s":                          "0 limit, arguments",
		"//mcp.limit(timeout=1s)":                         "0 limit, arguments",
		"//(mcp:limit timeout=1s)":                        "0 limit, arguments",
		"//mcp[limit] timeout=1s":                         "0 limit, arguments",
		"// mcp:tool, and so on":                          "0 tool",
		"//mcp-limit, timeout=1s":                         "0 limit, arguments",
		"// mcp limit timeut=1s":                          "0 limit, arguments",
		"// mcp limits timeut=1s":                         "0 limit, arguments",
		"// mcp tool publc":                               "0 tool, arguments",
		"// mcp-tool public readonly minrole=x":           "0 tool, arguments",
		"// mcp param id maximum=3":                       "0 param, arguments",
		"// mpc allow docs.read={path}":                   "0 allow, arguments",

		"//mcp:tool public":                 "", // a directive
		"// //mcp:tool":                     "", // commented out
		"////mcp:tool public":               "",
		"//\t//mcp:tool public":             "",
		"// The directive mcp:tool is …":    "", // prose
		"/* The mcp:tool directive */":      "",
		"// mcp is a protocol":              "",
		"// mcp:nothing of ours":            "",
		"// MCP server":                     "",
		"// MCP server for devices":         "",
		"// MCP Tools":                      "",
		"// mcp tools are listed":           "",
		"// mcp server that lists devices":  "",
		"// mcp-server serves devices":      "",
		"// MCP tool public API":            "",
		"// MCPServer is the server":        "",
		"// mcpServer is the server":        "",
		"// mcp.Tool is a tool of the SDK":  "",
		"// [mcp.Server] is the SDK's":      "",
		"// `mcp:limit` bounds a call":      "",
		"// \"mcp:limit\" bounds a call":    "",
		"// (mcp:limit timeout=1s)":         "",
		"//[mcp.Server] is the SDK's":       "",
		"//(mcp:limit bounds a call)":       "",
		"// tcp: server closed":             "",
		"// TCP server addr=127.0.0.1":      "",
		"// map roles to groups":            "",
		"//mcp.Tool{Name: name}":            "", // code that is commented out
		"//mcp.AddTool(server, tool, call)": "",
		"//mcpServer := mcp.NewServer()":    "",
		"//mcpTool = tools[0]":              "",
		"//mcp.limit(x)":                    "",
		"//mcp:":                            "",
		"// MCPServer":                      "",
		"// TCP server":                     "",
		"//mcp":                             "",
		"//":                                "",
		"/**/":                              "",
		"//mcp.lmi":                         "", // too far
		"//mxxp:limit":                      "",
		"//mcpx:lmt timeout=1s":             "",
	} {
		var got []string
		for _, m := range Misses(text) {
			line := fmt.Sprint(m.Line, " ", m.Name)
			switch {
			case m.Arguments:
				line += ", arguments"
			case !m.Sure:
				line += ", perhaps"
			}
			got = append(got, line)
		}
		if got := strings.Join(got, "; "); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

// Each change of one character in //mcp:NAME is a near miss of that name or a wrong directive.
func TestOneWrongCharacterIsNeverSilent(t *testing.T) {
	const others = "abcmpxyz019MP .,:;-_/|+@=~*!?#$%&\\^\t()[]{}\"'`" +
		"\u00a0\u200b\u0430\u0441\u0440\uff1a"
	for _, spec := range specs {
		head, arguments, _ := strings.Cut(spec.Example, " ")
		right := []rune(head)
		for i := len("//"); i <= len(right); i++ {
			begin, end := string(right[:i]), string(right[i:])
			var forms []string
			for _, other := range others {
				forms = append(forms, begin+string(other)+end)
				if i < len(right) {
					forms = append(forms, begin+string(other)+end[1:])
				}
			}
			if i < len(right) {
				forms = append(forms, begin+end[1:])
			}
			if i+1 < len(right) {
				forms = append(forms, begin+end[1:2]+end[:1]+end[2:])
			}
			for _, form := range forms {
				text := strings.TrimRight(form+" "+arguments, " ")
				if c := comment(text); Is(c) {
					if d, problems := Parse(c); d.Name == spec.Name || len(problems) > 0 {
						continue
					}
				}
				misses := Misses(text)
				if len(misses) != 1 || misses[0].Name != spec.Name {
					t.Errorf("%q: got %+v, want %s", text, misses, spec.Name)
				}
			}
		}
	}
}

func TestNearMissesNameTheOddCharacter(t *testing.T) {
	for text, want := range map[string]string{
		"//mcp.limit rate=1/s":                "",
		"//m\u0441p:limit title=\u0441":       `'\u0441'`,
		"//mcp:\u200blimit":                   `'\u200b'`,
		"//mcp.limit timeout=1s title=\u00e9": "",
	} {
		if misses := Misses(text); len(misses) != 1 || misses[0].Odd != want {
			t.Errorf("%q: got %+v, want %s", text, misses, want)
		}
	}
}

func TestDocsStateTheDistance(t *testing.T) {
	page, err := os.ReadFile("../../../docs/reference/directives.md")
	if err != nil {
		t.Fatal(err)
	}
	explained, _ := diag.Explain(string(diag.NearMiss))
	distance := fmt.Sprintf("at most %d edits", mostEdits)
	if !strings.Contains(string(page), distance) || !strings.Contains(explained, distance) {
		t.Errorf("the page or MCP010 does not state %q", distance)
	}
	// The examples of the page.
	for text, name := range map[string]string{
		"//mpc:limt": "limit", "//mcp-limt": "limit", "//cmp:limit": "limit", "//mpc:lmt": "",
	} {
		if misses := Misses(text); !strings.Contains(string(page), "`"+text+"`") ||
			len(misses) > 0 != (name != "") || name != "" && misses[0].Name != name {
			t.Errorf("%s: got %+v, want %q", text, misses, name)
		}
	}
}

// Comments of the standard library and of the modules that this module needs are no near misses,
// neither as docs nor elsewhere. Among the modules is the SDK of the protocol.
func TestCommentsOfOtherModulesAreNoNearMisses(t *testing.T) {
	const others = "{{if not .Main}}{{.Dir}}{{end}}"
	list, err := exec.Command("go", "list", "-m", "-f", others, "all").Output()
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(list), "modelcontextprotocol") {
		t.Fatal("the modules have no SDK")
	}
	goroot, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	dirs := strings.FieldsFunc(string(list), func(r rune) bool { return r == '\n' })
	source, least := filepath.Join(strings.TrimSpace(string(goroot)), "src"), int64(800_000)
	if testing.Short() {
		other := func(dir string) bool { return !strings.Contains(dir, "modelcontextprotocol") }
		dirs = slices.DeleteFunc(dirs, other)
		source, least = filepath.Join(source, "net"), 20_000
	}
	dirs = append(dirs, source)
	var comments atomic.Int64
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for _, dir := range dirs {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() || filepath.Ext(path) != ".go" {
				return err
			}
			group.Go(func() error {
				n, err := missesOfFile(t, path)
				comments.Add(int64(n))
				return err
			})
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
	if err := group.Wait(); err != nil {
		t.Error(err)
	}
	t.Logf("%d lines of comments", comments.Load())
	if comments.Load() < least {
		t.Error("too few comments were read")
	}
}

// missesOfFile reports the near misses of a file, and returns the number of its comment lines.
func missesOfFile(t *testing.T, path string) (lines int, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	var s scanner.Scanner
	file := token.NewFileSet().AddFile(path, -1, len(text))
	s.Init(file, text, nil, scanner.ScanComments)
	for pos, tok, lit := s.Scan(); tok != token.EOF; pos, tok, lit = s.Scan() {
		if tok != token.COMMENT {
			continue
		}
		lines += 1 + strings.Count(lit, "\n")
		for _, m := range Misses(lit) {
			t.Errorf("%s:%d: %s: %q", path, file.Line(pos)+m.Line, m.Name, lit)
		}
	}
	return lines, nil
}
