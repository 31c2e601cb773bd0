package pagerduty

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/PagerDuty/go-pagerduty"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/mcptest"
)

// upstream is the fake of PagerDuty. It keeps the requests that it gets.
type upstream struct {
	mu       sync.Mutex
	requests []string
	failing  bool
}

// answers are the bodies that the fake sends, by the method and the path of the request.
var answers = map[string]string{
	"GET /incidents": `{"limit":2,"offset":1,"more":true,"total":9,
		"incidents":[{"id":"Q1","title":"a <b> & c","service":{"id":"Q3"}},{"id":"Q4"}]}`,
	"POST /incidents":           `{"incident":{"id":"Q1","priority":{"id":"Q2","name":"P1"}}}`,
	"PUT /incidents":            `{"incidents":[{"id":"Q1","status":"resolved"}]}`,
	"GET /incidents/P1":         `{"incident":{"id":"P1","title":"a <b>","urgency":"high"}}`,
	"PUT /incidents/P1/merge":   `{"incident":{"id":"P1","is_mergeable":true}}`,
	"POST /incidents/P1/snooze": `{"incident":{"id":"P1","status":"acknowledged"}}`,
	"GET /incidents/P1/notes":   `{"notes":[{"id":"Q5","content":"n <b>","user":{"id":"Q6"}}]}`,
	"POST /incidents/P1/notes":  `{"note":{"id":"Q5","content":"n"}}`,
	"GET /incidents/P1/alerts":  `{"alerts":[{"id":"Q7","body":{"details":{"x":[1,"y"]}}}]}`,
	"GET /services":             `{"services":[{"id":"Q3","name":"web","status":"active"}]}`,
	"GET /services/P1":          `{"service":{"id":"P1","name":"web","auto_resolve_timeout":null}}`,
	"GET /oncalls":              `{"oncalls":[{"user":{"id":"Q6"},"escalation_level":1}]}`,
	"GET /schedules":            `{"schedules":[{"id":"Q8","name":"s"}]}`,
	"GET /schedules/P1":         `{"schedule":{"id":"P1","time_zone":"UTC"}}`,
	"GET /escalation_policies":  `{"escalation_policies":[{"id":"Q9","num_loops":2}]}`,
	"GET /users":                `{"users":[{"id":"Q6","name":"u"}]}`,
	"GET /users/P1":             `{"user":{"id":"P1","email":"u@example.com"}}`,
	"GET /teams":                `{"teams":[{"id":"Q10","name":"t"}]}`,
	"POST /maintenance_windows": `{"maintenance_window":{"id":"Q11","description":"d"}}`,
	"GET /priorities":           `{"priorities":[{"id":"Q2","name":"P1"}]}`,
	"GET /abilities":            `{"abilities":["sso","teams"]}`,
}

func (u *upstream) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.requests = append(u.requests, fmt.Sprintf("%s %s %q %q %q %s", r.Method, r.URL,
		r.Header["Authorization"], r.Header["From"], r.Header["Accept"], body))
	switch {
	case u.failing:
		w.WriteHeader(http.StatusBadRequest)
		io.WriteString(w, `{"error":{"code":2001,"message":"Invalid Input","errors":["no <b>"]}}`)
	case r.Method == http.MethodDelete:
		w.WriteHeader(http.StatusNoContent)
	default:
		io.WriteString(w, answers[r.Method+" "+r.URL.Path])
	}
}

// take returns the requests since the last call.
func (u *upstream) take() []string {
	u.mu.Lock()
	defer u.mu.Unlock()
	requests := u.requests
	u.requests = nil
	return requests
}

// start starts the fake, its client, and a server in front of it whose tokens are roles.
func start(t *testing.T) (fake *upstream, client *pagerduty.Client, url string) {
	t.Helper()
	fake = &upstream{}
	ts := httptest.NewServer(fake)
	t.Cleanup(ts.Close)
	client = pagerduty.NewClient("key", pagerduty.WithAPIEndpoint(ts.URL))
	verify := func(_ context.Context, token string) (identity.Identity, error) {
		return identity.Identity{Principal: access.Principal{Subject: token, Role: token}}, nil
	}
	server, err := runtime.New(runtime.Options{Identity: identity.Bearer(verify),
		Logger: slog.New(slog.DiscardHandler)}, Toolset(Client{client}))
	if err != nil {
		t.Fatal(err)
	}
	return fake, client, mcptest.Serve(t, server)
}

// calls has for each tool arguments, and the same call of the client. P1 is an id in a path.
var calls = []struct {
	tool, arguments string
	api             func(context.Context, *pagerduty.Client) (any, error)
}{
	{"list_incidents", `{}`, func(ctx context.Context, c *pagerduty.Client) (any, error) {
		return c.ListIncidentsWithContext(ctx, pagerduty.ListIncidentsOptions{})
	}},
	{"list_incidents", `{"Limit":2,"Statuses":["triggered","a & b"],"Total":true}`,
		func(ctx context.Context, c *pagerduty.Client) (any, error) {
			return c.ListIncidentsWithContext(ctx, pagerduty.ListIncidentsOptions{
				Limit: 2, Statuses: []string{"triggered", "a & b"}, Total: true})
		}},
	{"get_incident", `{"id":"P1"}`, func(ctx context.Context, c *pagerduty.Client) (any, error) {
		return c.GetIncidentWithContext(ctx, "P1")
	}},
	{"create_incident", `{"from":"u@example.com","incident":{"title":"a <b>",
		"service":{"id":"Q3","type":"service_reference"},"body":{"details":"d"}}}`,
		func(ctx context.Context, c *pagerduty.Client) (any, error) {
			return c.CreateIncidentWithContext(ctx, "u@example.com", &pagerduty.CreateIncidentOptions{
				Title: "a <b>", Service: &pagerduty.APIReference{ID: "Q3", Type: "service_reference"},
				Body: &pagerduty.APIDetails{Details: "d"}})
		}},
	{"manage_incidents", `{"from":"u@example.com","incidents":[{"id":"Q1","status":"resolved"}]}`,
		func(ctx context.Context, c *pagerduty.Client) (any, error) {
			return c.ManageIncidentsWithContext(ctx, "u@example.com",
				[]pagerduty.ManageIncidentsOptions{{ID: "Q1", Status: "resolved"}})
		}},
	{"merge_incidents", `{"from":"u@example.com","id":"P1","source_incidents":[{"id":"Q4"}]}`,
		func(ctx context.Context, c *pagerduty.Client) (any, error) {
			return c.MergeIncidentsWithContext(ctx, "u@example.com", "P1",
				[]pagerduty.MergeIncidentsOptions{{ID: "Q4"}})
		}},
	{"snooze_incident", `{"id":"P1","duration":60}`,
		func(ctx context.Context, c *pagerduty.Client) (any, error) {
			return c.SnoozeIncidentWithContext(ctx, "P1", 60)
		}},
	{"list_incident_notes", `{"id":"P1"}`,
		func(ctx context.Context, c *pagerduty.Client) (any, error) {
			return c.ListIncidentNotesWithContext(ctx, "P1")
		}},
	{"create_incident_note", `{"id":"P1","note":{"content":"n"}}`,
		func(ctx context.Context, c *pagerduty.Client) (any, error) {
			return c.CreateIncidentNoteWithContext(ctx, "P1", pagerduty.IncidentNote{Content: "n"})
		}},
	{"list_incident_alerts", `{"id":"P1","o":{"SortBy":"created_at"}}`,
		func(ctx context.Context, c *pagerduty.Client) (any, error) {
			return c.ListIncidentAlertsWithContext(ctx, "P1",
				pagerduty.ListIncidentAlertsOptions{SortBy: "created_at"})
		}},
	{"list_services", `{"Query":"web"}`,
		func(ctx context.Context, c *pagerduty.Client) (any, error) {
			return c.ListServicesWithContext(ctx, pagerduty.ListServiceOptions{Query: "web"})
		}},
	{"get_service", `{"id":"P1"}`, func(ctx context.Context, c *pagerduty.Client) (any, error) {
		return c.GetServiceWithContext(ctx, "P1", nil)
	}},
	{"get_service", `{"id":"P1","o":{"Includes":["teams"]}}`,
		func(ctx context.Context, c *pagerduty.Client) (any, error) {
			return c.GetServiceWithContext(ctx, "P1",
				&pagerduty.GetServiceOptions{Includes: []string{"teams"}})
		}},
	{"delete_service", `{"id":"P1"}`, func(ctx context.Context, c *pagerduty.Client) (any, error) {
		return nil, c.DeleteServiceWithContext(ctx, "P1")
	}},
	{"list_on_calls", `{"ScheduleIDs":["Q8"],"Earliest":true}`,
		func(ctx context.Context, c *pagerduty.Client) (any, error) {
			return c.ListOnCallsWithContext(ctx,
				pagerduty.ListOnCallOptions{ScheduleIDs: []string{"Q8"}, Earliest: true})
		}},
	{"list_schedules", `{}`, func(ctx context.Context, c *pagerduty.Client) (any, error) {
		return c.ListSchedulesWithContext(ctx, pagerduty.ListSchedulesOptions{})
	}},
	{"get_schedule", `{"id":"P1","o":{"TimeZone":"UTC"}}`,
		func(ctx context.Context, c *pagerduty.Client) (any, error) {
			return c.GetScheduleWithContext(ctx, "P1", pagerduty.GetScheduleOptions{TimeZone: "UTC"})
		}},
	{"list_escalation_policies", `{"UserIDs":["Q6"]}`,
		func(ctx context.Context, c *pagerduty.Client) (any, error) {
			return c.ListEscalationPoliciesWithContext(ctx,
				pagerduty.ListEscalationPoliciesOptions{UserIDs: []string{"Q6"}})
		}},
	{"list_users", `{}`, func(ctx context.Context, c *pagerduty.Client) (any, error) {
		return c.ListUsersWithContext(ctx, pagerduty.ListUsersOptions{})
	}},
	{"get_user", `{"id":"P1","o":{}}`,
		func(ctx context.Context, c *pagerduty.Client) (any, error) {
			return c.GetUserWithContext(ctx, "P1", pagerduty.GetUserOptions{})
		}},
	{"list_teams", `{"Query":"t"}`, func(ctx context.Context, c *pagerduty.Client) (any, error) {
		return c.ListTeamsWithContext(ctx, pagerduty.ListTeamOptions{Query: "t"})
	}},
	{"remove_user_from_team", `{"team_id":"P1","user_id":"P1"}`,
		func(ctx context.Context, c *pagerduty.Client) (any, error) {
			return nil, c.RemoveUserFromTeamWithContext(ctx, "P1", "P1")
		}},
	{"create_maintenance_window", `{"from":"u@example.com","o":{"start_time":"2026-01-02T03:04:05Z",
		"end_time":"2026-01-02T04:04:05Z","services":[{"id":"Q3","type":"service_reference"}]}}`,
		func(ctx context.Context, c *pagerduty.Client) (any, error) {
			return c.CreateMaintenanceWindowWithContext(ctx, "u@example.com",
				pagerduty.MaintenanceWindow{
					StartTime: "2026-01-02T03:04:05Z", EndTime: "2026-01-02T04:04:05Z",
					Services: []pagerduty.APIObject{{ID: "Q3", Type: "service_reference"}}})
		}},
	{"delete_maintenance_window", `{"id":"P1"}`,
		func(ctx context.Context, c *pagerduty.Client) (any, error) {
			return nil, c.DeleteMaintenanceWindowWithContext(ctx, "P1")
		}},
	{"list_priorities", `{}`, func(ctx context.Context, c *pagerduty.Client) (any, error) {
		return c.ListPrioritiesWithContext(ctx, pagerduty.ListPrioritiesOptions{})
	}},
	{"list_abilities", `{}`, func(ctx context.Context, c *pagerduty.Client) (any, error) {
		return c.ListAbilitiesWithContext(ctx)
	}},
}

// TestCalls compares each tool with the same call of the client: its request to PagerDuty, and its
// result as JSON or its error.
func TestCalls(t *testing.T) {
	fake, client, url := start(t)
	session := mcptest.Connect(t, url, "Admin", "")
	untested := mcptest.Tools(t, session)
	for _, failing := range []bool{false, true} {
		fake.failing = failing
		for _, c := range calls {
			untested = slices.DeleteFunc(untested, func(tool string) bool { return tool == c.tool })
			want, wantErr := c.api(t.Context(), client)
			if (wantErr != nil) != failing {
				t.Fatalf("%s: the client returns %v", c.tool, wantErr)
			}
			requests := fake.take()
			got := call(t, session, c.tool, c.arguments)
			switch text := mcptest.Text(got); {
			case failing && (!got.IsError || text != wantErr.Error()):
				t.Errorf("%s %s: error %v %s\nwant %v", c.tool, c.arguments, got.IsError, text, wantErr)
			case failing:
			case got.IsError:
				t.Errorf("%s %s: error %s", c.tool, c.arguments, text)
			case !reflect.DeepEqual(value(t, got), asJSON(t, want)):
				t.Errorf("%s %s: %v\nwant %v", c.tool, c.arguments, value(t, got), asJSON(t, want))
			}
			if now := fake.take(); !slices.Equal(now, requests) {
				t.Errorf("%s %s: requests %q\nwant %q", c.tool, c.arguments, now, requests)
			}
		}
	}
	if len(untested) > 0 {
		t.Errorf("tools without a call: %q", untested)
	}
}

// TestPaths: an id that would change the path of a request is refused.
func TestPaths(t *testing.T) {
	fake, _, url := start(t)
	session := mcptest.Connect(t, url, "Admin", "")
	refused := 0
	for _, c := range calls {
		if !strings.Contains(c.arguments, `"P1"`) {
			continue
		}
		for _, id := range []string{"", "..", "P1/notes", "../users/P1", "P1?x=1", "P1%2Fnotes",
			"P1\\n"} {
			arguments := strings.ReplaceAll(c.arguments, `"P1"`, `"`+id+`"`)
			got := call(t, session, c.tool, arguments)
			if !got.IsError || !strings.Contains(mcptest.Text(got), "does not match the pattern") {
				t.Errorf("%s %s: %s", c.tool, arguments, mcptest.Text(got))
			}
			refused++
		}
	}
	if requests := fake.take(); len(requests) > 0 || refused == 0 {
		t.Errorf("%d calls: requests %q", refused, requests)
	}
}

// TestRoles has the tools of each role, besides those of the role before it.
func TestRoles(t *testing.T) {
	fake, _, url := start(t)
	var listed []string
	for _, r := range []struct {
		role  string
		tools []string
	}{
		{"Viewer", []string{
			"get_incident", "get_schedule", "get_service", "get_user", "list_abilities",
			"list_escalation_policies", "list_incident_alerts", "list_incident_notes",
			"list_incidents", "list_on_calls", "list_priorities", "list_schedules", "list_services",
			"list_teams", "list_users",
		}},
		{"Member", []string{"create_incident", "create_incident_note", "manage_incidents",
			"merge_incidents", "snooze_incident"}},
		{"Manager", []string{"create_maintenance_window", "delete_maintenance_window",
			"remove_user_from_team"}},
		{"Admin", []string{"delete_service"}},
	} {
		listed = append(listed, r.tools...)
		slices.Sort(listed)
		session := mcptest.Connect(t, url, r.role, "")
		if got := mcptest.Tools(t, session); !slices.Equal(got, listed) {
			t.Errorf("%s is listed %q, want %q", r.role, got, listed)
		}
		for _, c := range calls {
			if slices.Contains(listed, c.tool) {
				continue
			}
			result, err := session.CallTool(t.Context(), &mcp.CallToolParams{
				Name: c.tool, Arguments: json.RawMessage(c.arguments)})
			if err == nil || !strings.Contains(err.Error(), "unknown tool") {
				t.Errorf("%s calls %s: %v, %v", r.role, c.tool, result, err)
			}
		}
	}
	if requests := fake.take(); len(requests) > 0 {
		t.Errorf("requests %q", requests)
	}
}

func call(t *testing.T, session *mcp.ClientSession, tool, arguments string) *mcp.CallToolResult {
	t.Helper()
	result, err := session.CallTool(t.Context(), &mcp.CallToolParams{
		Name: tool, Arguments: json.RawMessage(arguments)})
	if err != nil {
		t.Fatalf("%s %s: %v", tool, arguments, err)
	}
	return result
}

// value is the value of a result: its structured content, or the JSON in its text.
func value(t *testing.T, result *mcp.CallToolResult) (v any) {
	t.Helper()
	if structured, ok := result.StructuredContent.(map[string]any); ok {
		if list, ok := structured["result"]; ok {
			return list
		}
		return structured
	}
	if text := mcptest.Text(result); text != "" {
		if err := json.Unmarshal([]byte(text), &v); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
	}
	return v
}

// asJSON is what a value is in JSON.
func asJSON(t *testing.T, v any) (decoded any) {
	t.Helper()
	text, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(text, &decoded)
	}
	if err != nil {
		t.Fatal(err)
	}
	return decoded
}
