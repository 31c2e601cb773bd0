package audit_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/audit/chain"
)

// refuses reports whether a file takes no record and is not ready, both for a reason with this
// text.
func refuses(t *testing.T, r *audit.RotatingFile, why string) {
	t.Helper()
	for name, err := range map[string]error{
		"Record":      r.Record(t.Context(), event()),
		"RecordBatch": r.RecordBatch(t.Context(), []audit.Event{event(), event()}),
		"Ready":       r.Ready(t.Context()),
	} {
		if err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %v, want %q", name, err, why)
		}
	}
}

func do(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestFileThatIsNotAtItsPathTakesNoRecordUntilItIsBack covers what rm, mv and logrotate do.
func TestFileThatIsNotAtItsPathTakesNoRecordUntilItIsBack(t *testing.T) {
	for name, test := range map[string]struct {
		lose func(path string) error
		why  string
		back func(path string) error // nil if the file cannot come back
	}{
		"deleted": {os.Remove, "the open file was deleted or moved: ", nil},
		"renamed": {
			func(path string) error { return os.Rename(path, path+".1") }, "was deleted or moved: ",
			func(path string) error { return os.Rename(path+".1", path) },
		},
		"renamed and created": { // logrotate's create
			func(path string) error {
				return errors.Join(os.Rename(path, path+".1"), os.WriteFile(path, nil, 0o600))
			}, "is not the open file, which was deleted or moved",
			func(path string) error { return os.Rename(path+".1", path) },
		},
		"a link": {
			func(path string) error {
				return errors.Join(os.Rename(path, path+".1"), os.Symlink(path+".1", path))
			}, "is not the open file, which was deleted or moved",
			func(path string) error { return os.Rename(path+".1", path) },
		},
		"truncated": { // logrotate's copytruncate
			func(path string) error {
				return os.Truncate(path, 0)
			}, "another program changed it", nil,
		},
		"written to": {
			func(path string) error {
				return os.WriteFile(path, []byte(strings.Repeat("{}\n", 1000)), 0o600)
			}, "another program changed it", nil,
		},
	} {
		check := func(t *testing.T, failed bool) {
			path := filepath.Join(t.TempDir(), "audit.jsonl")
			r := rotating(t, path, audit.RotateOptions{})
			record(t, r, "a")
			if failed {
				do(t, os.Rename(path, path+".0"))
				refuses(t, r, "was deleted or moved: ")
				do(t, os.Rename(path+".0", path))
			}
			do(t, r.Ready(t.Context()))
			do(t, test.lose(path))
			refuses(t, r, test.why)
			refuses(t, r, test.why)
			if test.back == nil {
				return
			}
			do(t, test.back(path))
			do(t, r.Ready(t.Context()))
			record(t, r, "b")
			if got := ids(t, path); strings.Join(got, "") != "ab" { // without the refused ones
				t.Errorf("%q", got)
			}
		}
		t.Run(name, func(t *testing.T) { check(t, false) })
		t.Run(name+" after a write that failed", func(t *testing.T) { check(t, true) })
	}
}

// TestFileThatIsDeletedDuringAWriteAcknowledgesNothing deletes the file after the write, before the
// record is acknowledged.
func TestFileThatIsDeletedDuringAWriteAcknowledgesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	r := rotating(t, path, audit.RotateOptions{})
	r.SyncBy(func(file *os.File) error { return errors.Join(file.Sync(), os.Remove(path)) })
	if err := r.Record(t.Context(), event()); err == nil || !strings.Contains(err.Error(),
		"deleted") {
		t.Error(err)
	}
}

// TestFileThatIsNotAtItsPathIsNotRotated has another file at the path of a full one: that must not
// be set aside as a part of the trail.
func TestFileThatIsNotAtItsPathIsNotRotated(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	r := rotating(t, path, audit.RotateOptions{MaxBytes: 1})
	record(t, r, "a")
	do(t, os.Remove(path))
	do(t, os.WriteFile(path, []byte("mine"), 0o600))
	refuses(t, r, "is not the open file")
	if text, err := os.ReadFile(path); string(text) != "mine" || len(r.Aside()) > 0 {
		t.Errorf("%q, %v, %q", text, err, r.Aside())
	}
}

// unready is a sink that cannot record.
type unready struct{ audit.SinkFunc }

var errUnready = errors.New("no room")

func (unready) Ready(context.Context) error { return errUnready }

func TestSinksReportTheReadinessOfTheSinksBehindThem(t *testing.T) {
	plain := audit.SinkFunc(func(context.Context, audit.Event) error { return nil })
	options := chain.Options{Key: make([]byte, chain.MinKey), Replica: "a"}
	behind := func(sink audit.Sink) audit.Sink {
		c, err := chain.New(sink, options)
		do(t, err)
		t.Cleanup(func() { c.Close(context.Background()) })
		return c
	}
	for name, test := range map[string]struct {
		sink audit.Sink
		want error
	}{
		"without a method": {plain, nil},
		"itself":           {unready{}, errUnready},
		"several":          {audit.Multi(plain, unready{}), errUnready},
		"several without":  {audit.Multi(plain, plain), nil},
		"chain":            {behind(audit.Multi(unready{}, plain)), errUnready},
		"chain without":    {behind(plain), nil},
		// A lost record denies nothing there, so the server is ready.
		"degraded": {audit.Degrade(unready{}, nil), nil},
	} {
		if err := audit.Ready(t.Context(), test.sink); !errors.Is(err, test.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
