package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// permissions are how many of the host's the server asks for.
const permissions = 14

// TestEveryUserAndToolIsAsInDjango has a real Django make users at random, and holds the list and
// the call of each of them for each tool, prompt and resource to what its has_perm says, over HTTP
// with real tokens.
func TestEveryUserAndToolIsAsInDjango(t *testing.T) {
	for engine, openDatabase := range engines {
		t.Run(engine, func(t *testing.T) {
			db := openDatabase(t)
			h := newHost(t, db)
			h.send("users", 4, 30)
			answers := h.permissions()
			clients, roles := map[string]claims{}, map[string]string{}
			for i, u := range answers {
				roles[u.Name] = ranks[len(ranks)-1-i%len(ranks)]
				clients["client-of-"+u.Name] = of(u.Name,
					roles[u.Name]) // named otherwise: a subject is no user
			}
			w := newWorld(t, db, h, clients, func(*settings) {})
			kinds, asked := map[string]int{}, 0
			for i, u := range answers {
				token := w.token("client-of-" + u.Name)
				if !u.Active {
					kinds["inactive"]++
					w.isNobody(token)
					continue
				}
				switch len(u.Has) {
				case 0:
					kinds["none"]++
				case permissions:
					kinds["all"]++
				default:
					kinds["some"]++
				}
				c := w.connect(token, eras[i%len(eras)])
				for _, test := range []struct {
					kind  string
					parts map[string]part
					list  []string
				}{{"tool", tools, c.tools()}, {"prompt", prompts, c.prompts()}, {"resource",
					resources, c.resources()}} {
					if want := names(test.parts, roles[u.Name],
						u); !slices.Equal(slices.Sorted(slices.Values(test.list)), want) {
						t.Errorf("%s (%s) lists %ss %q, Django says %q", u.Name, roles[u.Name],
							test.kind, test.list, want)
					}
					for name, p := range test.parts {
						asked++
						what := name
						if test.kind == "resource" {
							what = p.ask.(string)
						}
						err := c.use(test.kind, what, p.ask)
						if p.may(roles[u.Name], u) {
							if err != nil {
								t.Errorf("%s (%s) may use %s, and gets %v", u.Name, roles[u.Name],
									name, err)
							}
							continue
						}
						other := any(p.ask)
						unknown := strings.Repeat("x", len(what))
						if test.kind == "resource" {
							unknown = strings.Replace(what, "inventory://", "inventory://x", 1)
							other = unknown
						}
						if want := renamed(c.use(test.kind, unknown, other), unknown,
							what); err == nil || err.Error() != want {
							t.Errorf("%s (%s) may not use %s, and gets %v; of an unknown one it would get %s",
								u.Name, roles[u.Name], name, err, want)
						}
					}
				}
			}
			for _, kind := range []string{"inactive", "none", "some", "all"} {
				if kinds[kind] == 0 {
					t.Errorf("no user is of kind %s: %v", kind, kinds)
				}
			}
			t.Logf("%v, %d uses", kinds, asked)
		})
	}
}

// isNobody holds that somebody whom the host does not know as active is refused as who has no token
// of use: with 403, whatever is asked.
func (w *world) isNobody(token string) {
	w.t.Helper()
	c := w.raw(token, "2026-07-28")
	answers := map[string]bool{}
	for _, name := range []string{"list_devices", "check_references", "no_such_tool"} {
		answers[strings.ReplaceAll(c.ask("tools/call", name,
			fmt.Sprintf(`"name":%q,"arguments":{}`, name)), name, "")] = true
		if c.status != 403 {
			w.t.Errorf("who is no user calls %s: %d", name, c.status)
		}
	}
	if c.ask("tools/list", "", ""); c.status != 403 {
		w.t.Errorf("who is no user lists: %d", c.status)
	}
	if len(answers) != 1 {
		w.t.Errorf("who is no user tells tools apart: %v", answers)
	}
}
