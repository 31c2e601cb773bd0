package stored_test

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/mcpgen/mcpgen/runtime/grant"
	"github.com/mcpgen/mcpgen/runtime/grant/stored"
	"github.com/mcpgen/mcpgen/runtime/store"
)

// keeper is what the laws are of.
type keeper interface {
	grant.Keeper
	grant.Requests
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func open(t testing.TB, url string) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// replicas are two keepers of the same grants, by where those are. In memory they are one.
var replicas = map[string]func(t testing.TB) (keeper, keeper){
	"memory": func(testing.TB) (keeper, keeper) {
		m := grant.NewMemory()
		return m, m
	},
	"sqlite": func(t testing.TB) (keeper, keeper) {
		return pair(t, engines["sqlite"](t))
	},
	"postgresql": func(t testing.TB) (keeper, keeper) {
		return pair(t, engines["postgresql"](t))
	},
}

func pair(t testing.TB, url string) (keeper, keeper) {
	return stored.New(open(t, url), stored.Options{}), stored.New(open(t, url), stored.Options{})
}

// law tries what is true of every keeper: what is changed in k is read from both.
func law(t *testing.T, try func(t *testing.T, k, other keeper)) {
	t.Helper()
	for name, make := range replicas {
		t.Run(name, func(t *testing.T) {
			k, other := make(t)
			try(t, k, other)
		})
	}
}

// permission reads a line. It is unrestricted unless the line contains restricted.
func permission(line string) grant.Permission {
	if before, after, found := strings.Cut(line, " k="); !strings.Contains(line, "restricted") {
		line = before + " unrestricted"
		if found {
			line += " k=" + after
		}
	}
	return must(grant.Parse(line))
}

// line is the inverse of permission.
func line(p grant.Permission) string {
	return strings.Replace(p.String(), " unrestricted", "", 1)
}

func give(t *testing.T, k keeper, client, line string) grant.Grant {
	t.Helper()
	g, err := k.Grant(t.Context(), grant.Grant{Permission: permission(line), Issuer: "i",
		Client: client, By: "ada", Reason: "why not"})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func ask(t *testing.T, k keeper, client, line string) grant.Request {
	t.Helper()
	r, err := k.Ask(t.Context(), grant.Request{Permission: permission(line), Issuer: "i",
		Client: client, Principal: "bob", Tool: "read", Reason: "please"})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// has are the lines of what a client has, in the order of ids.
func has(t *testing.T, k keeper, issuer, client string) []string {
	t.Helper()
	grants, _, err := k.Grants(t.Context(), issuer, client)
	if err != nil {
		t.Fatal(err)
	}
	lines := []string{}
	for _, g := range grants {
		lines = append(lines, line(g.Permission))
	}
	return lines
}

func want(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestRevokingOnePatternLeavesTheOthers(t *testing.T) {
	law(t, func(t *testing.T, k, other keeper) {
		lines := []string{"file.read a/**", "file.read a/b/**", "file.read a/b/c restricted",
			"file.read b/**", "file.write a/**", "net.connect example.com:443"}
		for _, line := range lines {
			give(t, k, "x", line)
			give(t, k, "y", line)
		}
		give(t, k, "x", "file.read a/** restricted")
		give(t, k, "x", "db.read t")
		give(t, k, "x", "db.read t k=v")
		want(t, has(t, other, "i", "x"), append(slices.Clone(lines), "file.read a/** restricted",
			"db.read t", "db.read t k=v")...)

		narrowed := must(k.Revoke(t.Context(), grant.Revocation{Issuer: "i", Client: "x",
			Type: "db.read", Resource: "t"}))
		if len(narrowed) != 2 || string(narrowed[1].Parameters["k"]) != `"v"` {
			t.Errorf("%+v", narrowed)
		}
		// One pattern, however it is restricted and narrowed: those that it covers stay, and those
		// that cover it.
		gone := must(k.Revoke(t.Context(), grant.Revocation{Issuer: "i", Client: "x",
			Type: "file.read", Resource: "a/**", By: "ada"}))
		if len(gone) != 2 || line(gone[0].Permission) != lines[0] ||
			line(gone[1].Permission) != "file.read a/** restricted" {
			t.Errorf("%+v", gone)
		}
		want(t, has(t, other, "i", "x"), lines[1:]...)
		want(t, has(t, other, "i", "y"), lines...)

		// What is not there, by pattern, type, client and issuer.
		for _, r := range []grant.Revocation{
			{Issuer: "i", Client: "x", Type: "file.read", Resource: "a/**"},
			{Issuer: "i", Client: "x", Type: "file.read", Resource: "["},
			{Issuer: "i", Client: "x", Type: "file", Resource: ""}, {Issuer: "i", Client: "z",
				Type: "file.read"}, {Issuer: "j", Client: "y", Type: "file.read"},
			{Issuer: "i", Client: "x\x00", Type: "file.read\x00", Resource: "\xff"},
		} {
			if gone, err := k.Revoke(t.Context(), r); err != nil || len(gone) != 0 {
				t.Errorf("%+v: %v, %v", r, gone, err)
			}
		}
		want(t, has(t, other, "i", "x"), lines[1:]...)

		gone = must(k.Revoke(t.Context(), grant.Revocation{Issuer: "i", Client: "x",
			Type: "net.connect", Resource: "EXAMPLE.com:443"}))
		if len(gone) != 1 {
			t.Errorf("%+v", gone)
		}
		want(t, has(t, other, "i", "x"), lines[1:5]...)
		gone = must(k.Revoke(t.Context(), grant.Revocation{Issuer: "i", Client: "x",
			Type: "file.read"}))
		if len(gone) != 3 {
			t.Errorf("%+v", gone)
		}
		want(t, has(t, other, "i", "x"), "file.write a/**")
		want(t, has(t, other, "i", "y"), lines...)
	})
}

func TestSamePermissionIsRenewedUnderItsOldID(t *testing.T) {
	law(t, func(t *testing.T, k, other keeper) {
		first := give(t, k, "x", "net.connect example.com:443")
		beside := give(t, k, "x", "net.connect example.com:443 restricted")
		_, before, _ := other.Grants(t.Context(), "i", "x")
		until := time.Now().Add(time.Hour).UTC().Truncate(time.Microsecond)
		again, err := k.Grant(t.Context(), grant.Grant{
			ID: "77", Permission: grant.Permission{Type: "net.connect", Resource: "Example.COM:443",
				Unrestricted: true, Parameters: map[string]json.RawMessage{}}, Issuer: "i",
			Client: "x",
			By:     "eve", Reason: "longer", Expires: until, Created: until,
		})
		if err != nil {
			t.Fatal(err)
		}
		now := time.Now()
		if again.ID != first.ID || again.By != "eve" || again.Reason != "longer" ||
			!again.Expires.Equal(until) || again.Created.After(now) ||
			again.Resource != "example.com:443" {
			t.Errorf("%+v after %+v", again, first)
		}
		all, after, err := other.Grants(t.Context(), "i", "x")
		if err != nil || len(all) != 2 || all[0].ID != again.ID || all[0].By != "eve" ||
			!all[0].Expires.Equal(until) || all[1].ID != beside.ID || before == after {
			t.Errorf("%+v, %d → %d, %v", all, before, after, err)
		}
	})
}

func TestGrantThatHasExpiredStaysAndDoesNotCount(t *testing.T) {
	law(t, func(t *testing.T, k, other keeper) {
		soon := time.Now().Add(time.Hour) // the time of the decision
		if _, err := k.Grant(t.Context(), grant.Grant{Permission: permission("db.read t"),
			Client: "x", Expires: soon}); err != nil {
			t.Fatal(err)
		}
		grants, _, err := other.Grants(t.Context(), "", "x")
		if err != nil || len(grants) != 1 {
			t.Fatal(grants, err)
		}
		set := must(grant.NewSet(grants...))
		if !set.Decide(soon.Add(-time.Second), grant.Query{Kind: "db.read", Resource: "t"}).Allowed {
			t.Error("refused before it expires")
		}
		if d := set.Decide(soon, grant.Query{Kind: "db.read", Resource: "t"}); d.Allowed ||
			d.Cause != grant.HasExpired {
			t.Errorf("%+v", d)
		}
	})
}

func TestClientOfAnotherIssuerHasNothing(t *testing.T) {
	law(t, func(t *testing.T, k, other keeper) {
		give(t, k, "x", "file.read a/**")
		ask(t, k, "x", "file.read b/**")
		for _, of := range [][2]string{{"j", "x"}, {"", "x"}, {"i", ""}, {"", ""}, {"I", "x"},
			{"i", "X"}, {"i", "x "}, {"i", "x\x00"}, {"i", "\xff"},
			{"i", strings.Repeat("x", 600)}} {
			want(t, has(t, other, of[0], of[1]))
		}
		if r := must(k.Ask(t.Context(), grant.Request{Permission: permission("file.read b/**"),
			Issuer: "j", Client: "x"})); r.Issuer != "j" {
			t.Errorf("%+v", r)
		}
		if all := must(other.Requests(t.Context(), grant.Filter{Issuer: "j"})); len(all) != 1 {
			t.Errorf("%+v", all)
		}
	})
}

func TestWhatAKeeperDoesNotTake(t *testing.T) {
	good := grant.Grant{Permission: permission("file.read a/**"), Issuer: "i", Client: "x",
		By: "ada", Reason: "two\nlines"}
	long := map[string]json.RawMessage{}
	for i := range 3 {
		long[fmt.Sprint("k", i)] = json.RawMessage(`"` + strings.Repeat("v", 4000) + `"`)
	}
	many := map[string]json.RawMessage{}
	for i := range 17 {
		many[fmt.Sprint("k", i)] = json.RawMessage("0")
	}
	wrong := map[string]func(g *grant.Grant){
		"resource": func(g *grant.Grant) { g.Resource = "[" },
		"no dot":   func(g *grant.Grant) { g.Type = "file" },
		"NUL": func(g *grant.Grant) {
			g.Permission = grant.Permission{Type: "db.read", Resource: "a\x00"}
		},
		"more than 16":          func(g *grant.Grant) { g.Parameters = many },
		"more than 8192":        func(g *grant.Grant) { g.Parameters = long },
		"the client is missing": func(g *grant.Grant) { g.Client = "" },
		"the client has 513 bytes": func(g *grant.Grant) {
			g.Client = strings.Repeat("x", 513)
		},
		"the issuer: byte 0 is not UTF-8":              func(g *grant.Grant) { g.Issuer = "\xff" },
		"the granting administrator: U+FFFD at byte 0": func(g *grant.Grant) { g.By = "\ufffd" },
		"the reason: U+001B at byte 0":                 func(g *grant.Grant) { g.Reason = "\x1b[2J" },
		"the reason: 1001 bytes": func(g *grant.Grant) {
			g.Reason = strings.Repeat("x", 1001)
		},
		"has passed: choose a later": func(g *grant.Grant) { g.Expires = time.Now() },
	}
	law(t, func(t *testing.T, k, other keeper) {
		for message, spoil := range wrong {
			g := good
			spoil(&g)
			if _, err := k.Grant(t.Context(), g); !errors.Is(err, grant.ErrInvalid) ||
				!strings.Contains(err.Error(), message) {
				t.Errorf("%s: %v", message, err)
			}
			if message == "the granting administrator: U+FFFD at byte 0" ||
				strings.HasPrefix(message, "has passed") {
				continue // requests have neither
			}
			_, err := k.Ask(t.Context(), grant.Request{Permission: g.Permission, Issuer: g.Issuer,
				Client: g.Client, Reason: g.Reason})
			if !errors.Is(err, grant.ErrInvalid) || !strings.Contains(err.Error(), message) {
				t.Errorf("%s: %v", message, err)
			}
		}
		if _, err := k.Revoke(t.Context(), grant.Revocation{Issuer: "i", Client: "x",
			Type: "file.read", Reason: strings.Repeat("x", 1001)}); !errors.Is(err,
			grant.ErrInvalid) {
			t.Error(err)
		}
		for _, after := range []string{"x", "0", "-1", "01", "9223372036854775808"} {
			_, err := k.List(t.Context(), grant.Filter{After: after})
			_, err2 := k.Requests(t.Context(), grant.Filter{After: after})
			if !errors.Is(err, grant.ErrInvalid) || !errors.Is(err2, grant.ErrInvalid) {
				t.Error(after, err, err2)
			}
		}
		if all := must(other.List(t.Context(), grant.Filter{})); len(all) != 0 {
			t.Errorf("%+v", all)
		}
		if g, err := k.Grant(t.Context(), good); err != nil || g.Reason != good.Reason {
			t.Error(g, err)
		}
	})
}

// TestClientRequestsNoParameterThatReadsAsTheRestriction: an administrator would read
// "restricted=true" in the line of an unrestricted permission.
func TestClientRequestsNoParameterThatReadsAsTheRestriction(t *testing.T) {
	law(t, func(t *testing.T, k, _ keeper) {
		for _, key := range []string{"restricted", "unrestricted"} {
			p := permission("db.read t unrestricted " + key + "=true")
			_, err := k.Ask(t.Context(), grant.Request{Permission: p, Client: "x"})
			if !errors.Is(err, grant.ErrInvalid) || !strings.Contains(err.Error(), key) {
				t.Errorf("%s: %v", key, err)
			}
			must(k.Grant(t.Context(), grant.Grant{Permission: p, Client: "x"}))
		}
	})
}

// TestClientHasSoManyGrantsAndNoMore has most of them come past the keeper of a store, which is
// quicker.
func TestClientHasSoManyGrantsAndNoMore(t *testing.T) {
	t.Run("memory", func(t *testing.T) {
		m := grant.NewMemory()
		fill(t, m, m, grant.MaxGrants)
		full(t, m, m)
	})
	stores(t, func(t *testing.T, url string, _ *store.Store) {
		const past = grant.MaxGrants - 40
		driver, source, now := "pgx", url, "now()"
		if file, ok := strings.CutPrefix(url, "sqlite:"); ok {
			driver, source, now = "sqlite", file, "1"
		}
		db := must(sql.Open(driver, source))
		defer db.Close()
		if _,
			err := db.Exec(
			fmt.Sprintf(
				`INSERT INTO grants (issuer, client, type, resource, restricted, parameters, digest, granted_by, reason, created_at)
			WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d)
			SELECT '', 'x', 'db.read', 'past ' || i, FALSE, '{}', 'sha256:' || i, '', '', %s FROM n`, past, now)); err != nil {
			t.Fatal(err)
		}
		k, other := pair(t, url)
		fill(t, k, other, grant.MaxGrants-past)
		full(t, k, other)
	})
}

// fill grants a client so much, by both at once.
func fill(t *testing.T, k, other keeper, grants int) {
	t.Helper()
	var filling sync.WaitGroup
	for w := range 4 {
		filling.Go(func() {
			for i := range grants / 4 {
				if _, err := []keeper{k, other}[w%2].Grant(t.Context(),
					grant.Grant{Permission: permission(fmt.Sprint("db.read t", w, "-", i)),
						Client: "x"}); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	filling.Wait()
	if t.Failed() {
		t.FailNow()
	}
}

// full tries what comes to a client that has as much as it may.
func full(t *testing.T, k, other keeper) {
	t.Helper()
	more := grant.Grant{Permission: permission("db.read more"), Client: "x"}
	if _, err := k.Grant(t.Context(), more); !errors.Is(err, grant.ErrFull) {
		t.Fatal(err)
	}
	r := must(k.Ask(t.Context(), grant.Request{Permission: more.Permission, Client: "x"}))
	if _, _, err := k.Approve(t.Context(), r.ID, grant.Verdict{}); !errors.Is(err, grant.ErrFull) {
		t.Fatal(err)
	}
	if r = must(other.Request(t.Context(), r.ID)); r.Status != grant.Open {
		t.Errorf("%+v", r)
	}
	if all := must(other.List(t.Context(),
		grant.Filter{Client: "x"})); len(all) != grant.MaxGrants {
		t.Error(len(all))
	}
	// There is room for others, and for what is there already.
	for _, g := range []grant.Grant{{Permission: more.Permission, Client: "y"},
		{Permission: permission("db.read t0-0"), Client: "x"}} {
		if _, err := k.Grant(t.Context(), g); err != nil {
			t.Error(err)
		}
	}
	must(k.Revoke(t.Context(), grant.Revocation{Client: "x", Type: "db.read", Resource: "t0-0"}))
	if _, g, err := k.Approve(t.Context(), r.ID, grant.Verdict{}); err != nil ||
		g.Resource != "more" {
		t.Error(g, err)
	}
}

func TestListsAreFilteredAndPaged(t *testing.T) {
	law(t, func(t *testing.T, k, other keeper) {
		lines := []string{"file.read a/**", "net.connect b.example", "file.read c/**",
			"file.write a/**"}
		for i, line := range lines {
			for _, client := range []string{"x", "y"} {
				give(t, k, client, line)
				r := ask(t, k, client, line)
				switch i {
				case 0:
					_, _, err := k.Approve(t.Context(), r.ID, grant.Verdict{By: "ada"})
					if err != nil {
						t.Fatal(err)
					}
				case 1:
					must(k.Deny(t.Context(), r.ID, grant.Verdict{By: "ada"}))
				}
			}
		}
		for _, c := range []struct {
			filter   grant.Filter
			grants   string // ids, in order
			requests string
		}{
			{grant.Filter{}, "1 2 3 4 5 6 7 8", "8 7 6 5 4 3 2 1"},
			{grant.Filter{Issuer: "i"}, "1 2 3 4 5 6 7 8", "8 7 6 5 4 3 2 1"},
			{grant.Filter{Issuer: "j"}, "", ""},
			{grant.Filter{Client: "x"}, "1 3 5 7", "7 5 3 1"},
			{grant.Filter{Type: "file.read"}, "1 2 5 6", "6 5 2 1"},
			{grant.Filter{Type: "file.read", Client: "y", Issuer: "i"}, "2 6", "6 2"},
			{grant.Filter{Type: "file\x00", Client: "\xff"}, "", ""},
			{grant.Filter{ID: "3"}, "3", "3"},
			{grant.Filter{ID: "3", Client: "y"}, "", ""},
			{grant.Filter{ID: "9"}, "", ""},
			{grant.Filter{ID: "03"}, "", ""},
			{grant.Filter{Limit: 3}, "1 2 3", "8 7 6"},
			{grant.Filter{Limit: 3, After: "6"}, "7 8", "5 4 3"},
			{grant.Filter{Limit: 5000, After: "8"}, "", "7 6 5 4 3 2 1"},
			{grant.Filter{After: "7", Client: "x", Limit: -1}, "", "5 3 1"},
			{grant.Filter{Status: grant.Open}, "1 2 3 4 5 6 7 8", "8 7 6 5"},
			{grant.Filter{Status: grant.Approved, Limit: 1}, "1", "2"},
			{grant.Filter{Status: grant.Refused, Client: "x"}, "1 3 5 7", "3"},
			{grant.Filter{Status: grant.Withdrawn}, "1 2 3 4 5 6 7 8", ""},
			{grant.Filter{Status: "\x00"}, "1 2 3 4 5 6 7 8", ""},
		} {
			var ids, asked []string
			for _, g := range must(other.List(t.Context(), c.filter)) {
				ids = append(ids, g.ID)
			}
			for _, r := range must(other.Requests(t.Context(), c.filter)) {
				asked = append(asked, r.ID)
			}
			if got, got2 := strings.Join(ids, " "), strings.Join(asked, " "); got != c.grants ||
				got2 != c.requests {
				t.Errorf("%+v: %q, %q", c.filter, got, got2)
			}
		}
	})
}

// TestExactFilterChoosesOneClientAndNoOther has clients of one name, of which one is of no issuer.
func TestExactFilterChoosesOneClientAndNoOther(t *testing.T) {
	law(t, func(t *testing.T, k, other keeper) {
		for _, issuer := range []string{"i", "", "j"} {
			for _, client := range []string{"x", "y"} {
				must(k.Grant(t.Context(), grant.Grant{Permission: permission("file.read a/**"),
					Issuer: issuer, Client: client}))
				must(k.Ask(t.Context(), grant.Request{Permission: permission("file.read b/**"),
					Issuer: issuer, Client: client}))
			}
		}
		for _, c := range []struct {
			filter grant.Filter
			want   string // ids of grants, in order
		}{
			{grant.Filter{Client: "x"}, "1 3 5"}, {grant.Filter{Client: "x", Exact: true}, "3"},
			{grant.Filter{Client: "x", Issuer: "i", Exact: true}, "1"},
			{grant.Filter{Issuer: "j"}, "5 6"}, {grant.Filter{Issuer: "j", Exact: true}, ""},
			{grant.Filter{Exact: true}, ""}, {grant.Filter{Client: "x", Issuer: "k", Exact: true},
				""},
			{grant.Filter{Client: "y", Exact: true, Type: "file.read", Status: grant.Open}, "4"},
			{grant.Filter{Client: "y", Exact: true, Type: "file.write"}, ""},
		} {
			var ids, asked []string
			for _, g := range must(other.List(t.Context(), c.filter)) {
				ids = append(ids, g.ID)
			}
			for _, r := range must(other.Requests(t.Context(), c.filter)) {
				asked = append([]string{r.ID}, asked...)
			}
			if got, got2 := strings.Join(ids, " "), strings.Join(asked, " "); got != c.want ||
				got2 != c.want {
				t.Errorf("%+v: %q, %q, want %q", c.filter, got, got2, c.want)
			}
		}
	})
}

func TestAskingTwiceIsAskingOnce(t *testing.T) {
	law(t, func(t *testing.T, k, other keeper) {
		first := ask(t, k, "x", "net.connect example.com:443")
		if first.Status != grant.Open || first.Created.IsZero() || !first.Decided.IsZero() ||
			first.Principal != "bob" || first.Tool != "read" || first.Reason != "please" {
			t.Errorf("%+v", first)
		}
		again, err := other.Ask(t.Context(), grant.Request{
			ID: "7", Permission: grant.Permission{Type: "net.connect", Resource: "EXAMPLE.com:443",
				Unrestricted: true},
			Issuer: "i", Client: "x", Reason: "again", Status: grant.Approved, By: "x", Grant: "1",
		})
		if err != nil || fmt.Sprint(again) != fmt.Sprint(first) {
			t.Errorf("%+v, %v; want %+v", again, err, first)
		}
		if got := must(other.Request(t.Context(), first.ID)); fmt.Sprint(got) != fmt.Sprint(first) {
			t.Errorf("%+v, want %+v", got, first)
		}
		if narrower := ask(t, k, "x",
			"net.connect example.com:443 restricted"); narrower.ID == first.ID {
			t.Errorf("%+v", narrower)
		}
		// Many at once are one too.
		var asking sync.WaitGroup
		ids := make([]string, 20)
		for i := range ids {
			asking.Go(func() {
				ids[i] = must([]keeper{k, other}[i%2].Ask(t.Context(),
					grant.Request{Permission: permission("db.read t"), Client: "y"})).ID
			})
		}
		asking.Wait()
		if slices.Sort(ids); len(slices.Compact(ids)) != 1 {
			t.Error(ids)
		}
		// After the decision, it can be requested again.
		must(k.Deny(t.Context(), first.ID, grant.Verdict{By: "ada"}))
		if next := ask(t, k, "x", "net.connect example.com:443"); next.ID == first.ID {
			t.Errorf("%+v", next)
		}
	})
}

func TestClientHasSoManyOpenRequestsAndNoMore(t *testing.T) {
	law(t, func(t *testing.T, k, other keeper) {
		var asking sync.WaitGroup
		var mu sync.Mutex
		asked, refused := 0, 0
		for i := range 2 * grant.MaxOpen {
			asking.Go(func() {
				_, err := []keeper{k, other}[i%2].Ask(t.Context(),
					grant.Request{Permission: permission(fmt.Sprint("db.read t", i)), Client: "x"})
				mu.Lock()
				defer mu.Unlock()
				switch {
				case err == nil:
					asked++
				case errors.Is(err, grant.ErrTooMany):
					refused++
				default:
					t.Error(err)
				}
			})
		}
		asking.Wait()
		if asked != grant.MaxOpen || refused != grant.MaxOpen {
			t.Errorf("%d asked, %d refused", asked, refused)
		}
		open := must(other.Requests(t.Context(), grant.Filter{Client: "x"}))
		if again, err := k.Ask(t.Context(), grant.Request{Permission: open[3].Permission,
			Client: "x"}); err != nil || again.ID != open[3].ID {
			t.Error(again, err)
		}
		ask(t, k, "y", "db.read t")
		must(k.Deny(t.Context(), open[0].ID, grant.Verdict{}))
		if _, err := k.Ask(t.Context(), grant.Request{Permission: permission("db.read room"),
			Client: "x"}); err != nil {
			t.Error(err)
		}
	})
}

func TestOfManyWhoDecideAtOnceOneDoes(t *testing.T) {
	law(t, func(t *testing.T, k, other keeper) {
		for round := range 5 {
			r := ask(t, k, "x", fmt.Sprint("db.read t", round))
			const deciders = 20
			errs := make([]error, deciders)
			var deciding sync.WaitGroup
			start := make(chan bool)
			for i := range deciders {
				deciding.Go(func() {
					who, v := []keeper{k, other}[i%2], grant.Verdict{By: fmt.Sprint(i),
						Note: fmt.Sprint("note ", i)}
					<-start
					if i%4 < 2 {
						_, _, errs[i] = who.Approve(t.Context(), r.ID, v)
					} else {
						_, errs[i] = who.Deny(t.Context(), r.ID, v)
					}
				})
			}
			close(start)
			deciding.Wait()
			by := -1
			for i, err := range errs {
				switch {
				case err == nil && by < 0:
					by = i
				case !errors.Is(err, grant.ErrDecided):
					t.Errorf("%d beside %d: %v", i, by, err)
				}
			}
			r = must(other.Request(t.Context(), r.ID))
			if by < 0 || r.By != fmt.Sprint(by) || r.Note != fmt.Sprint("note ", by) ||
				r.Decided.Before(r.Created) || (r.Status == grant.Approved) != (by%4 < 2) {
				t.Fatalf("%d, %+v", by, r)
			}
			granted := slices.Contains(has(t, other, "i", "x"), line(r.Permission))
			if granted != (r.Status == grant.Approved) || (r.Grant != "") != granted {
				t.Errorf("%+v, %v", r, granted)
			}
		}
	})
}

func TestApprovalGivesLessAndNeverMore(t *testing.T) {
	law(t, func(t *testing.T, k, other keeper) {
		r := ask(t, k, "x", "file.read a/**")
		for _, line := range []string{"file.read **", "file.read b/c", "file.write a/b"} {
			if _, _, err := k.Approve(t.Context(), r.ID, grant.Verdict{By: "ada",
				Permission: permission(line)}); !errors.Is(err, grant.ErrInvalid) ||
				!strings.Contains(err.Error(), "more than the request") {
				t.Errorf("%s: %v", line, err)
			}
		}
		for _, v := range []grant.Verdict{
			{Permission: grant.Permission{Type: "file.read"}},
			{Expires: time.Now().Add(-time.Second)}, {By: "\x00"},
			{Note: strings.Repeat("x", 1001)},
		} {
			if _, _, err := k.Approve(t.Context(), r.ID, v); !errors.Is(err, grant.ErrInvalid) {
				t.Errorf("%+v: %v", v, err)
			}
		}
		if _, err := k.Deny(t.Context(), r.ID, grant.Verdict{Note: "\x1b"}); !errors.Is(err,
			grant.ErrInvalid) {
			t.Error(err)
		}
		if now := must(other.Request(t.Context(), r.ID)); now.Status != grant.Open {
			t.Fatalf("%+v", now)
		}
		want(t, has(t, other, "i", "x"))
		until := time.Now().Add(time.Hour).UTC().Truncate(time.Microsecond)
		decided, g, err := k.Approve(t.Context(), r.ID, grant.Verdict{By: "ada", Note: "only this",
			Permission: permission("file.read a/b restricted"), Expires: until})
		if err != nil {
			t.Fatal(err)
		}
		if decided.Status != grant.Approved || decided.Grant != g.ID || decided.By != "ada" ||
			decided.Note != "only this" || line(decided.Permission) != "file.read a/**" {
			t.Errorf("%+v", decided)
		}
		all, _, _ := other.Grants(t.Context(), "i", "x")
		if len(all) != 1 || fmt.Sprint(all[0]) != fmt.Sprint(g) ||
			line(g.Permission) != "file.read a/b restricted" || g.By != "ada" ||
			g.Reason != "only this" || !g.Expires.Equal(until) {
			t.Errorf("%+v, %+v", all, g)
		}
		// A grant that is revoked takes nothing from what was decided.
		must(k.Revoke(t.Context(), grant.Revocation{Issuer: "i", Client: "x", Type: "file.read"}))
		if now := must(other.Request(t.Context(), r.ID)); fmt.Sprint(now) != fmt.Sprint(decided) {
			t.Errorf("%+v, want %+v", now, decided)
		}
	})
}

func TestWhatIsUnknownOrDecidedIsReportedAsThat(t *testing.T) {
	law(t, func(t *testing.T, k, _ keeper) {
		for _, id := range []string{"", "1", "01", "x", "-1", "99999999999999999999"} {
			_, err := k.Request(t.Context(), id)
			_, _, err2 := k.Approve(t.Context(), id, grant.Verdict{})
			_, err3 := k.Deny(t.Context(), id, grant.Verdict{})
			for _, err := range []error{err, err2, err3} {
				if !errors.Is(err, grant.ErrUnknown) {
					t.Errorf("%q: %v", id, err)
				}
			}
		}
		approved, denied := ask(t, k, "x", "db.read a"), ask(t, k, "x", "db.read b")
		if _, _, err := k.Approve(t.Context(), approved.ID, grant.Verdict{}); err != nil {
			t.Fatal(err)
		}
		must(k.Deny(t.Context(), denied.ID, grant.Verdict{}))
		for _, r := range []grant.Request{approved, denied} {
			_, _, err := k.Approve(t.Context(), r.ID, grant.Verdict{})
			_, err2 := k.Deny(t.Context(), r.ID, grant.Verdict{})
			if !errors.Is(err, grant.ErrDecided) || !errors.Is(err2, grant.ErrDecided) {
				t.Error(err, err2)
			}
		}
	})
}

// TestKeepersAreWhatAMapIs does whatever comes to a keeper and to a map of lines.
func TestKeepersAreWhatAMapIs(t *testing.T) {
	for name, make := range replicas {
		t.Run(name, func(t *testing.T) {
			run := 0
			rapid.Check(t, func(r *rapid.T) {
				k, other := keeper(nil), keeper(nil)
				if name == "memory" || run == 0 {
					k, other = make(t)
					shared[t.Name()] = [2]keeper{k, other}
				} else {
					k, other = shared[t.Name()][0], shared[t.Name()][1]
				}
				run++
				modelled(t, r, k, other, fmt.Sprint("issuer ", run))
			})
		})
	}
}

// shared are the keepers of a test whose databases are slow to make: each run has an issuer of its
// own there.
var shared = map[string][2]keeper{}

func modelled(t *testing.T, r *rapid.T, k, other keeper, issuer string) {
	ctx := t.Context()
	patterns := rapid.SampledFrom([]string{"file.read a/**", "file.read a/b",
		"file.read a/** restricted", "db.read t k=v", "file.write a/**", "net.connect h.example:1",
		"db.read t"})
	clients := rapid.SampledFrom([]string{"x", "y"})
	model := map[string]map[string]string{"x": {}, "y": {}} // the reason by the line, by the client
	requests := map[string]grant.Status{}                   // by the id
	lines := map[string][2]string{}                         // the client and the line of a request
	seen := map[string]uint64{}
	said := map[string]string{}
	r.Repeat(map[string]func(*rapid.T){
		"grant": func(r *rapid.T) {
			client, line, reason := clients.Draw(r, "client"), patterns.Draw(r, "line"),
				rapid.SampledFrom([]string{"one", "two"}).Draw(r, "reason")
			if _, err := k.Grant(ctx, grant.Grant{Permission: permission(line), Issuer: issuer,
				Client: client, Reason: reason}); err != nil {
				r.Fatal(err)
			}
			model[client][line] = reason
		},
		"revoke": func(r *rapid.T) {
			client, p := clients.Draw(r, "client"), permission(patterns.Draw(r, "line"))
			if rapid.Bool().Draw(r, "all") {
				p.Resource = ""
			}
			gone, err := k.Revoke(ctx, grant.Revocation{Issuer: issuer, Client: client,
				Type: p.Type, Resource: p.Resource})
			if err != nil {
				r.Fatal(err)
			}
			n := 0
			maps.DeleteFunc(model[client], func(line, _ string) bool {
				q := permission(line)
				met := q.Type == p.Type && (p.Resource == "" || q.Resource == p.Resource)
				if met {
					n++
				}
				return met
			})
			if len(gone) != n {
				r.Fatalf("%d revoked, want %d", len(gone), n)
			}
		},
		"ask": func(r *rapid.T) {
			client, line := clients.Draw(r, "client"), patterns.Draw(r, "line")
			asked, err := k.Ask(ctx, grant.Request{Permission: permission(line), Issuer: issuer,
				Client: client})
			if err != nil {
				r.Fatal(err)
			}
			for id, status := range requests {
				if status == grant.Open && lines[id] == [2]string{client, line} && id != asked.ID {
					r.Fatalf("%s beside %s", asked.ID, id)
				}
			}
			if status, found := requests[asked.ID]; found && status != grant.Open {
				r.Fatalf("%s is %s", asked.ID, status)
			}
			requests[asked.ID], lines[asked.ID] = grant.Open, [2]string{client, line}
		},
		"decide": func(r *rapid.T) {
			if len(requests) == 0 {
				r.Skip("none")
			}
			id := rapid.SampledFrom(slices.Sorted(maps.Keys(requests))).Draw(r, "id")
			var err error
			verdict := rapid.SampledFrom([]grant.Status{grant.Approved, grant.Refused}).Draw(r,
				"verdict")
			if verdict == grant.Approved {
				_, _, err = k.Approve(ctx, id, grant.Verdict{Note: "asked"})
			} else {
				_, err = k.Deny(ctx, id, grant.Verdict{})
			}
			if requests[id] != grant.Open {
				if !errors.Is(err, grant.ErrDecided) {
					r.Fatal(err)
				}
				return
			}
			if err != nil {
				r.Fatal(err)
			}
			if requests[id] = verdict; verdict == grant.Approved {
				model[lines[id][0]][lines[id][1]] = "asked"
			}
		},
		"": func(r *rapid.T) {
			for client, want := range model {
				grants, revision, err := other.Grants(ctx, issuer, client)
				if err != nil {
					r.Fatal(err)
				}
				got := map[string]string{}
				text := fmt.Sprint(grants)
				for _, g := range grants {
					got[line(g.Permission)] = g.Reason
				}
				if !maps.Equal(got, want) || len(grants) != len(want) {
					r.Fatalf("%s has %v, want %v", client, grants, want)
				}
				if before, found := said[client]; found && seen[client] == revision &&
					text != before {
					r.Fatalf("revision %d was %s and is %s", revision, before, text)
				}
				seen[client], said[client] = revision, text
			}
			for _, status := range []grant.Status{grant.Open, grant.Approved, grant.Refused} {
				var want []string
				for id, s := range requests {
					if s == status {
						want = append(want, id)
					}
				}
				var got []string
				for _, q := range must(other.Requests(ctx, grant.Filter{Issuer: issuer,
					Status: status})) {
					got = append(got, q.ID)
				}
				slices.Sort(got)
				if slices.Sort(want); !slices.Equal(got, want) {
					r.Fatalf("%s are %v, want %v", status, got, want)
				}
			}
		},
	})
}
