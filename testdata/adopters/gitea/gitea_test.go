package gitea

import (
	"bytes"
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
	"time"

	"code.gitea.io/sdk/gitea"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/mcptest"
)

// upstream is the fake of a Gitea server. It keeps the requests that it gets.
type upstream struct {
	mu       sync.Mutex
	requests []string
	failing  bool
}

// found is the result of a search.
type found struct {
	Data []gitea.Repository `json:"data"`
}

// answers are the bodies that the fake sends, by the method and the path of the request.
var answers = map[string]any{
	"GET /user":                                full[gitea.User](),
	"GET /repos/search":                        found{full[[]gitea.Repository]()},
	"GET /repos/ada/engine":                    full[gitea.Repository](),
	"GET /repos/ada/engine/languages":          map[string]int64{"Go": 7003, "C": 12},
	"GET /repos/ada/engine/raw/docs/a b.md":    "# Notes\n\nA <line>, \"quoted\".\n",
	"GET /repos/ada/engine/branches":           full[[]gitea.Branch](),
	"GET /repos/ada/engine/labels":             full[[]gitea.Label](),
	"GET /repos/ada/engine/milestones":         full[[]gitea.Milestone](),
	"GET /repos/ada/engine/issues":             full[[]gitea.Issue](),
	"GET /repos/ada/engine/issues/7":           full[gitea.Issue](),
	"GET /repos/ada/engine/issues/7/comments":  []gitea.Comment{},
	"GET /repos/ada/engine/pulls/8":            full[gitea.PullRequest](),
	"GET /repos/ada/engine/pulls/8.diff":       "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-1\n+2\n",
	"GET /repos/ada/engine/releases/latest":    full[gitea.Release](),
	"POST /repos/ada/engine/issues":            full[gitea.Issue](),
	"PATCH /repos/ada/engine/issues/7":         full[gitea.Issue](),
	"POST /repos/ada/engine/issues/7/comments": full[gitea.Comment](),
	"POST /repos/ada/engine/issues/7/labels":   full[[]gitea.Label](),
	"POST /repos/ada/engine/releases":          full[gitea.Release](),
	"POST /repos/ada/engine/pulls/8/merge":     "",
	"PUT /repos/ada/engine/topics":             "",
	"DELETE /repos/ada/engine":                 "",
}

func (u *upstream) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.requests = append(u.requests, fmt.Sprintf("%s %s %s %s",
		r.Method, r.URL, r.Header.Get("Authorization"), body))
	answer, known := answers[r.Method+" "+strings.TrimPrefix(r.URL.Path, "/api/v1")]
	switch {
	case u.failing:
		w.WriteHeader(http.StatusConflict)
		answer = map[string]string{"message": "the repository is archived"}
	case !known:
		w.WriteHeader(http.StatusNotFound)
		answer = map[string]string{"message": "no route for " + r.URL.Path}
	}
	if text, ok := answer.(string); ok {
		io.WriteString(w, text)
		return
	}
	json.NewEncoder(w).Encode(answer)
}

// seen returns the requests since the last call.
func (u *upstream) seen() []string {
	u.mu.Lock()
	defer u.mu.Unlock()
	seen := u.requests
	u.requests = nil
	return seen
}

// full is a value of an API type in which every field has a value, down to a depth of four.
func full[T any]() T {
	var v T
	fill(reflect.ValueOf(&v).Elem(), 4)
	return v
}

func fill(v reflect.Value, depth int) {
	if depth < 0 {
		return
	}
	if t, ok := v.Addr().Interface().(*time.Time); ok {
		*t = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), depth-1)
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), depth)
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range v.Len() {
			fill(v.Index(i), depth-1)
		}
	case reflect.String:
		v.SetString("a <" + v.Type().Name() + ">")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(1<<53 - 1)
	}
}

// forge starts the fake, and the port in front of it. The port has a token for each role, which is
// the role's name. The Gitea token of a caller is "gitea-" and the role.
func forge(t *testing.T) (fake *upstream, f *Forge, url string) {
	t.Helper()
	fake = &upstream{}
	ts := httptest.NewServer(fake)
	t.Cleanup(ts.Close)
	f = &Forge{URL: ts.URL, Version: "1.24.0"}
	verify := func(_ context.Context, token string) (identity.Identity, error) {
		secret := "gitea-" + token
		return identity.Identity{Principal: access.Principal{Subject: token, Roles: []string{token}},
			Value: identity.NewValue(Token(secret), secret)}, nil
	}
	server, err := runtime.New(runtime.Options{Identity: identity.Bearer(verify),
		Logger: slog.New(slog.DiscardHandler)}, Toolset(f))
	if err != nil {
		t.Fatal(err)
	}
	return fake, f, mcptest.Serve(t, server)
}

// ada is the repository of the calls, as arguments.
const ada = `"owner":"ada","repo":"engine"`

func pointer[T any](v T) *T { return &v }

var noon = time.Date(2026, 5, 6, 12, 0, 0, 0, time.UTC)

// list is the page of a list that the port asks for by default.
var list = gitea.ListOptions{Page: 1, PageSize: 20}

// calls has for each tool arguments, and the same call of the Go API.
var calls = []struct {
	tool, arguments string
	api             func(*gitea.Client) (any, error)
}{
	{"whoami", `{}`, func(c *gitea.Client) (any, error) {
		return first(c.GetMyUserInfo())
	}},
	{"search_repositories", `{"keyword":"k&r","archived":false,"sort":"size","page":2,"limit":3}`,
		func(c *gitea.Client) (any, error) {
			return first(c.SearchRepos(gitea.SearchRepoOptions{Keyword: "k&r", Sort: "size",
				IsArchived: pointer(false), ListOptions: gitea.ListOptions{Page: 2, PageSize: 3}}))
		}},
	{"get_repository", `{` + ada + `}`, func(c *gitea.Client) (any, error) {
		return first(c.GetRepo("ada", "engine"))
	}},
	{"get_languages", `{` + ada + `}`, func(c *gitea.Client) (any, error) {
		return first(c.GetRepoLanguages("ada", "engine"))
	}},
	{"read_file", `{` + ada + `,"path":"docs/a b.md"}`, func(c *gitea.Client) (any, error) {
		text, err := first(c.GetFile("ada", "engine", "", "docs/a b.md"))
		return string(text), err
	}},
	{"list_branches", `{` + ada + `}`, func(c *gitea.Client) (any, error) {
		return first(c.ListRepoBranches("ada", "engine",
			gitea.ListRepoBranchesOptions{ListOptions: list}))
	}},
	{"list_labels", `{` + ada + `}`, func(c *gitea.Client) (any, error) {
		return first(c.ListRepoLabels("ada", "engine",
			gitea.ListLabelsOptions{ListOptions: list}))
	}},
	{"list_milestones", `{` + ada + `,"state":"all"}`, func(c *gitea.Client) (any, error) {
		return first(c.ListRepoMilestones("ada", "engine",
			gitea.ListMilestoneOption{State: gitea.StateAll}))
	}},
	{"list_issues", `{` + ada + `,"labels":["bug","ui"],"created_by":"bob"}`,
		func(c *gitea.Client) (any, error) {
			return first(c.ListRepoIssues("ada", "engine", gitea.ListIssueOption{
				ListOptions: list, State: gitea.StateOpen, Type: gitea.IssueTypeIssue,
				Labels: []string{"bug", "ui"}, CreatedBy: "bob"}))
		}},
	{"get_issue", `{` + ada + `,"index":7}`, func(c *gitea.Client) (any, error) {
		return first(c.GetIssue("ada", "engine", 7))
	}},
	{"list_comments", `{` + ada + `,"index":7}`, func(c *gitea.Client) (any, error) {
		return first(c.ListIssueComments("ada", "engine", 7, gitea.ListIssueCommentOptions{}))
	}},
	{"get_pull_request", `{` + ada + `,"index":8}`, func(c *gitea.Client) (any, error) {
		return first(c.GetPullRequest("ada", "engine", 8))
	}},
	{"get_pull_request_diff", `{` + ada + `,"index":8}`, func(c *gitea.Client) (any, error) {
		text, err := first(c.GetPullRequestDiff("ada", "engine", 8, gitea.PullRequestDiffOptions{}))
		return string(text), err
	}},
	{"get_latest_release", `{` + ada + `}`, func(c *gitea.Client) (any, error) {
		return first(c.GetLatestRelease("ada", "engine"))
	}},
	{"create_issue", `{` + ada + `,"title":"It breaks","labels":[3],
		"due_date":"2026-05-06T12:00:00Z"}`,
		func(c *gitea.Client) (any, error) {
			return first(c.CreateIssue("ada", "engine", gitea.CreateIssueOption{
				Title: "It breaks", Labels: []int64{3}, Deadline: &noon}))
		}},
	{"edit_issue", `{` + ada + `,"index":7,"state":"closed","due_date":null}`,
		func(c *gitea.Client) (any, error) {
			return first(c.EditIssue("ada", "engine", 7, gitea.EditIssueOption{
				State: pointer(gitea.StateClosed), RemoveDeadline: pointer(true)}))
		}},
	{"edit_issue", `{` + ada + `,"index":7,"body":"","due_date":"2026-05-06T12:00:00Z"}`,
		func(c *gitea.Client) (any, error) {
			return first(c.EditIssue("ada", "engine", 7, gitea.EditIssueOption{
				Body: pointer(""), Deadline: &noon}))
		}},
	{"add_comment", `{` + ada + `,"index":7,"body":"Fixed."}`, func(c *gitea.Client) (any, error) {
		return first(c.CreateIssueComment("ada", "engine", 7,
			gitea.CreateIssueCommentOption{Body: "Fixed."}))
	}},
	{"add_labels", `{` + ada + `,"index":7,"labels":[3,4]}`, func(c *gitea.Client) (any, error) {
		return first(c.AddIssueLabels("ada", "engine", 7,
			gitea.IssueLabelsOption{Labels: []int64{3, 4}}))
	}},
	{"create_release", `{` + ada + `,"tag_name":"v2","target_commitish":"main","name":"Two",
		"body":"","draft":true,"prerelease":false}`, func(c *gitea.Client) (any, error) {
		return first(c.CreateRelease("ada", "engine", gitea.CreateReleaseOption{
			TagName: "v2", Target: "main", Title: "Two", IsDraft: true}))
	}},
	{"merge_pull_request", `{` + ada + `,"index":8,"style":"squash"}`,
		func(c *gitea.Client) (any, error) {
			return first(c.MergePullRequest("ada", "engine", 8,
				gitea.MergePullRequestOption{Style: gitea.MergeStyleSquash}))
		}},
	{"set_topics", `{` + ada + `,"topics":["go","mcp"]}`, func(c *gitea.Client) (any, error) {
		_, err := c.SetRepoTopics("ada", "engine", []string{"go", "mcp"})
		return nil, err
	}},
	{"delete_repository", `{` + ada + `}`, func(c *gitea.Client) (any, error) {
		_, err := c.DeleteRepo("ada", "engine")
		return nil, err
	}},
}

func first[T any](result T, _ *gitea.Response, err error) (T, error) { return result, err }

// Each tool sends the request of the Go API, with the caller's own token, and has its result.
func TestToolsAreTheGoAPI(t *testing.T) {
	fake, f, url := forge(t)
	session := mcptest.Connect(t, url, "Admin", "")
	client, err := gitea.NewClient(f.URL, gitea.SetToken("gitea-Admin"),
		gitea.SetGiteaVersion(f.Version))
	if err != nil {
		t.Fatal(err)
	}
	untested := map[string]bool{}
	for _, tool := range mcptest.Tools(t, session) {
		untested[tool] = true
	}
	for _, c := range calls {
		delete(untested, c.tool)
		want, err := c.api(client)
		if err != nil {
			t.Errorf("%s: the API: %v", c.tool, err)
			continue
		}
		wantRequests := fake.seen()
		got := result(t, session, c.tool, c.arguments)
		if !reflect.DeepEqual(got, values(t, want)) {
			t.Errorf("%s: result\n%v, want\n%v", c.tool, got, values(t, want))
		}
		if requests := fake.seen(); !slices.Equal(requests, wantRequests) {
			t.Errorf("%s: requests\n%q, want\n%q", c.tool, requests, wantRequests)
		}
	}
	if len(untested) > 0 {
		t.Errorf("tools without a call: %v", untested)
	}
}

// An error of the API is the error of the tool, with its text.
func TestErrorsAreThoseOfTheGoAPI(t *testing.T) {
	fake, f, url := forge(t)
	fake.failing = true
	session := mcptest.Connect(t, url, "Admin", "")
	client, err := gitea.NewClient(f.URL, gitea.SetGiteaVersion(f.Version))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range calls {
		_, want := c.api(client)
		if want == nil { // the merge of a pull request is false then
			continue
		}
		got, err := session.CallTool(t.Context(), &mcp.CallToolParams{
			Name: c.tool, Arguments: json.RawMessage(c.arguments)})
		if err != nil || !got.IsError || mcptest.Text(got) != want.Error() {
			t.Errorf("%s: %v, %v; want the error %q", c.tool, got, err, want)
		}
	}
}

// result is the value of a tool's result: its text, or its JSON if it is JSON.
func result(t *testing.T, session *mcp.ClientSession, tool, arguments string) any {
	t.Helper()
	result, err := session.CallTool(t.Context(), &mcp.CallToolParams{
		Name: tool, Arguments: json.RawMessage(arguments)})
	if err != nil {
		t.Fatalf("%s: %v", tool, err)
	}
	if result.IsError {
		t.Fatalf("%s: error %s", tool, mcptest.Text(result))
	}
	if structured, ok := result.StructuredContent.(map[string]any); ok {
		if wrapped, ok := structured["result"]; ok {
			return wrapped
		}
		return structured
	}
	if len(result.Content) == 0 {
		return nil
	}
	switch content := result.Content[0].(type) {
	case *mcp.EmbeddedResource:
		return content.Resource.Text
	case *mcp.TextContent:
		var v any
		if json.Unmarshal([]byte(content.Text), &v) != nil {
			return content.Text
		}
		return v
	}
	t.Fatalf("%s: content %T", tool, result.Content[0])
	return nil
}

// values is what a value is in JSON.
func values(t *testing.T, v any) (decoded any) {
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

// roles are the tools that each role sees, in addition to those of the role before it.
var roles = []struct {
	role  string
	tools []string
}{
	{"Viewer", []string{"get_issue", "get_languages", "get_latest_release", "get_pull_request",
		"get_pull_request_diff", "get_repository", "list_branches", "list_comments", "list_issues",
		"list_labels", "list_milestones", "read_file", "search_repositories", "whoami"}},
	{"Member", []string{"add_comment", "add_labels", "create_issue", "edit_issue"}},
	{"Manager", []string{"create_release", "merge_pull_request", "set_topics"}},
	{"Admin", []string{"delete_repository"}},
}

func TestRolesBoundWhatCallersSeeAndUse(t *testing.T) {
	fake, _, url := forge(t)
	var seen []string
	for _, r := range roles {
		seen = append(seen, r.tools...)
		slices.Sort(seen)
		client := &recorder{token: r.role}
		session := client.connect(t, url)
		if got := mcptest.Tools(t, session); !slices.Equal(got, seen) {
			t.Errorf("%s is listed %q, want %q", r.role, got, seen)
		}
		for _, others := range roles {
			for _, tool := range others.tools {
				if slices.Contains(seen, tool) {
					continue
				}
				got := client.result(t, session, tool, `{}`)
				if want := client.result(t, session, "no_such_tool", `{}`); got != want {
					t.Errorf("%s calls %s:\n%s\nunknown tool:\n%s", r.role, tool, got, want)
				}
			}
		}
	}
	if requests := fake.seen(); len(requests) > 0 {
		t.Errorf("refused calls reached the API: %q", requests)
	}
}

// A value of an argument with a rule of its own is unknown to callers who may not send it.
func TestOnlyAdminsMarkPullRequestsAsMerged(t *testing.T) {
	fake, _, url := forge(t)
	manager, admin := &recorder{token: "Manager"}, &recorder{token: "Admin"}
	session := manager.connect(t, url)
	const styles = "merge rebase squash"
	listed := mcptest.Values(t, session, "merge_pull_request", "style")
	if strings.Join(listed, " ") != styles {
		t.Errorf("a Manager is listed %q", listed)
	}
	call := func(session *mcp.ClientSession, style string) string {
		result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "merge_pull_request",
			Arguments: json.RawMessage(`{` + ada + `,"index":8,"style":"` + style + `"}`)})
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(result.IsError, mcptest.Text(result))
	}
	got, want := call(session, "manually-merged"), call(session, "unknown")
	if want = strings.ReplaceAll(want, "unknown", "manually-merged"); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if requests := fake.seen(); len(requests) > 0 {
		t.Errorf("refused calls reached the API: %q", requests)
	}
	if got := call(admin.connect(t, url), "manually-merged"); got != "falsetrue" {
		t.Errorf("an Admin merges: %s", got)
	}
}

// recorder keeps the last HTTP answer to a caller.
type recorder struct {
	token string
	last  string
}

func (r *recorder) connect(t *testing.T, url string) *mcp.ClientSession {
	t.Helper()
	transport := &mcp.StreamableClientTransport{Endpoint: url, MaxRetries: -1,
		HTTPClient: &http.Client{Transport: r}, DisableStandaloneSSE: true}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).
		Connect(t.Context(), transport, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { session.Close() })
	return session
}
func (r *recorder) RoundTrip(request *http.Request) (*http.Response, error) {
	request = request.Clone(request.Context())
	request.Header.Set("Authorization", "Bearer "+r.token)
	response, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	response.Body = io.NopCloser(bytes.NewReader(body))
	var text bytes.Buffer
	header := response.Header.Clone()
	header.Del("Date")
	if err := header.Write(&text); err != nil {
		return nil, err
	}
	r.last = response.Status + "\n" + text.String() + "\n" + string(body)
	return response, nil
}

// result is the HTTP response to a refused call: status, headers and body. The name of the tool is
// TOOL in it, and so are the id of the request and the length of the body left out.
func (r *recorder) result(t *testing.T, session *mcp.ClientSession, tool,
	arguments string) string {
	t.Helper()
	_, err := session.CallTool(t.Context(), &mcp.CallToolParams{
		Name: tool, Arguments: json.RawMessage(arguments)})
	if err == nil {
		t.Fatalf("%s calls %s without an error", r.token, tool)
	}
	return normal(t, r.last, tool)
}

func normal(t *testing.T, answer, tool string) string {
	t.Helper()
	head, body, _ := strings.Cut(answer, "\r\n\n")
	var lines []string
	for line := range strings.SplitSeq(head, "\n") {
		if !strings.HasPrefix(line, "Content-Length:") {
			lines = append(lines, line)
		}
	}
	before, id, found := strings.Cut(body, `"id":`)
	if !found || !strings.Contains(body, tool) {
		t.Fatalf("an answer without id or name: %s", body)
	}
	_, after, _ := strings.Cut(id, ",")
	return strings.Join(lines, "\n") + strings.ReplaceAll(before+after, tool, "TOOL")
}
