package chain_test

import (
	"bytes"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/audit/chain"
)

// TestChainOfAnEarlierVersionVerifiesAndContinues: testdata/earlier.jsonl was written by the
// version whose records have one role, the type tool_call and the status ok. Its text is never
// rewritten.
func TestChainOfAnEarlierVersionVerifiesAndContinues(t *testing.T) {
	earlier, err := os.ReadFile("testdata/earlier.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.Open("testdata/earlier-checkpoints.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	points, err := chain.ReadCheckpoints(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.Split(bytes.TrimSpace(earlier), []byte("\n"))
	all := bytes.NewBuffer(bytes.Clone(earlier))
	c, err := chain.New(audit.JSONLines(all), chain.Options{Key: key, Replica: "web-1",
		Last: lines[len(lines)-1]})
	if err != nil {
		t.Fatal(err)
	}
	call := audit.Event{Type: audit.ToolCalled, RequestID: "new", Tool: "write_file"}
	call.End(audit.Denied)
	if err := c.Record(t.Context(), call); err != nil {
		t.Fatal(err)
	}
	if err := c.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	verified := func(text string) chain.Report {
		report, err := chain.Verify(chain.Lines("audit", strings.NewReader(text)),
			chain.VerifyOptions{Key: key, Checkpoints: points})
		if err != nil {
			t.Fatal(err)
		}
		return report
	}
	want := int64(len(lines) + 2) // with the new record and its checkpoint
	if r := verified(all.String()); !r.Sound() || r.Records != want || r.Chains != 2 ||
		r.NoOutcome != 1 {
		t.Errorf("%+v", r)
	}
	// The end of the earlier chain is missing, or a word of it is replaced.
	cut := bytes.Join(append(lines[:20:20], bytes.TrimPrefix(all.Bytes(), earlier)), []byte("\n"))
	for _, bad := range []string{string(cut),
		strings.Replace(all.String(), `"tool_call"`, `"tool_called"`, 1),
		strings.Replace(all.String(), `"denied"`, `"failed","failure":"denied"`, 1)} {
		if verified(bad).Sound() {
			t.Error("an altered trail is sound")
		}
	}
	for _, line := range lines {
		var e audit.Event
		if err := json.Unmarshal(line, &e); err != nil || e.Type == "tool_call" ||
			e.Status != audit.Success && e.Status != audit.Failed && e.Status != audit.Intent ||
			(e.Status == audit.Failed) != (e.Failure != "") ||
			bytes.Contains(line, []byte(`"role":"Member"`)) != slices.Equal(e.Roles, []string{"Member"}) {
			t.Errorf("%s is %+v, %v", line, e, err)
		}
	}
}
