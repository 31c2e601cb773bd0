package grant_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpgen/mcpgen/runtime/grant"
)

// The laws of keepers are tried by the tests of package stored, on this one too. These are of
// memory alone.

func TestGrantsOfTheStartAreKeptAsTheyAre(t *testing.T) {
	broken := grant.Grant{ID: "default:1", Permission: grant.Permission{Type: "file.read",
		Resource: "["}, Client: "x"}
	m := grant.NewMemory(broken, grant.Grant{Permission: grant.Permission{Type: "file.read",
		Resource: "a/**"}, Client: "x"})
	got, revision, err := m.Grants(t.Context(), "", "x")
	if err != nil || len(got) != 2 || got[0].ID != "1" || got[0].Resource != "[" ||
		got[1].ID != "2" || revision == 0 {
		t.Errorf("%+v, %d, %v", got, revision, err)
	}
	if _, err := grant.NewSet(got...); err == nil {
		t.Error("a pattern that is none is compiled")
	}
}

func TestFollowersHearOfEachChangeAndHoldNobodyUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := grant.NewMemory()
		ctx, cancel := context.WithCancel(t.Context())
		changes := m.Changes(ctx)
		idle := m.Changes(ctx)
		give := func(client, resource string) {
			t.Helper()
			if _, err := m.Grant(ctx, grant.Grant{Permission: grant.Permission{Type: "file.read",
				Resource: resource}, Issuer: "i", Client: client}); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		heard := func(want grant.Change) {
			t.Helper()
			select {
			case got := <-changes:
				if got != want {
					t.Errorf("%+v, want %+v", got, want)
				}
			case <-time.After(time.Second):
				t.Errorf("nothing, want %+v", want)
			}
			synctest.Wait()
		}
		heard(grant.Change{})
		give("a", "x")
		heard(grant.Change{Issuer: "i", Client: "a"})
		give("a", "x") // offered
		give("b", "x") // waits
		give("b", "y") // and stays the same word
		heard(grant.Change{Issuer: "i", Client: "a"})
		heard(grant.Change{Issuer: "i", Client: "b"})
		give("a", "x")
		give("a", "y")
		give("b", "z")
		heard(grant.Change{Issuer: "i", Client: "a"})
		heard(grant.Change{})
		if none, err := m.Revoke(ctx, grant.Revocation{Issuer: "i", Client: "c",
			Type: "file.read"}); err != nil || len(none) > 0 {
			t.Error(none, err)
		}
		select {
		case c := <-changes:
			t.Errorf("%+v of nothing", c)
		case <-time.After(time.Second):
		}
		cancel()
		synctest.Wait()
		if _, open := <-changes; open {
			t.Error("told after the end")
		}
		if _, open := <-idle; open {
			t.Error("told after the end")
		}
		give("a", "after")
	})
}

func TestMemoryForgetsTheOldestRequestThatIsDecidedAndNeverAnOpenOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, m := t.Context(), grant.NewMemory()
		ask := func(client int) (grant.Request, error) {
			return m.Ask(ctx, grant.Request{Permission: grant.Permission{Type: "file.read",
				Resource: "x"}, Client: fmt.Sprint(client)})
		}
		for i := range 2_000 {
			if _, err := ask(i); err != nil {
				t.Fatal(i, err)
			}
		}
		if _, err := ask(2_000); !errors.Is(err, grant.ErrTooMany) {
			t.Fatal(err)
		}
		for _, id := range []string{"7", "5"} {
			if _, err := m.Deny(ctx, id, grant.Verdict{}); err != nil {
				t.Fatal(err)
			}
		}
		if r, err := ask(2_000); err != nil || r.ID != "2001" {
			t.Fatal(r, err)
		}
		if _, err := m.Request(ctx, "5"); !errors.Is(err, grant.ErrUnknown) {
			t.Error(err)
		}
		for _, id := range []string{"6", "7"} {
			if _, err := m.Request(ctx, id); err != nil {
				t.Error(err)
			}
		}
		time.Sleep(grant.Waits) // all are withdrawn
		if _, err := ask(20_000); err != nil {
			t.Error(err)
		}
	})
}

func TestMemoryListsPagesAndRevokes(t *testing.T) {
	ctx, m := t.Context(), grant.NewMemory()
	of := grant.Permission{Type: "db.read"}
	for _, resource := range []string{"a", "b", "c"} {
		of.Resource = resource
		if _, err := m.Grant(ctx, grant.Grant{Permission: of, Client: "x"}); err != nil {
			t.Fatal(err)
		}
	}
	list := func(f grant.Filter) (all string) {
		grants, err := m.List(ctx, f)
		if err != nil {
			t.Error(err)
		}
		for _, g := range grants {
			all += g.ID + g.Resource
		}
		return all
	}
	revoked, err := m.Revoke(ctx,
		grant.Revocation{Client: "x", Type: "db.read", Resource: "b", By: "eve"})
	if err != nil || len(revoked) != 1 {
		t.Errorf("%v, %v", revoked, err)
	}
	for f, want := range map[grant.Filter]string{{}: "1a3c", {After: "1"}: "3c", {After: "2"}: "3c",
		{After: "3"}: "", {Limit: 1}: "1a"} {
		if got := list(f); got != want {
			t.Errorf("%+v: %s, want %s", f, got, want)
		}
	}
	for _, id := range []string{"0", "-1", "01", "+1", "x", "1 "} {
		if _, err := m.List(ctx, grant.Filter{After: id}); !errors.Is(err, grant.ErrInvalid) {
			t.Errorf("%q is an id: %v", id, err)
		}
	}
}

// A second request is the same one if all parts of its permission are equal. The limits are those
// of the package.
func TestRequestsAreEqualInAllParts(t *testing.T) {
	ctx, m := t.Context(), grant.NewMemory()
	many := map[string]json.RawMessage{}
	for i := range grant.MaxParameters {
		many[fmt.Sprint("z", i)] = []byte("1")
	}
	for i, p := range []grant.Permission{{Type: "db.read", Resource: "a"},
		{Type: "db.write", Resource: "a"}, {Type: "db.read", Resource: "b"},
		{Type: "db.read", Resource: "a", Unrestricted: true},
		{Type: "db.read", Resource: "a", Parameters: many}} {
		for range 2 {
			r, err := m.Ask(ctx, grant.Request{Permission: p, Client: "x"})
			if err != nil || r.ID != fmt.Sprint(i+1) {
				t.Errorf("%+v: %s, %v", p, r.ID, err)
			}
		}
	}
	for i := range grant.MaxGrants + 1 {
		_, err := m.Grant(ctx, grant.Grant{Client: "y",
			Permission: grant.Permission{Type: "db.read", Resource: fmt.Sprint(i)}})
		if errors.Is(err, grant.ErrFull) != (i == grant.MaxGrants) {
			t.Fatalf("grant %d: %v", i, err)
		}
	}
	many["more"] = []byte("1")
	for _, p := range []grant.Permission{{},
		{Type: "db.read", Resource: "a", Parameters: many}} {
		if _, err := m.Ask(ctx, grant.Request{Permission: p, Client: "x"}); !errors.Is(err,
			grant.ErrInvalid) {
			t.Errorf("%d parameters: %v", len(p.Parameters), err)
		}
	}
	for i := range grant.MaxOpen + 1 {
		_, err := m.Ask(ctx, grant.Request{Client: "y",
			Permission: grant.Permission{Type: "db.read", Resource: fmt.Sprint(i)}})
		if errors.Is(err, grant.ErrTooMany) != (i == grant.MaxOpen) {
			t.Errorf("request %d: %v", i, err)
		}
	}
}

func TestWhatIsGivenOutIsNobodyElses(t *testing.T) {
	ctx, m := t.Context(), grant.NewMemory()
	p := grant.Permission{Type: "db.read", Resource: "t",
		Parameters: map[string]json.RawMessage{"k": []byte(`"v"`)}}
	given, err := m.Grant(ctx, grant.Grant{Permission: p, Client: "x"})
	asked, err2 := m.Ask(ctx, grant.Request{Permission: grant.Permission{Type: "db.read",
		Resource: "u", Parameters: p.Parameters}, Client: "x"})
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	for _, of := range []grant.Permission{p, given.Permission, asked.Permission} {
		copy(of.Parameters["k"], "1  ")
	}
	listed, err := m.List(ctx, grant.Filter{})
	requests, err2 := m.Requests(ctx, grant.Filter{})
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	if !slices.EqualFunc(listed, []string{`"v"`}, func(g grant.Grant, v string) bool {
		return string(g.Parameters["k"]) == v
	}) || string(requests[0].Parameters["k"]) != `"v"` {
		t.Errorf("%+v, %+v", listed, requests)
	}
}
