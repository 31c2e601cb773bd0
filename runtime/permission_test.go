package runtime

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"
)

func TestAToolIsNotServedWithoutWhatItWasDeclaredWith(t *testing.T) {
	for want, tool := range map[string]Tool{
		"permissions":      {Allow: []Allow{{Kind: "file.read", Argument: "path"}}},
		"isolate=process":  {Isolate: "example.com/notes.read", Limits: Limits{Memory: 1 << 29}},
		"memory=":          {Limits: Limits{Memory: 1 << 29}},
		"output=":          {Limits: Limits{Output: 1 << 20}},
		"concurrency= and": {Limits: Limits{Concurrency: 1}},
		"and rate=":        {Limits: Limits{Rate: Rate{Calls: 10, Per: time.Second}}},
	} {
		if err := checkServed(tool); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	if err := checkServed(Tool{Limits: Limits{Capabilities: []string{"files"}}}); err != nil {
		t.Errorf("what mcpgen prove compares is no matter of the server: %v", err)
	}
}

func TestWhatCannotBeDecidedOnIsRefused(t *testing.T) {
	if _, err := (Call{}).Allow(t.Context(), Named{Argument: "path", Kinds: []string{"file.read"}, Values: []string{"public/a"}}); err == nil {
		t.Error("a resource is allowed that nobody decided on")
	}
	if _, err := (Call{}).Isolated(t.Context()); err == nil {
		t.Error("a call runs in no process")
	}
	if _, err := Inherit(t.Context(), nil, nil); err == nil {
		t.Error("a handler runs without what was decided for it")
	}
}

func TestResultsOfAHelperAreJSON(t *testing.T) {
	if text, err := Encoded(map[string]int{"a": 1}, nil); err != nil || !json.Valid(text) || string(text) != `{"a":1}` {
		t.Errorf("%s, %v", text, err)
	}
	failed := errors.New("failed")
	if _, err := Encoded(nil, failed); !errors.Is(err, failed) {
		t.Error(err)
	}
	if _, err := Encoded(func() {}, nil); err == nil {
		t.Error("a func is no JSON")
	}
}
