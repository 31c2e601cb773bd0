package audit_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/mcpgen/mcpgen/runtime/audit"
)

func rotating(t testing.TB, path string, options audit.RotateOptions) *audit.RotatingFile {
	t.Helper()
	r, err := audit.Rotating(path, options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

func record(t testing.TB, sink audit.Sink, id string) {
	t.Helper()
	if err := sink.Record(context.Background(), audit.Event{RequestID: id,
		Principal: "ada"}); err != nil {
		t.Error(err)
	}
}

// ids are the requests of the records in files, each of which has whole lines only.
func ids(t testing.TB, files ...string) (all []string) {
	t.Helper()
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if len(text) > 0 && !bytes.HasSuffix(text, []byte("\n")) {
			t.Errorf("%s ends within a line", file)
		}
		for line := range strings.Lines(string(text)) {
			var e audit.Event
			if err := json.Unmarshal([]byte(line), &e); err != nil {
				t.Errorf("%s: %v: %q", file, err, line)
			}
			all = append(all, e.RequestID)
		}
	}
	return all
}

func TestRecordIsSyncedBeforeItReturnsTogetherWithThoseThatWait(t *testing.T) {
	synctest.Test(t, recordIsSyncedBeforeItReturnsTogetherWithThoseThatWait)
}

func recordIsSyncedBeforeItReturnsTogetherWithThoseThatWait(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	r := rotating(t, path, audit.RotateOptions{})
	entered, release, syncs := make(chan struct{}, 9), make(chan struct{}), 0
	r.SyncBy(func(f *os.File) error {
		syncs++
		entered <- struct{}{}
		<-release
		return f.Sync()
	})
	first := make(chan struct{})
	go func() { record(t, r, "first"); close(first) }()
	<-entered
	select {
	case <-first:
		t.Fatal("acknowledged before it is synced")
	default:
	}
	var rest sync.WaitGroup
	for i := range 20 {
		rest.Go(func() { record(t, r, fmt.Sprint(i)) })
	}
	synctest.Wait() // all wait for the sync
	close(release)
	rest.Wait()
	<-first
	if got := ids(t, path); len(got) != 21 || got[0] != "first" || syncs != 2 {
		t.Errorf("%d records by %d syncs", len(got), syncs)
	}
}

func TestRotationLosesNothingAndTearsNoLine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "trail.of.audit.jsonl")
	const most = 4 << 10
	r := rotating(t, path, audit.RotateOptions{MaxBytes: most})
	r.SyncBy(func(*os.File) error { return nil })
	var all sync.WaitGroup
	for w := range 16 {
		all.Go(func() {
			for i := range 50 {
				record(t, r, fmt.Sprint(w, " ", i))
			}
		})
	}
	all.Wait()
	for i := range 20 {
		batch := []audit.Event{{RequestID: fmt.Sprint("batch ", i, " a")},
			{RequestID: fmt.Sprint("batch ", i, " b")}}
		if err := r.RecordBatch(t.Context(), batch); err != nil {
			t.Error(err)
		}
	}
	files := append(r.Aside(), path)
	if len(files) < 10 {
		t.Errorf("%d files", len(files))
	}
	if !slices.IsSorted(files[:len(files)-1]) {
		t.Errorf("%q", files)
	}
	got := ids(t, files...)
	if len(got) != 840 || len(slices.Compact(slices.Sorted(slices.Values(got)))) != 840 {
		t.Errorf("%d records", len(got))
	}
	next := map[string]int{} // what a goroutine wrote is in its order
	for _, id := range got {
		var w, i int
		if _, err := fmt.Sscanf(id, "%d %d", &w, &i); err == nil {
			if next[fmt.Sprint(w)] != i {
				t.Errorf("%s comes after %d", id, next[fmt.Sprint(w)]-1)
			}
			next[fmt.Sprint(w)]++
		}
	}
	for _, file := range files {
		info, err := os.Stat(file)
		if err != nil || info.Mode().Perm() != 0o600 || info.Size() > most || info.Size() == 0 {
			t.Errorf("%s: %v, %v", file, info, err)
		}
	}
}

func TestFileHoldsMaxBytes(t *testing.T) {
	line, err := (&audit.Event{RequestID: "a", Principal: "ada"}).Encode(0)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	r := rotating(t, path, audit.RotateOptions{MaxBytes: 2 * int64(len(line)+1)})
	record(t, r, "a")
	record(t, r, "b")
	if len(r.Aside()) != 0 {
		t.Error("set aside before it was full")
	}
	now := time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)
	for _, id := range []string{"c", "d", "e"} {
		r.At(func() time.Time { return now })
		record(t, r, id)
		now = now.Add(time.Hour)
	}
	if got := fmt.Sprint(r.Aside()); strings.Count(got, ".jsonl") != 2 ||
		!strings.Contains(got, "T030201") || !strings.Contains(got, "T050201") {
		t.Errorf("a full file takes more, or has another time: %s", got)
	}
}

func TestFileIsSetAsideWhenItsFirstRecordIsOld(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	now := time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)
	clock := func() time.Time { return now }
	r := rotating(t, path, audit.RotateOptions{MaxAge: time.Hour})
	r.At(clock)
	put := func(id string) {
		if err := r.Record(t.Context(), audit.Event{RequestID: id, Time: now}); err != nil {
			t.Error(err)
		}
	}
	put("a")
	now = now.Add(59 * time.Minute)
	put("b")
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	r = rotating(t, path, audit.RotateOptions{MaxAge: time.Hour}) // the age is not begun again
	r.At(clock)
	put("c")
	now = now.Add(time.Minute)
	put("d")
	aside := r.Aside()
	if len(aside) != 1 || filepath.Base(aside[0]) != "audit-20260504T040201.000000000Z.jsonl" {
		t.Fatalf("%q", aside)
	}
	if got := strings.Join(ids(t, aside[0]), "") + "|" + strings.Join(ids(t, path),
		""); got != "abc|d" {
		t.Error(got)
	}
	now = now.Add(-100 * time.Hour) // the clock is set back
	put("e")
	now = now.Add(101 * time.Hour)
	put("f")
	now = now.Add(-200 * time.Hour)
	r.At(func() time.Time { now = now.Add(10 * time.Hour); return now })
	put("g")
	put("h")
	if got := ids(t, append(r.Aside(), path)...); strings.Join(got, "") != "abcdefgh" {
		t.Errorf("%q in %q", got, r.Aside())
	}
}

func TestAgeOfAFileWithoutATimeIsThatOfItsChange(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	aside := 0
	for _, text := range []string{"no record\n", "{}\n", "\n"} {
		for _, early := range []bool{true, false} {
			do(t, os.WriteFile(path, []byte(text), 0o600))
			changed := time.Now().Add(-2 * time.Hour)
			do(t, os.Chtimes(path, time.Time{}, changed))
			r := rotating(t, path, audit.RotateOptions{MaxAge: time.Hour})
			if early {
				r.At(func() time.Time { return changed.Add(time.Hour - time.Minute) })
				if record(t, r, "a"); len(r.Aside()) != aside {
					t.Errorf("%q: set aside early: %q", text, r.Aside())
				}
			}
			r.At(func() time.Time { return changed.Add(time.Hour) })
			record(t, r, "b")
			if aside++; len(r.Aside()) != aside || len(ids(t, path)) != 1 {
				t.Errorf("%q: %q", text, r.Aside())
			}
			do(t, r.Close())
		}
	}
}

func TestNoMoreFilesAreKeptThanConfigured(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "audit.jsonl")
	for _, other := range []string{"audit-notes.jsonl", "audit-20260504T040201.000000000Z.jsonl.gz",
		"other-20260504T040201.000000000Z.jsonl"} {
		if err := os.WriteFile(filepath.Join(dir, other), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r := rotating(t, path, audit.RotateOptions{MaxBytes: 1, Keep: 2})
	for i := range 6 {
		record(t, r, fmt.Sprint(i))
	}
	if got := ids(t, append(r.Aside(), path)...); strings.Join(got, "") != "345" {
		t.Errorf("%q", got)
	}
	if entries, err := os.ReadDir(dir); len(entries) != 7 || err != nil { // with the lock
		t.Errorf("%v, %v", entries, err)
	}
}

// TestTornLineIsCutOffAndKeptAside ends a file anywhere, as a crash does, and opens it again.
func TestTornLineIsCutOffAndKeptAside(t *testing.T) {
	dir, turn := t.TempDir(), 0
	rapid.Check(t, func(rt *rapid.T) {
		turn++
		path := filepath.Join(dir, fmt.Sprint(turn), "audit.jsonl")
		if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil {
			rt.Fatal(err)
		}
		var whole bytes.Buffer
		ends := []int{0}
		for i := range rapid.IntRange(0, 5).Draw(rt, "records") {
			line, _ := json.Marshal(audit.Event{RequestID: fmt.Sprint(i)})
			whole.Write(append(line, '\n'))
			ends = append(ends, whole.Len())
		}
		cut := rapid.IntRange(0, whole.Len()).Draw(rt, "cut")
		zeros := rapid.SampledFrom([]int{0, 0, 1, 5000}).Draw(rt, "zeros")
		text := append(slices.Clone(whole.Bytes()[:cut]), make([]byte, zeros)...)
		if zeros > 0 && rapid.Bool().Draw(rt, "later blocks") {
			text = append(text, "of another block\nand more\n"...)
		}
		if err := os.WriteFile(path, text, 0o600); err != nil {
			rt.Fatal(err)
		}
		end := slices.Max(slices.DeleteFunc(slices.Clone(ends), func(e int) bool {
			return e > cut
		}))
		r := rotating(t, path, audit.RotateOptions{})
		kept := whole.Bytes()[:end]
		if last := r.Last(); (end == 0) != (last == nil) ||
			!bytes.HasSuffix(kept, append(last, '\n')) && end > 0 {
			rt.Errorf("the last record is %q", last)
		}
		record(t, r, "after")
		if got := ids(t, path); len(got) != slices.Index(ends, end)+1 ||
			got[len(got)-1] != "after" {
			rt.Errorf("%q", got)
		}
		if got, _ := os.ReadFile(path); !bytes.HasPrefix(got, kept) {
			rt.Errorf("%q", got)
		}
		if torn := text[end:]; len(torn) == 0 {
			if r.Torn() != "" {
				rt.Errorf("nothing was torn, and is in %s", r.Torn())
			}
		} else if got, err := os.ReadFile(r.Torn()); err != nil || !bytes.Equal(got, torn) {
			rt.Errorf("%q, %v, want %q", got, err, torn)
		} else if info, _ := os.Stat(r.Torn()); info.Mode().Perm() != 0o600 {
			rt.Error(info.Mode())
		}
	})
}

func TestLastRecordIsFoundInWhatWasSetAside(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	r := rotating(t, path, audit.RotateOptions{MaxBytes: 1})
	if r.Last() != nil {
		t.Errorf("%q", r.Last())
	}
	for i := range 3 {
		record(t, r, fmt.Sprint(i))
	}
	want := r.Last()
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(r.Aside()[1], append(want, '\n'), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 { // without a file, and with an empty one
		r = rotating(t, path, audit.RotateOptions{MaxBytes: 1})
		if got := r.Last(); !bytes.Equal(got, want) || !strings.Contains(string(got),
			`"request_id":"2"`) {
			t.Errorf("%q", got)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestSyncThatFailsIsAnErrorAndTheFileTakesNoMore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	r := rotating(t, path, audit.RotateOptions{})
	record(t, r, "a")
	broken := errors.New("input/output error")
	r.SyncBy(func(*os.File) error { return broken })
	if err := r.Record(t.Context(), event()); !errors.Is(err, broken) {
		t.Error(err)
	}
	if err := r.RecordBatch(t.Context(), []audit.Event{event()}); !errors.Is(err, broken) {
		t.Error(err)
	}
	r.SyncBy((*os.File).Sync)
	record(t, r, "b")
	record(t, r, "c")
	aside := r.Aside()
	if len(aside) != 2 || strings.Join(ids(t, aside...), "") != "a" ||
		strings.Join(ids(t, path), "") != "bc" {
		t.Errorf("%q, %q, %q", aside, ids(t, aside...), ids(t, path))
	}
}

func TestRotationThatFailsDeniesAndGoesOnLater(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "audit.jsonl")
	r := rotating(t, path, audit.RotateOptions{MaxBytes: 1})
	now := time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)
	r.At(func() time.Time { return now })
	record(t, r, "a")
	// What has the name is no file, and cannot be replaced by one.
	inTheWay := filepath.Join(dir, "audit-20260504T030201.000000000Z.jsonl")
	if err := os.MkdirAll(filepath.Join(inTheWay, "x"), 0o700); err != nil {
		t.Fatal(err)
	}
	r.At(func() time.Time { return now.Add(-time.Hour) })
	record(t, r, "b") // beside it: after the newest
	if got := r.Aside(); len(got) != 2 {
		t.Errorf("%q", got)
	}
	if err := os.Rename(dir, dir+".moved"); err != nil {
		t.Fatal(err)
	}
	if err := r.Record(t.Context(), event()); err == nil {
		t.Error("recorded in a directory that is gone")
	}
	if err := os.Rename(dir+".moved", dir); err != nil {
		t.Fatal(err)
	}
	record(t, r, "c")
	record(t, r, "d")
	files := slices.DeleteFunc(r.Aside(), func(f string) bool { return f == inTheWay })
	if got := ids(t, append(files, path)...); strings.Join(got, "") != "abcd" {
		t.Errorf("%q", got)
	}
}

func TestFileThatCannotBeATrailIsRefused(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	for name, mode := range map[string]os.FileMode{"all read": 0o604, "group writes": 0o620} {
		if err := os.WriteFile(at(name), nil, mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(at(name), mode); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(at("binary"), bytes.Repeat([]byte("x"), 2*audit.MostBytes+1),
		0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(at("directory"), 0o700); err != nil {
		t.Fatal(err)
	}
	taken := rotating(t, at("taken"), audit.RotateOptions{})
	for name, want := range map[string]string{
		"all read": "chmod 600", "group writes": "chmod 600", "binary": "are not records",
		"directory": "directory",
		"taken":     "another process", "no/such/directory": "no such file",
	} {
		if _, err := audit.Rotating(at(name), audit.RotateOptions{}); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, options := range []audit.RotateOptions{{MaxBytes: -1}, {MaxAge: -1}, {Keep: -1}} {
		if _, err := audit.Rotating(at("new"), options); err == nil ||
			!strings.Contains(err.Error(), "negative") {
			t.Error(err)
		}
	}
	if err := taken.Close(); err != nil {
		t.Fatal(err)
	}
	rotating(t, at("taken"), audit.RotateOptions{})
}

func TestRecordThatCannotBeWrittenIsAnErrorAndHoldsNoOther(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	r := rotating(t, path, audit.RotateOptions{})
	for name, e := range map[string]audit.Event{"no JSON": {Milliseconds: math.NaN()},
		"endless": {Tool: strings.Repeat("x", audit.MostBytes)}} {
		if r.Record(t.Context(), e) == nil || r.RecordBatch(t.Context(), []audit.Event{e}) == nil {
			t.Errorf("%s is recorded", name)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := r.Record(ctx, event()); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := r.RecordBatch(ctx, []audit.Event{event()}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	long := strings.Repeat("x", audit.MostBytes/2)
	if err := r.RecordBatch(t.Context(), []audit.Event{{RequestID: "a", Tool: long},
		{RequestID: "b", Tool: long}, {RequestID: "c"}}); err != nil {
		t.Error(err)
	}
	if got := ids(t, path); strings.Join(got, "") != "abc" {
		t.Error(got)
	}
	for range 2 {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
	if r.Ready(t.Context()) == nil || r.Record(t.Context(), event()) == nil ||
		r.RecordBatch(t.Context(), []audit.Event{event()}) == nil {
		t.Error("recorded, or ready, after the end")
	}
}

// TestFullDiskDeniesAndTakesBackWhatItTookInPart runs where no file may grow beyond 64 KiB.
func TestFullDiskDeniesAndTakesBackWhatItTookInPart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	out := runChild(t, "full", path)
	var acknowledged, refused int
	if _, err := fmt.Sscan(string(out), &acknowledged, &refused); err != nil || refused != 32 ||
		acknowledged < 100 {
		t.Fatalf("%q, %v", out, err)
	}
	if got := ids(t, path); len(got) != acknowledged {
		t.Errorf("%d records, %d acknowledged", len(got), acknowledged)
	}
}

// BenchmarkRotating is beside the bare rate of the same disk: lines of the same size, written and
// synced together.
func BenchmarkRotating(b *testing.B) {
	line, err := json.Marshal(event())
	if err != nil {
		b.Fatal(err)
	}
	b.Run("bare", func(b *testing.B) {
		file, err := os.Create(filepath.Join(b.TempDir(), "bare"))
		if err != nil {
			b.Fatal(err)
		}
		defer file.Close()
		batch := bytes.Repeat(append(line, '\n'), 64)
		for n := 0; n < b.N; n += 64 {
			if _, err := file.Write(batch); err != nil {
				b.Fatal(err)
			}
			if err := file.Sync(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("rotating", func(b *testing.B) {
		r := rotating(b, filepath.Join(b.TempDir(), "audit.jsonl"), audit.RotateOptions{})
		b.SetParallelism(32)
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				if err := r.Record(context.Background(), event()); err != nil {
					b.Error(err)
				}
			}
		})
	})
}

// writeUntilKilled records by many goroutines and prints each acknowledgement.
func writeUntilKilled(path string) error {
	r, err := audit.Rotating(path, audit.RotateOptions{MaxBytes: 16 << 10})
	if err != nil {
		return err
	}
	var line sync.Mutex
	errs := make(chan error, 16)
	for w := range 16 {
		go func() {
			for i := 0; ; i++ {
				id := fmt.Sprint(os.Getpid(), " ", w, " ", i)
				if err := r.Record(context.Background(), audit.Event{RequestID: id}); err != nil {
					errs <- err
					return
				}
				line.Lock()
				fmt.Println(id)
				line.Unlock()
			}
		}()
	}
	return <-errs
}

func TestKilledProcessLosesNoLineThatWasAcknowledged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	acknowledged := map[string]bool{}
	for round := range 3 {
		child := newChild(t, "write", path)
		lines := bufio.NewScanner(child.stdout)
		for n := 0; lines.Scan(); n++ {
			acknowledged[lines.Text()] = true
			if n == 500+100*round {
				if err := child.Process.Kill(); err != nil { // SIGKILL
					t.Fatal(err)
				}
			}
		}
	}
	r := rotating(t, path, audit.RotateOptions{})
	got := ids(t, append(r.Aside(), path)...)
	for _, id := range got {
		delete(acknowledged, id)
	}
	if lost := slices.Collect(maps.Keys(acknowledged)); len(lost) > 0 || len(got) < 1500 {
		t.Errorf("lost of %d: %q", len(got), lost)
	}
}

// fill writes until no file may grow any more, and once more after it may.
func fill(path string) error {
	r, err := audit.Rotating(path, audit.RotateOptions{})
	if err != nil {
		return err
	}
	raise, err := limitFiles(64 << 10)
	if err != nil {
		return err
	}
	var acknowledged, refused atomic.Int64
	var all sync.WaitGroup
	for range 32 {
		all.Go(func() {
			for r.Record(context.Background(), audit.Event{RequestID: "before"}) == nil {
				acknowledged.Add(1)
			}
			refused.Add(1)
		})
	}
	all.Wait()
	if err := raise(); err != nil {
		return err
	}
	if err := r.Record(context.Background(), audit.Event{RequestID: "after"}); err != nil {
		return err
	}
	fmt.Println(acknowledged.Load()+1, refused.Load())
	return r.Close()
}
