package main

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/access"
)

// expectedPrompts and expectedResources are written by hand, as expected is: who may use what.
var (
	expectedPrompts = map[string][]string{
		"welcome":            {"mel", "mara", "olga", "ada"},
		"announce_promotion": {"ada"},
	}
	expectedResources = map[string][]string{
		"team://handbook":     {"nobody", "vera", "mel", "mara", "olga", "ada"},
		"team://people/{id}":  {"vera", "mel", "mara", "olga", "ada"},
		"team://ranks/{rank}": {"mara", "olga", "ada"},
	}
)

// promptArguments make every prompt valid, and uris are a resource of every template.
var (
	promptArguments = map[string]map[string]string{
		"welcome":            {"name": "Grace Hopper", "tone": "formal"},
		"announce_promotion": {"name": "Grace Hopper"},
	}
	uris = map[string]string{
		"team://handbook":     "team://handbook",
		"team://people/{id}":  "team://people/1",
		"team://ranks/{rank}": "team://ranks/member",
	}
)

// missingOffers is the reason that a denied caller gets under forbid.
var missingOffers = map[string]string{
	"welcome":             "Member",
	"announce_promotion":  "Admin",
	"team://people/{id}":  "authentic",
	"team://ranks/{rank}": "Manager or Auditor",
}

// completions are prefixes and their completions, for callers that may use the prompt or template.
var completions = []struct{ of, argument, begun, want string }{
	{"welcome", "name", "Gra", "Grace Hopper"},
	{"welcome", "tone", "f", "formal"},
	{"team://people/{id}", "id", "", "1"},
	{"team://ranks/{rank}", "rank", "man", "manager"},
}

func completedParts() []string {
	var parts []string
	for _, c := range completions {
		parts = append(parts, c.of+" "+c.argument)
	}
	return parts
}

// forbidden is the JSON-RPC code of a refused prompt or resource under forbid.
const forbidden = 403

// visitOffers compares what a session lists, gets, reads and completes with the expectations.
func visitOffers(t *testing.T, session *mcp.ClientSession, caller string, denial access.Denial,
	listAll bool) {
	t.Helper()
	prompts, fixed, templates := offers(t, session)
	for name, who := range expectedPrompts {
		may := slices.Contains(who, caller)
		if got := slices.Contains(prompts, name); got != (may || listAll) {
			t.Errorf("%s lists prompt %s: %t, want %t", caller, name, got, may)
		}
		get := func(name string) error {
			res, err := session.GetPrompt(t.Context(),
				&mcp.GetPromptParams{Name: name, Arguments: promptArguments[name]})
			if err == nil && (len(res.Messages) != 1 ||
				!strings.Contains(res.Messages[0].Content.(*mcp.TextContent).Text,
					"Grace Hopper")) {
				t.Errorf("%s gets of %s: %+v", caller, name, res.Messages)
			}
			return err
		}
		judge(t, caller, denial, name, may, get(name), name, get("no_such_prompt"),
			"no_such_prompt")
	}
	for template, who := range expectedResources {
		may := slices.Contains(who, caller)
		among := fixed
		if strings.Contains(template, "{") {
			among = templates
		}
		if got := slices.Contains(among, template); got != (may || listAll) {
			t.Errorf("%s lists resource %s: %t, want %t", caller, template, got, may)
		}
		read := func(uri string) error {
			res, err := session.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri})
			if err == nil && (len(res.Contents) != 1 || res.Contents[0].URI != uri ||
				res.Contents[0].Text == "") {
				t.Errorf("%s reads of %s: %+v", caller, uri, res.Contents)
			}
			return err
		}
		judge(t, caller, denial, template, may, read(uris[template]), uris[template],
			read("team://nowhere"), "team://nowhere")
	}
	for _, c := range completions {
		complete := func(of string) error {
			ref := &mcp.CompleteReference{Type: "ref/prompt", Name: of}
			if strings.Contains(of, "://") {
				ref = &mcp.CompleteReference{Type: "ref/resource", URI: of}
			}
			res, err := session.Complete(t.Context(),
				&mcp.CompleteParams{Ref: ref,
					Argument: mcp.CompleteParamsArgument{Name: c.argument, Value: c.begun}})
			if err == nil && !slices.Contains(res.Completion.Values, c.want) {
				t.Errorf("%s completes %s of %s: %v", caller, c.argument, of, res.Completion.Values)
			}
			return err
		}
		unknown := "no_such_prompt"
		if strings.Contains(c.of, "://") {
			unknown = "team://nowhere"
		}
		may := slices.Contains(expectedPrompts[c.of], caller) ||
			slices.Contains(expectedResources[c.of], caller)
		judge(t, caller, denial, c.of, may, complete(c.of), c.of, complete(unknown), unknown)
	}
}

// judge holds an answer against what the caller may: under forbid a refusal says what is missing,
// and under conceal it is that of something that does not exist, but for the name that was asked
// for.
func judge(t *testing.T, caller string, denial access.Denial, what string, may bool, err error,
	asked string, unknown error, unknownRequested string) {
	t.Helper()
	switch {
	case unknown == nil:
		t.Errorf("%s asks for %s and gets an answer", caller, unknownRequested)
	case may:
		if err != nil {
			t.Errorf("%s asks for %s: %v", caller, asked, err)
		}
	case err == nil:
		t.Errorf("%s asks for %s and gets it", caller, asked)
	case denial == access.Forbid:
		if got := wire(t, err); got.Code != forbidden || !strings.Contains(got.Message, "403") ||
			!strings.Contains(got.Message, missingOffers[what]) {
			t.Errorf("%s asks for %s and gets %+v, want 403 and %q", caller, asked, got,
				missingOffers[what])
		}
	default:
		renamed := strings.NewReplacer(unknownRequested, asked)
		if got, want := wire(t, err), wire(t, unknown); got.Code != want.Code ||
			got.Message != renamed.Replace(want.Message) ||
			string(got.Data) != renamed.Replace(string(want.Data)) {
			t.Errorf("%s asks for hidden %s and gets %+v, an unknown one gets %+v", caller, asked,
				got, want)
		}
	}
}

// offers lists prompts, resources and templates of a session.
func offers(t *testing.T, session *mcp.ClientSession) (prompts, fixed, templates []string) {
	t.Helper()
	for p, err := range session.Prompts(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		prompts = append(prompts, p.Name)
	}
	for r, err := range session.Resources(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		fixed = append(fixed, r.URI)
	}
	for r, err := range session.ResourceTemplates(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		templates = append(templates, r.URITemplate)
	}
	return prompts, fixed, templates
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
