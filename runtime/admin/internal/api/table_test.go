package api_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/boundary"
	"github.com/mcpgen/mcpgen/runtime/store"
)

// callers are the columns of the table: nobody, a token that is none, and people. What they are is
// in acme and in its lab, but for orglead and lablead, who are in one of them, rival, who owns
// another tenant, and root, an admin of the server.
var callers = append([]string{"", "forged"}, people...)

// bounds are the boundaries of agents.
var bounds = map[string]boundary.Boundary{
	"bounded":  {Roles: []string{"*"}, Items: []string{"*"}},
	"readonly": {Roles: []string{"*"}, Items: []string{"*"}, ReadOnly: true},
	"ended":    {Roles: []string{"*"}, Items: []string{"*"}, Until: time.Unix(1, 0)},
}

// rows say what each caller gets for each operation on what is acme's, in the order of callers.
// Agents get the same as a member. %d in a body is another number each time.
var rows = map[string]struct{ body, want string }{
	// Columns: nobody forged stranger member lead admin owner orglead lablead rival root.
	"whoami":             {"", "401 401 200 200 200 200 200 200 200 200 200"},
	"list-tool-catalogs": {"", "401 401 200 200 200 200 200 200 200 200 200"},
	"list-tools":         {"", "401 401 200 200 200 200 200 200 200 200 200"},
	"get-openapi-json":   {"", "401 401 200 200 200 200 200 200 200 200 200"},
	"get-openapi-yaml":   {"", "401 401 200 200 200 200 200 200 200 200 200"},

	"list-own-grants":         {"", "401 401 200 200 200 200 200 200 200 200 200"},
	"check-own-grants":        {"", "401 401 200 200 200 200 200 200 200 200 200"},
	"list-own-grant-requests": {"", "401 401 200 200 200 200 200 200 200 200 200"},
	"create-own-grant-request": {
		`{"type":"file.read","resource":"public/%d","reason":"for the report"}`,
		"401 401 201 201 201 201 201 201 201 201 201"},
	"get-own-grant-request": {"", "401 401 200 200 200 200 200 200 200 200 200"},

	"list-org-tool-catalogs": {"", "401 401 404 403 200 200 200 200 404 404 200"},
	"create-org-tool-catalog": {`{"name":"new %d"}`,
		"401 401 404 403 201 201 201 201 404 404 201"},
	"get-org-tool-catalog": {"", "401 401 404 403 200 200 200 200 404 404 200"},
	"update-org-tool-catalog": {`{"description":"new"}`,
		"401 401 404 403 200 200 200 200 404 404 200"},
	"delete-org-tool-catalog":       {"", "401 401 404 403 204 204 204 204 404 404 204"},
	"list-org-tool-catalog-entries": {"", "401 401 404 403 200 200 200 200 404 404 200"},
	"create-org-tool-catalog-entry": {`{"tool_name":"new"}`,
		"401 401 404 403 201 201 201 201 404 404 201"},
	"delete-org-tool-catalog-entry": {"", "401 401 404 403 204 204 204 204 404 404 204"},
	"list-team-tool-catalogs":       {"", "401 401 404 403 200 200 200 404 200 404 200"},
	"create-team-tool-catalog": {`{"name":"new %d"}`,
		"401 401 404 403 201 201 201 404 201 404 201"},
	"get-team-tool-catalog": {"", "401 401 404 403 200 200 200 404 200 404 200"},
	"update-team-tool-catalog": {`{"is_active":false}`,
		"401 401 404 403 200 200 200 404 200 404 200"},
	"delete-team-tool-catalog":       {"", "401 401 404 403 204 204 204 404 204 404 204"},
	"list-team-tool-catalog-entries": {"", "401 401 404 403 200 200 200 404 200 404 200"},
	"create-team-tool-catalog-entry": {`{"tool_name":"new"}`,
		"401 401 404 403 201 201 201 404 201 404 201"},
	"delete-team-tool-catalog-entry": {"", "401 401 404 403 204 204 204 404 204 404 204"},

	"list-admin-tool-catalogs": {"", "401 401 403 403 403 403 403 403 403 403 200"},
	"create-admin-tool-catalog": {`{"name":"new %d"}`,
		"401 401 403 403 403 403 403 403 403 403 201"},
	"get-admin-tool-catalog": {"", "401 401 403 403 403 403 403 403 403 403 200"},
	"update-admin-tool-catalog": {`{"name":"new %d"}`,
		"401 401 403 403 403 403 403 403 403 403 200"},
	"delete-admin-tool-catalog":       {"", "401 401 403 403 403 403 403 403 403 403 204"},
	"list-admin-tool-catalog-entries": {"", "401 401 403 403 403 403 403 403 403 403 200"},
	"create-admin-tool-catalog-entry": {`{"tool_name":"new"}`,
		"401 401 403 403 403 403 403 403 403 403 201"},
	"delete-admin-tool-catalog-entry": {"", "401 401 403 403 403 403 403 403 403 403 204"},
	"list-orgs":                       {"", "401 401 403 403 403 403 403 403 403 403 200"},
	"create-org": {`{"name":"new %d"}`,
		"401 401 403 403 403 403 403 403 403 403 201"},
	"get-org": {"", "401 401 403 403 403 403 403 403 403 403 200"},
	"update-org": {`{"name":"new %d"}`,
		"401 401 403 403 403 403 403 403 403 403 200"},
	"delete-org": {"", "401 401 403 403 403 403 403 403 403 403 204"},
	"list-teams": {"", "401 401 403 403 403 403 403 403 403 403 200"},
	"create-team": {`{"org_id":"ORG","name":"new %d"}`,
		"401 401 403 403 403 403 403 403 403 403 201"},
	"get-team": {"", "401 401 403 403 403 403 403 403 403 403 200"},
	"update-team": {`{"name":"new %d"}`,
		"401 401 403 403 403 403 403 403 403 403 200"},
	"delete-team":  {"", "401 401 403 403 403 403 403 403 403 403 204"},
	"list-members": {"", "401 401 403 403 403 403 403 403 403 403 200"},
	"create-member": {`{"org_id":"ORG","issuer":"","subject":"new %d","standing":"lead"}`,
		"401 401 403 403 403 403 403 403 403 403 201"},
	"get-member": {"", "401 401 403 403 403 403 403 403 403 403 200"},
	"update-member": {`{"standing":"owner"}`,
		"401 401 403 403 403 403 403 403 403 403 200"},
	"delete-member":      {"", "401 401 403 403 403 403 403 403 403 403 204"},
	"list-manifests":     {"", "401 401 403 403 403 403 403 403 403 403 200"},
	"list-tool-switches": {"", "401 401 403 403 403 403 403 403 403 403 200"},
	"get-tool-switch":    {"", "401 401 403 403 403 403 403 403 403 403 200"},
	"set-tool-switch": {`{"enabled":false}`,
		"401 401 403 403 403 403 403 403 403 403 200"},
	"update-tool-switch": {`{"enabled":true}`,
		"401 401 403 403 403 403 403 403 403 403 200"},

	"list-boundaries": {"", "401 401 403 403 403 403 403 403 403 403 200"},
	"create-boundary": {`{"issuer":"","client":"new %d","roles":["Member"],"items":"*"}`,
		"401 401 403 403 403 403 403 403 403 403 201"},
	"get-boundary": {"", "401 401 403 403 403 403 403 403 403 403 200"},
	"update-boundary": {`{"blocked":true}`,
		"401 401 403 403 403 403 403 403 403 403 200"},
	"delete-boundary":  {"", "401 401 403 403 403 403 403 403 403 403 204"},
	"list-clients":     {"", "401 401 403 403 403 403 403 403 403 403 200"},
	"suggest-boundary": {"", "401 401 403 403 403 403 403 403 403 403 200"},

	// What may be done on the machine is for admins of the server, also if another user owns an
	// organisation.
	"list-grants": {"", "401 401 403 403 403 403 403 403 403 403 200"},
	"grant": {
		`{"issuer":"https://id.example","client":"desk","type":"file.read","resource":"public/%d","reason":"for the report"}`, "401 401 403 403 403 403 403 403 403 403 201"},
	"get-grant": {"", "401 401 403 403 403 403 403 403 403 403 200"},
	"revoke-grants": {
		`{"issuer":"https://id.example","client":"desk","type":"file.read","resource":"public/old","reason":"it is over"}`, "401 401 403 403 403 403 403 403 403 403 200"},
	"list-grant-requests": {"", "401 401 403 403 403 403 403 403 403 403 200"},
	"get-grant-request":   {"", "401 401 403 403 403 403 403 403 403 403 200"},
	"approve-grant-request": {`{"note":"until it is done"}`,
		"401 401 403 403 403 403 403 403 403 403 200"},
	"deny-grant-request": {`{"note":"ask the owner"}`,
		"401 401 403 403 403 403 403 403 403 403 200"},
	"clear-workspace": {`{"issuer":"https://id.example","client":"desk"}`,
		"401 401 403 403 403 403 403 403 403 403 200"},
	"list-audit-events":   {"", "401 401 403 403 403 403 403 403 403 403 200"},
	"export-audit-events": {"", "401 401 403 403 403 403 403 403 403 403 200"},
	"prune-audit-events": {`{"before":"2020-01-01T00:00:00Z"}`,
		"401 401 403 403 403 403 403 403 403 403 200"},
}

func TestEveryRouteRespondsToEveryKindOfCallerAsInTheTable(t *testing.T) {
	keepers(t, func(t *testing.T, w *world) {
		w.joinAgents()
		for name, b := range bounds {
			must(w.CreateBound(t.Context(), boundary.Party{Issuer: issuer, Client: name + "'s client"}, b,
				setup))
		}
		all := w.operations()
		if len(all) != len(rows) {
			t.Errorf("the API has %d operations, the table %d", len(all), len(rows))
		}
		for _, op := range all {
			row, ok := rows[op.id]
			if !ok {
				t.Errorf("%s %s (%s) is not in the table", op.method, op.path, op.id)
				continue
			}
			want := strings.Fields(row.want)
			if len(want) != len(callers) {
				t.Fatalf("%s: the row has %d columns, not %d", op.id, len(want), len(callers))
			}
			for i, who := range slices.Concat(callers, agents) {
				if i >= len(callers) {
					i = slices.Index(callers, "member")
				}
				w.n++
				body := strings.NewReplacer("%d", fmt.Sprint(w.n), "ORG",
					fmt.Sprint(w.acme.ID)).Replace(row.body)
				w.asker = who
				path := at(op.path, w.acme.ID, w.lab.ID, w.thing(op.path, w.acmePlace(op.path)))
				var headers []string
				if strings.HasPrefix(op.id, "update-") && !strings.HasSuffix(op.id, "switch") {
					headers = []string{"If-Match", `"1"`}
				}
				w.recorded()
				w.refusals.take()
				got := w.send(who, op.method, path, body, headers...)
				if fmt.Sprint(got.status) != want[i] {
					t.Errorf("%s as %q: %s, not %s", op.id, who, got, want[i])
				}
				w.wellRecorded(t, op, who, got)
			}
		}
	})
}

// wellRecorded checks that a change is recorded with who made it, a refusal with who was refused,
// that the audit trail is read with who reads it, and nothing else.
func (w *world) wellRecorded(t *testing.T, op operation, who string, got reply) {
	t.Helper()
	want := 0
	// which finds nothing that old
	if got.status < 300 && op.method != "GET" && op.id != "prune-audit-events" {
		want = 1
	}
	changes := w.recorded()
	var refused, reads []audit.Event
	for _, e := range w.refusals.take() {
		switch {
		case e.Type == audit.Changed:
			changes = append(changes, store.Recorded{Event: e})
		case e.Status == audit.Success:
			reads = append(reads, e)
		default:
			refused = append(refused, e)
		}
	}
	if len(changes) != want {
		t.Errorf("%s as %q: %d changes, not %d", op.id, who, len(changes), want)
	}
	for _, e := range changes {
		if e.Type != audit.Changed || e.Status != audit.Success || e.Issuer != issuer ||
			e.Principal != who || e.Client != who+"'s client" || e.RequestID == "" ||
			e.Roles == nil && who != "ended" || e.Action == "" || e.Object == "" ||
			(len(e.Arguments) > 0) != (op.method != "DELETE") {
			t.Errorf("%s as %q: recorded as %+v", op.id, who, e)
		}
	}
	if trail := (strings.HasSuffix(op.id, "-audit-events") || op.id == "suggest-boundary") &&
		op.method == "GET" && got.status == 200; len(reads) > 1 || trail != (len(reads) == 1) {
		t.Errorf("%s as %q: reads %+v", op.id, who, reads)
	}
	for _, e := range reads {
		if e.Type != audit.AdminRequest || e.Action != op.id || e.Principal != who ||
			e.RequestID == "" || e.Object == "" || e.Time.IsZero() {
			t.Errorf("%s as %q: recorded as %+v", op.id, who, e)
		}
	}
	if (got.status == 403 || got.status == 404) != (len(refused) == 1) || len(refused) > 1 {
		t.Fatalf("%s as %q: %d, and refusals %+v", op.id, who, got.status, refused)
	}
	for _, e := range refused {
		if e.Type != audit.AdminRequest || e.Failure != audit.Denied || e.Action != op.id ||
			e.Principal != who || e.RequestID != got.id || e.Object == "" || e.Missing == "" ||
			e.Time.IsZero() || e.Arguments != nil {
			t.Errorf("%s as %q: recorded as %+v", op.id, who, e)
		}
	}
}
