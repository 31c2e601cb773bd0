package sandbox

import (
	"context"
	"strings"
	"testing"
	"time"
)

func TestMistakesOfRegisteringAreReported(t *testing.T) {
	before := registry.handlers
	defer func() { registry.handlers, registry.err = before, nil }()
	run := func(context.Context, Job) ([]byte, error) { return nil, nil }
	for _, test := range []struct {
		name string
		run  jobHandler
		ok   bool
	}{{"new", run, true}, {"new", run, false}, {"", run, false}, {"nil", nil, false}} {
		registry.handlers, registry.err = map[string]jobHandler{}, nil
		if test.name == "new" && !test.ok {
			Register("new", run)
		}
		Register(test.name, test.run)
		if err := ready(); (err == nil) != test.ok {
			t.Errorf("%q: %v", test.name, err)
		}
	}
}

func TestAForgottenMainIsReported(t *testing.T) {
	called.Store(false)
	defer called.Store(true)
	if err := ready(); err == nil || !strings.Contains(err.Error(), "sandbox.Main()") {
		t.Errorf("error %v", err)
	}
	if _, err := startPool(Options{}); err == nil {
		t.Error("there is a pool all the same")
	}
}

func TestOnlyAHelperIsOne(t *testing.T) {
	for _, args := range [][]string{nil, {helperName}, {"program", "{}"}, {helperName, "{}", "more"}} {
		if isHelper(args) {
			t.Errorf("%q is a helper", args)
		}
	}
}

func TestErrorsSayWhatPeopleNeed(t *testing.T) {
	for want, err := range map[string]error{
		"the tool reached its limit on memory (64 MiB)": &limitError{
			Limit: limitMemory, Bound: size(64 << 20)},
		"the tool reached its limit on output (3 KiB)": &limitError{
			Limit: limitOutput, Bound: size(3 << 10)},
		"the tool reached its limit on file size (100 bytes)": &limitError{
			Limit: limitFileSize, Bound: size(100)},
		"the tool made a system call that is forbidden in isolation": &limitError{Limit: limitSyscall},
		"the tool reached its limit on timeout": &limitError{Limit: limitTime,
			Bound: bound(limitTime, Limits{Timeout: -1})},
		"the tool reached its limit on timeout (30s)": &limitError{Limit: limitTime,
			Bound: lasting(29_998 * time.Millisecond)},
		"the tool reached its limit on timeout (1.5s)": &limitError{Limit: limitTime,
			Bound: lasting(1_499 * time.Millisecond)},
		"the tool reached its limit on timeout (300ms)": &limitError{Limit: limitTime,
			Bound: lasting(299_700 * time.Microsecond)},
		"the tool panicked": &crashError{Panic: true},
		"the tool's process ended without a result:  exit status 3": &crashError{State: "exit status 3"},
	} {
		if err.Error() != want {
			t.Errorf("%q, want %q", err, want)
		}
	}
}
