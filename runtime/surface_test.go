package runtime

import (
	"context"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/access"
)

// Whatever decides what is seen makes two callers of a session differ.
func TestCallersOfASessionSeeTheSameOnlyWhereAllThatDecidesIsEqual(t *testing.T) {
	permits := &access.Permits{}
	one := access.Principal{Subject: "ada", Role: "Viewer", Scopes: []string{"a", "b"}, Permits: permits}
	if !sees(one, one) {
		t.Error("one caller sees two things")
	}
	for name, change := range map[string]func(*access.Principal){
		"another subject":      func(p *access.Principal) { p.Subject = "bob" },
		"nobody":               func(p *access.Principal) { p.Subject = "" },
		"another role":         func(p *access.Principal) { p.Role = "Admin" },
		"another issuer":       func(p *access.Principal) { p.Issuer = "other" },
		"another organization": func(p *access.Principal) { p.Orgs = []access.Membership{{Name: "acme"}} },
		"another team":         func(p *access.Principal) { p.Teams = []access.Membership{{Name: "lab"}} },
		"another scope":        func(p *access.Principal) { p.Scopes = []string{"a", "c"} },
		"a scope less":         func(p *access.Principal) { p.Scopes = p.Scopes[:1] },
		"no scopes":            func(p *access.Principal) { p.Scopes = nil },
		"another host answer":  func(p *access.Principal) { p.Permits = new(access.Permits) },
	} {
		other := one
		change(&other)
		if sees(one, other) || sees(other, one) {
			t.Errorf("%s is taken for the same", name)
		}
	}
}

// watchOver is a watch of a server that serves nothing.
func watchOver(c *permitCache) *watch {
	table := access.Table{}
	return newWatch(&Server{table: table, host: &host{table: table, cache: c}, lists: newLists(table, Options{PageSize: 1}, nil, func(string, bool) {}), catalogs: newCatalogs(table, nil, nil)})
}

// A client hears nothing more once the credential of its last caller has ended, and the host is not asked for it.
func TestNobodyIsToldOnceTheCredentialHasEnded(t *testing.T) {
	c, asked := answering(time.Minute, 10, fine)
	w := watchOver(c)
	for name, test := range map[string]struct {
		expires time.Time
		known   bool
		asked   int64
	}{
		"ended":           {time.Now().Add(-time.Second), false, 0},
		"of another hour": {time.Now().Add(time.Hour), true, 1},
		"without an end":  {time.Time{}, true, 1},
		"that ends now":   {time.Now(), false, 0},
	} {
		c.invalidate(nil)
		asked.Store(0)
		o := newWatched(context.Background(), nil)
		o.principal, o.expires = ada(""), test.expires
		if _, known := w.surfaceOf(o); known != test.known || asked.Load() != test.asked {
			t.Errorf("a credential %s: looked %v, asked %d times", name, known, asked.Load())
		}
		o.end()
	}
}

// Middleware may hold a listening request back until the guard waits no longer and the client has left.
func TestWhoIsAcknowledgedTooLateIsNotWatched(t *testing.T) {
	c, _ := answering(time.Minute, 10, fine)
	w := watchOver(c)
	ack := &mcp.ServerRequest[*mcp.SubscriptionsAcknowledgedParams]{Params: &mcp.SubscriptionsAcknowledgedParams{}}
	for _, late := range []bool{false, true} {
		rec := &record{principal: ada("")}
		leave := w.listen(context.Background(), nil, rec)
		if late {
			leave()
		}
		w.acknowledged(rec, ack)
		if n := len(w.watched); (n == 0) != late {
			t.Errorf("late %v: %d are watched", late, n)
		}
		leave()
		if n := len(w.watched); n != 0 {
			t.Errorf("late %v: %d are watched after they have left", late, n)
		}
	}
}
