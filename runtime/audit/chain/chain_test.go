package chain_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/audit/chain"
)

// tb is a test, or a try of a property.
type tb interface {
	Helper()
	Error(args ...any)
	Errorf(format string, args ...any)
	Fatal(args ...any)
	Fatalf(format string, args ...any)
	Cleanup(func())
}

var key = bytes.Repeat([]byte("k"), chain.MinKey)

// memory is a sink that takes batches, and that can fail.
type memory struct {
	mu      sync.Mutex
	lines   [][]byte
	batches []int
	fail    error
	hold    chan struct{}
}

func (m *memory) Record(ctx context.Context, e audit.Event) error {
	return m.RecordBatch(ctx, []audit.Event{e})
}

func (m *memory) RecordBatch(_ context.Context, events []audit.Event) error {
	if m.hold != nil {
		<-m.hold
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.batches = append(m.batches, len(events))
	for i, e := range events {
		if m.fail != nil && i > 0 {
			return m.fail
		}
		line, err := json.Marshal(e)
		if err != nil {
			return err
		}
		m.lines = append(m.lines, line)
	}
	return m.fail
}

func (m *memory) fails(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fail = err
}

func (m *memory) text() string { return string(bytes.Join(m.lines, []byte("\n"))) + "\n" }

// kept collects checkpoints.
type kept struct {
	mu   sync.Mutex
	more sync.Cond
	all  []chain.Checkpoint
}

func (k *kept) add(_ context.Context, p chain.Checkpoint) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.all = append(k.all, p)
	k.more.L = &k.mu
	k.more.Broadcast()
	return nil
}

func (k *kept) points() []chain.Checkpoint {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Clone(k.all)
}

// await waits until there are so many.
func (k *kept) await(n int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.more.L = &k.mu
	for len(k.all) < n {
		k.more.Wait()
	}
}

func begin(t tb, sink audit.Sink, options chain.Options) *chain.Chain {
	t.Helper()
	if options.Key == nil {
		options.Key = key
	}
	if options.Replica == "" {
		options.Replica = "web-1"
	}
	if options.Logger == nil {
		options.Logger = slog.New(slog.DiscardHandler)
	}
	c, err := chain.New(sink, options)
	if err != nil {
		t.Fatal(err)
	}
	// some were closed, or have a sink that fails
	t.Cleanup(func() { c.Close(context.Background()) })
	return c
}

func put(t tb, c *chain.Chain, ids ...string) {
	t.Helper()
	for _, id := range ids {
		if err := c.Record(context.Background(),
			audit.Event{RequestID: id, Tool: "<read>"}); err != nil {
			t.Error(err)
		}
	}
}

// verified are the findings of texts that are each a file.
func verified(t tb, options chain.VerifyOptions, texts ...string) chain.Report {
	t.Helper()
	if options.Key == nil {
		options.Key = key
	}
	report, err := chain.Verify(files(texts...), options)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func files(texts ...string) func(yield func(chain.Record, error) bool) {
	return func(yield func(chain.Record, error) bool) {
		for i, text := range texts {
			for r, err := range chain.Lines(fmt.Sprint("f", i), strings.NewReader(text)) {
				if !yield(r, err) {
					return
				}
			}
		}
	}
}

func links(t tb, lines [][]byte) (all []audit.Link) {
	t.Helper()
	for _, line := range lines {
		var e audit.Event
		if err := json.Unmarshal(line, &e); err != nil || e.Chain == nil {
			t.Fatalf("%s: %v", line, err)
		}
		all = append(all, *e.Chain)
	}
	return all
}

func TestOrderOfNumbersIsThatOfWritingAndWritesAreShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &memory{hold: make(chan struct{})}
		c := begin(t, m, chain.Options{Every: 1 << 30})
		var all sync.WaitGroup
		for w := range 16 {
			all.Go(func() {
				for i := range 10 {
					put(t, c, fmt.Sprint(w, " ", i))
				}
			})
		}
		synctest.Wait()
		close(m.hold)
		all.Wait()
		for i, l := range links(t, m.lines) {
			if l.Seq != int64(i+1) {
				t.Fatalf("record %d has number %d", i+1, l.Seq)
			}
		}
		// While the first write is held, all others of the sixteen wait for the second one.
		if len(m.lines) != 160 || m.batches[0]+m.batches[1] < 16 {
			t.Errorf("%d records in %v", len(m.lines), m.batches)
		}
		if got := verified(t, chain.VerifyOptions{}, m.text()); len(got.Findings) > 0 ||
			got.Records != 160 || got.Chains != 1 {
			t.Errorf("%+v", got)
		}
		c.Close(t.Context())
	})
}

func TestChainNamesTheOneBefore(t *testing.T) {
	m := &memory{}
	c := begin(t, m, chain.Options{})
	put(t, c, "a", "b")
	last := m.lines[1]
	c = begin(t, m, chain.Options{Last: last})
	put(t, c, "c", "d")
	got := links(t, m.lines)
	if p := got[2].Previous; p == nil || !reflect.DeepEqual(*p, got[1]) || got[3].Previous != nil ||
		got[2].Seq != 1 || got[2].ID == got[0].ID {
		t.Errorf("%+v", got)
	}
	for _, l := range got {
		if !strings.HasPrefix(l.ID, "web-1.") {
			t.Error(l.ID)
		}
	}
	if got := verified(t, chain.VerifyOptions{}, m.text()); len(got.Findings) > 0 ||
		got.Chains != 2 {
		t.Errorf("%+v", got)
	}
	// Without the record that is named there is something missing.
	without := string(bytes.Join(slices.Delete(slices.Clone(m.lines), 1, 2), []byte("\n"))) + "\n"
	if got := verified(t, chain.VerifyOptions{}, without); len(got.Findings) != 1 ||
		got.Findings[0].Kind != "cut off" || got.Findings[0].Seq != 2 || got.Sound() {
		t.Errorf("%+v", got)
	}
	if got := verified(t, chain.VerifyOptions{}, string(bytes.Join(m.lines[2:], []byte("\n")))+
		"\n"); len(got.Findings) != 1 || got.Findings[0].Kind != "missing" {
		t.Errorf("%+v", got)
	}
	// A trail that is older than its chain has a last record without a place.
	c = begin(t, m, chain.Options{Last: []byte(`{"request_id":"old"}`)})
	put(t, c, "e")
	if p := links(t, m.lines)[4].Previous; p != nil {
		t.Errorf("%+v", p)
	}
}

func TestSinkThatFailsEndsTheChainAndNothingIsLost(t *testing.T) {
	var log bytes.Buffer
	m := &memory{}
	c := begin(t, m, chain.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	put(t, c, "a", "b")
	m.fail = errors.New("no space left")
	for range 2 { // what was refused is there nonetheless
		if err := c.Record(t.Context(), audit.Event{RequestID: "refused"}); !errors.Is(
			err, m.fail) {
			t.Error(err)
		}
	}
	m.fail = nil
	put(t, c, "c")
	got := links(t, m.lines)
	if len(got) != 5 || got[2].Seq != 3 || got[2].ID != got[1].ID {
		t.Fatalf("%+v", got)
	}
	for _, l := range got[3:] {
		if l.Seq != 1 || l.Previous == nil || l.Previous.ID != got[1].ID || l.Previous.Seq != 2 {
			t.Errorf("%+v", l)
		}
	}
	if got := verified(t, chain.VerifyOptions{}, m.text()); len(got.Findings) > 0 ||
		got.Chains != 3 {
		t.Errorf("%+v", got)
	}
	m.lines = slices.Delete(m.lines, 2, 4) // and need not be
	if got := verified(t, chain.VerifyOptions{}, m.text()); len(got.Findings) > 0 {
		t.Errorf("%+v", got)
	}
	if !strings.Contains(log.String(), "level=ERROR") ||
		!strings.Contains(log.String(), "no space left") {
		t.Error(log.String())
	}
}

// panicking is a sink that panics once its records are written, or before that.
type panicking struct {
	memory
	before, after bool
}

func (p *panicking) Record(ctx context.Context, e audit.Event) error {
	return p.RecordBatch(ctx, []audit.Event{e})
}

func (p *panicking) RecordBatch(ctx context.Context, events []audit.Event) error {
	if p.before {
		panic("before it is written")
	}
	err := p.memory.RecordBatch(ctx, events)
	if p.after {
		panic("after it is written")
	}
	return err
}

// panics reports whether do does.
func panics(do func()) (did bool) {
	defer func() { did = recover() != nil }()
	do()
	return false
}

func TestSinkThatPanicsEndsTheChainAndTheTrailIsSound(t *testing.T) {
	for _, before := range []bool{false, true} {
		m := &panicking{}
		c := begin(t, m, chain.Options{})
		put(t, c, "a", "b")
		m.before, m.after = before, !before
		if err := c.Record(t.Context(), audit.Event{RequestID: "panics"}); err == nil ||
			!strings.Contains(err.Error(), "it is written") {
			t.Errorf("the panic is %v", err)
		}
		m.before, m.after = false, false
		put(t, c, "c")
		if !panics(func() {
			c.Seal(t.Context(), func(seal func(audit.Event) (audit.Event, error)) error {
				if e, err := seal(audit.Event{RequestID: "sealed"}); err != nil || !before &&
					m.Record(t.Context(), e) != nil {
					t.Error(err)
				}
				panic("while it is committed")
			})
		}) {
			t.Error("the panic is not the caller's")
		}
		put(t, c, "d")
		all := links(t, m.lines)
		if last := all[len(all)-1]; last.Seq != 1 || last.Previous == nil ||
			last.Previous.Seq != 1 {
			t.Errorf("%+v", all)
		}
		if got := verified(t, chain.VerifyOptions{}, m.text()); len(got.Findings) > 0 ||
			got.Chains != 3 {
			t.Errorf("before: %v: %+v", before, got)
		}
	}
}

func TestCheckpointsAreWrittenByCountAndByTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, k := &memory{}, &kept{}
		c := begin(t, m, chain.Options{Every: 3, Interval: time.Minute, Checkpoints: k.add})
		seqs := func() (all []int64) {
			synctest.Wait()
			for _, p := range k.points() {
				if !p.Sealed(key) {
					t.Errorf("%+v is not sealed", p)
				}
				all = append(all, p.Seq)
			}
			return all
		}
		put(t, c, "a", "b", "c", "d")
		if got := seqs(); !slices.Equal(got, []int64{4}) { // after three records, as the fourth
			t.Error(got)
		}
		time.Sleep(59 * time.Second)
		if got := seqs(); len(got) != 1 {
			t.Error(got)
		}
		time.Sleep(2 * time.Second)
		time.Sleep(time.Hour) // no further event
		if got := seqs(); !slices.Equal(got, []int64{4, 6}) {
			t.Error(got)
		}
		put(t, c, "e")
		if err := c.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if got := seqs(); !slices.Equal(got, []int64{4, 6, 8}) {
			t.Error(got)
		}
		var e audit.Event
		if err := json.Unmarshal(m.lines[3], &e); err != nil || e.Type != audit.Checkpoint ||
			e.Total != 4 || e.Status != audit.Success || e.Chain.MAC != k.points()[0].MAC ||
			!e.Time.Equal(k.points()[0].Time) {
			t.Errorf("%+v, %v, want %+v", e, err, k.points()[0])
		}
		if got := verified(t, chain.VerifyOptions{Checkpoints: k.points()}, m.text()); len(
			got.Findings) > 0 || got.Records != 8 {
			t.Errorf("%+v", got)
		}
		if err := c.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if c.Record(t.Context(), audit.Event{}) == nil ||
			c.Seal(t.Context(), func(func(audit.Event) (
				audit.Event, error)) error {
				return nil
			}) == nil {
			t.Error("recorded after the end")
		}
	})
}

func TestCheckpointsThatCannotBeWrittenOrSentAreLoggedAndDelayNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log buffer
		m, release := &memory{}, make(chan struct{})
		var mu sync.Mutex
		var all []int64
		sent := func() []int64 {
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			return slices.Clone(all)
		}
		c := begin(t, m, chain.Options{
			Every: 1, Interval: time.Minute, Logger: slog.New(slog.NewTextHandler(&log, nil)),
			Checkpoints: func(_ context.Context, p chain.Checkpoint) error {
				<-release
				mu.Lock()
				all = append(all, p.Seq)
				mu.Unlock()
				return errors.New("unreachable")
			},
		})
		put(t, c, "a")
		synctest.Wait()
		put(t, c, "b", "c", "d") // the first one is still being sent
		close(release)
		synctest.Wait()
		if !slices.Equal(sent(), []int64{2, 8}) {
			t.Errorf("%v: not the first and the newest", sent())
		}
		if err := c.Seal(t.Context(), func(seal func(audit.Event) (audit.Event, error)) error {
			e, err := seal(audit.Event{RequestID: "e"})
			return errors.Join(err, m.Record(t.Context(), e))
		}); err != nil {
			t.Error(err)
		}
		m.fails(errors.New("no space left"))
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		for _, want := range []string{"could not be sent", "unreachable", "could not be written",
			"no space left"} {
			if !strings.Contains(log.String(), want) {
				t.Errorf("nothing says %q:\n%s", want, log.String())
			}
		}
		m.fails(nil)
		put(t, c, "f")
		synctest.Wait()
		tried := len(sent())
		time.Sleep(time.Minute) // it is sent again
		synctest.Wait()
		if len(sent()) != tried+1 {
			t.Error(sent())
		}
		if err := c.Close(t.Context()); err == nil ||
			!strings.Contains(err.Error(), "unreachable") || len(sent()) != tried+2 {
			t.Error(err, sent())
		}
	})
}

// buffer is one that two may use.
type buffer struct {
	mu sync.Mutex
	bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.Write(p)
}

func TestEventIsSealedWithinWhatWritesIt(t *testing.T) {
	m := &memory{}
	c := begin(t, m, chain.Options{})
	put(t, c, "a")
	own := errors.New("own")
	if err := c.Seal(t.Context(), func(func(audit.Event) (
		audit.Event, error)) error {
		return own
	}); !errors.Is(err, own) {
		t.Error(err)
	}
	if err := c.Seal(t.Context(), func(seal func(audit.Event) (audit.Event, error)) error {
		if _, err := seal(audit.Event{Milliseconds: math.NaN()}); err == nil {
			t.Error("sealed what has no JSON")
		}
		e, err := seal(audit.Event{RequestID: "b"})
		if err != nil {
			return err
		}
		if _, err := seal(audit.Event{RequestID: "again"}); err == nil {
			t.Error("sealed two at once")
		}
		return m.Record(t.Context(), e)
	}); err != nil {
		t.Error(err)
	}
	put(t, c, "c")
	if got := links(t, m.lines); len(got) != 3 || got[2].Seq != 3 || got[2].ID != got[0].ID {
		t.Errorf("%+v", got)
	}
	if err := c.Seal(t.Context(), func(seal func(audit.Event) (audit.Event, error)) error {
		_, err := seal(audit.Event{})
		return errors.Join(err, own)
	}); !errors.Is(err, own) {
		t.Error(err)
	}
	put(t, c, "d")
	if got := links(t, m.lines); got[3].Seq != 1 || got[3].Previous.Seq != 3 {
		t.Errorf("%+v", got[3])
	}
	if got := verified(t, chain.VerifyOptions{}, m.text()); len(got.Findings) > 0 {
		t.Errorf("%+v", got)
	}
}

func TestChainThatCannotBeMadeIsRefused(t *testing.T) {
	m := &memory{}
	good := chain.Options{Key: key, Replica: "a"}
	with := func(change func(*chain.Options)) chain.Options {
		o := good
		change(&o)
		return o
	}
	for name, options := range map[string]chain.Options{
		"32":       with(func(o *chain.Options) { o.Key = key[1:] }),
		"replica":  with(func(o *chain.Options) { o.Replica = "a.b" }),
		"negative": with(func(o *chain.Options) { o.Every = -1 }),
		"Interval": with(func(o *chain.Options) { o.Interval = -1 }),
		"Last":     with(func(o *chain.Options) { o.Last = []byte("{") }),
	} {
		if _, err := chain.New(m, options); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := chain.New(nil, good); err == nil {
		t.Error("made without a sink")
	}
	if _, err := chain.Verify(files(), chain.VerifyOptions{Key: key[1:]}); err == nil {
		t.Error("verified by a short key")
	}
	c := begin(t, m, good)
	if err := c.Record(t.Context(), audit.Event{Milliseconds: math.Inf(1)}); err == nil {
		t.Error("recorded what has no JSON")
	}
}

func TestCheckpointsAreKeptInAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "checkpoints")
	m := &memory{}
	keep := chain.CheckpointFile(path)
	c := begin(t, m, chain.Options{Every: 1, Checkpoints: keep})
	put(t, c, "a")
	if err := c.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	got, err := chain.ReadCheckpoints(bytes.NewReader(append(text, `{"torn`...)))
	if err != nil || len(got) != 1 || !got[0].Sealed(key) || got[0].Seq != 2 {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := chain.ReadCheckpoints(bytes.NewReader(bytes.TrimSpace(text))); err != nil ||
		len(got) != 1 {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := chain.ReadCheckpoints(strings.NewReader("\nno\n" + string(text))); err == nil ||
		!strings.Contains(err.Error(), "line 2") {
		t.Error(err)
	}
	if _, err := chain.ReadCheckpoints(broken{}); !errors.Is(err, errBroken) {
		t.Error(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if err := chain.CheckpointFile(t.TempDir())(t.Context(), got[0]); err == nil {
		t.Error("kept in a directory")
	}
	if err := keep(t.Context(), chain.Checkpoint{
		Time: time.Date(-1, 1, 1, 0, 0, 0, 0, time.UTC)}); err == nil {
		t.Error("kept what has no JSON")
	}
}

var errBroken = errors.New("broken")

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errBroken }

func TestKeyIsReadFromAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(path, append(key, "\r\n"...), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := chain.ReadKey(path); err != nil || !bytes.Equal(got, key) {
		t.Errorf("%q, %v", got, err)
	}
	if err := os.WriteFile(path, append(key[1:], '\n'), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := chain.ReadKey(path); err == nil || !strings.Contains(err.Error(), "openssl") {
		t.Error(err)
	}
	if _, err := chain.ReadKey(path + "x"); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}
