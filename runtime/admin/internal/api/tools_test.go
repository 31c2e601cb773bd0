package api_test

import (
	"context"
	"fmt"
	goruntime "runtime"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/catalog"
	"github.com/mcpgen/mcpgen/runtime/store"
)

// shown is what each caller is listed: canExecute of each tool.
func (w *world) shown(who, query string) string {
	w.Helper()
	got := w.send(who, "GET", "/api/v1/mcp/tools"+query, "")
	var all []string
	p := decoded[struct {
		Items []struct {
			Name       string
			CanExecute bool
			Off        bool
			Missing    string
		}
		Note string
	}](w, got)
	for _, tool := range p.Items {
		text := fmt.Sprintf("%s:%t", tool.Name, tool.CanExecute)
		if tool.Off {
			text += ":off"
		}
		if tool.Missing != "" {
			text += ":" + tool.Missing
		}
		all = append(all, text)
	}
	return fmt.Sprint(all, p.Note)
}

func TestToolsAreListedAsTheCallerMayUseThem(t *testing.T) {
	worlds(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		mine := must(w.CreateCatalog(ctx, store.InTeam(w.lab.ID), "mine", "", true, setup))
		for _, tool := range []string{"ask", "admin_only", "no_such_tool"} {
			must(w.AddEntry(ctx, store.InTeam(w.lab.ID), mine.ID, tool, "", setup))
		}
		for _, c := range []struct{ who, query, want string }{
			{"member", "", "[ask:true forbidden:false:needs role Admin read:true]"},
			{"root", "", "[admin_only:true ask:true forbidden:true read:true]"},
			{"member", "?catalog=kit", "[ask:true read:true]"}, {"member", "?catalog_id=code:basics", "[ask:true]"}, {"root", "?catalog=kit", "[admin_only:true ask:true read:true]"},
			{"member", "?catalog=&catalog_id=", "[ask:true forbidden:false:needs role Admin read:true]"}, {"member", "?catalog=mine", "[ask:true]"}, {"member", fmt.Sprintf("?catalog_id=%d&catalog=kit", mine.ID), "[ask:true]"},
		} {
			if got := w.shown(c.who, c.query); got != c.want {
				t.Errorf("%+v: %s", c, got)
			}
		}
		// Another tenant's is as one that never was: the whole list, with a note.
		theirs, none := w.shown("rival", fmt.Sprintf("?catalog_id=%d", mine.ID)), w.shown("rival", "?catalog_id=999")
		if theirs != none || theirs == w.shown("rival", "") {
			t.Errorf("%s, but %s", theirs, none)
		}
	})
}

func TestUnknownCatalogIsNotFoundWhereThatIsRequired(t *testing.T) {
	w := newWorld(t, engines["sqlite"](t), runtime.Options{
		Catalogs: runtime.CatalogOptions{Strict: true}})
	c := must(w.CreateCatalog(t.Context(), store.InTeam(w.lab.ID), "mine", "", true, setup))
	theirs, none := w.send("rival", "GET", fmt.Sprintf("/api/v1/mcp/tools?catalog_id=%d", c.ID), ""), w.send("rival", "GET", "/api/v1/mcp/tools?catalog_id=999", "")
	if theirs.status != 404 || !same(theirs, none) {
		t.Errorf("%s, but %s", theirs, none)
	}
}

func TestToolThatIsSwitchedOffIsShownToAdminsAlone(t *testing.T) {
	worlds(t, func(t *testing.T, w *world) {
		const at = "/api/v1/admin/mcp/tools/"
		set := func(tool string, enabled bool) {
			t.Helper()
			served := fmt.Sprint(slices.Contains([]string{"admin_only", "ask", "forbidden", "read"}, tool))
			got := w.send("root", "PUT", at+tool, fmt.Sprintf(`{"enabled":%t}`, enabled))
			read := w.send("root", "GET", at+tool, "")
			if got.status != 200 || got.field("enabled") != fmt.Sprint(enabled) || got.field("name") != tool || got.field("served") != served || read.body != got.body {
				t.Errorf("%s, then %s", got, read)
			}
		}
		set("ask", false)
		set("no_such_tool", false)
		// All that the server has, and what is off besides, page by page.
		switches := func() (all []string) {
			for _, name := range w.walk("/api/v1/admin/mcp/tools", 2, func() {}) {
				got := w.send("root", "GET", at+name, "")
				all = append(all, fmt.Sprintf("%s:%s:%s", name, got.field("enabled"), got.field("served")))
			}
			p, _ := w.page("/api/v1/admin/mcp/tools")
			for i, item := range p.Items {
				if got := fmt.Sprintf("%s:%v:%v", item["name"], item["enabled"], item["served"]); got != all[i] {
					t.Errorf("the list says %s, and the tool itself %s", got, all[i])
				}
			}
			return all
		}
		if got := fmt.Sprint(switches()); got != "[admin_only:true:true ask:false:true forbidden:true:true no_such_tool:false:false read:true:true]" {
			t.Error(got)
		}
		if got := w.send("root", "PATCH", at+"nope_tool", `{"enabled":true}`); got.status != 200 || got.field("served") != "false" || got.field("enabled") != "true" {
			t.Error(got)
		}
		eventually(t, func() bool {
			return w.shown("member", "") == "[forbidden:false:needs role Admin read:true]" && w.shown("root", "") == "[admin_only:true ask:false:off forbidden:true read:true]"
		})
		set("ask", true)
		set("no_such_tool", true)
		set("never", true)
		if got := fmt.Sprint(switches()); got != "[admin_only:true:true ask:true:true forbidden:true:true read:true:true]" {
			t.Error(got)
		}
		eventually(t, func() bool { return w.shown("member", "") == "[ask:true forbidden:false:needs role Admin read:true]" })
		if got := w.send("root", "GET", at+"never", ""); got.status != 200 || got.field("enabled") != "true" {
			t.Error(got)
		}
	})
}

func TestToolIsDescribedAsInMCP(t *testing.T) {
	w := newWorld(t, engines["sqlite"](t), runtime.Options{})
	p, _ := w.page("/api/v1/mcp/tools")
	i := slices.IndexFunc(p.Items, func(tool map[string]any) bool { return tool["name"] == "ask" })
	tool := p.Items[i]
	if tool["title"] != "Ask" || tool["description"] != "ask asks." || fmt.Sprint(tool["inputSchema"]) != "map[additionalProperties:false type:object]" || fmt.Sprint(tool["outputSchema"]) != "map[type:object]" || fmt.Sprint(tool["catalogs"]) != "[basics kit]" {
		t.Error(tool)
	}
}

// eventually waits for what another goroutine brings about, which has no event.
func eventually(t *testing.T, holds func() bool) {
	t.Helper()
	for range 10_000 {
		if holds() {
			return
		}
		goruntime.Gosched()
	}
	t.Fatal("it did not come to be")
}

// choosing is a server with one tool, whose values have rules.
type choosing struct{ runtime.Administered }

func (choosing) ListTools(context.Context, catalog.Ref) (runtime.Listing, error) {
	return runtime.Listing{Tools: []runtime.ListedTool{{Tool: &mcp.Tool{Name: "set"},
		Choices: []access.Choice{{Argument: "name", Values: []string{"rack"}}, {Argument: "to"}}}}}, nil
}

func TestToolsAreListedWithTheValuesOfTheCaller(t *testing.T) {
	w := newWorld(t, engines["sqlite"](t), runtime.Options{},
		func(s runtime.Administered) runtime.Administered { return choosing{s} })
	got := w.send("member", "GET", "/api/v1/mcp/tools", "").body
	const want = `"choices":[{"argument":"name","values":["rack"]},{"argument":"to","values":[]}]`
	if !strings.Contains(got, want) {
		t.Error(got)
	}
}
