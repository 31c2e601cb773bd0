package access_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/runtime/access"
)

func TestReportHasAParagraphForEachIdentity(t *testing.T) {
	role := access.Verdict{Axis: access.AxisRole, Needs: "Manager", Has: "Viewer"}
	ada := access.Principal{
		Issuer: "i", Subject: "ada", Client: "c", User: "a", Roles: []string{"Viewer", "Auditor"},
		Scopes: []string{"x", "y"},
	}
	seen := []access.Explanation{
		{Name: "look", Allowed: true}, {Kind: access.Prompts, Name: "ask", Missing: "needs scopes z"},
	}
	unseen := []access.Explanation{{Name: "close", Verdicts: []access.Verdict{role}}}
	r := access.Report{PermissionAware: true, Identities: []access.Diagnosis{
		{From: "a file", Principal: ada, User: "Ada", Superuser: true, Seen: seen, Unseen: unseen},
		{From: "asked for", Principal: access.Principal{Subject: "bob", User: "bob"}},
		{From: "asked for", Principal: access.Principal{Subject: "eve"}, HostUnknown: true,
			Problem: "no answer; no role", Seen: seen[:1], Unseen: unseen},
		{From: "asked for", Problem: "refused", Refused: true, Unseen: unseen},
	}}
	want := `ada (a file), issuer i, client c, roles Viewer Auditor, scopes x y, user Ada of the host, a superuser
  sees tool look
  sees prompt ask; its use needs scopes z
  not  tool close: ` + role.String() + `

bob (asked for), user bob of the host

eve (asked for)
  problem: no answer; no role
  sees tool look
  not  everything that is not public

an anonymous caller (asked for)
  problem: refused
  sees nothing: its requests are refused
`
	if got := r.String(); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	var b strings.Builder
	if n, err := r.WriteTo(&b); err != nil || n != int64(len(want)) || b.String() != want {
		t.Errorf("WriteTo: %d, %v, %s", n, err, &b)
	}
	if _, err := r.WriteTo(broken{}); !errors.Is(err, errBroken) {
		t.Errorf("WriteTo of a broken writer: %v", err)
	}
	r.PermissionAware = false
	if got := r.String(); strings.Contains(got, "of the host") {
		t.Error(got)
	}
	const none = "The identity source has no fixed principals: pass the principals to show.\n"
	if got := (access.Report{}).String(); got != none {
		t.Error(got)
	}
}

var errBroken = errors.New("broken")

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errBroken }
