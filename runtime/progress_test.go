package runtime_test

import (
	"context"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpgen/mcpgen/runtime"
)

func TestProgressCarriesTheTokenThatTheClientSent(t *testing.T) {
	t.Parallel()
	s := newServer(t, runtime.Options{}, offering(func(ctx context.Context) {
		runtime.Progress(ctx).Report(1, 0, "half way")
	}))
	everywhere(t, s, func(t *testing.T, _ string, l *listener) {
		for token, echoed := range map[string]bool{
			`"a"`: true, `""`: true, `0`: true, `7`: true, `-7`: true, `9007199254740991`: true,
			`null`: false, `true`: false, `{}`: false, `["a"]`: false, ``: false,
		} {
			l.meta = ""
			if token != "" {
				l.meta = `"progressToken":` + token
			}
			for _, use := range everyUse {
				got := l.ask(t, use.method, use.name, use.params)
				if got.response(t).Error != nil {
					t.Fatalf("%s: %s", token, got)
				}
				if !echoed {
					if len(got) != 1 {
						t.Errorf("%s, %s: %s", token, use.method, got)
					}
				} else if len(got) != 2 || string(got[0].Params.ProgressToken) != token ||
					got[0].Params.Message != "half way" || got[0].Params.Progress != 1 {
					t.Errorf("%s, %s: %s", token, use.method, got)
				}
			}
		}
	})
}

// The protocol has progress increase. Many reports that come closer together than a client can show
// are left out; the last never is.
func TestProgressIncreasesAndItsLastReportArrives(t *testing.T) {
	t.Parallel()
	s := newServer(t, runtime.Options{}, working(func(ctx context.Context) {
		p := runtime.Progress(ctx)
		if p != runtime.Progress(ctx) {
			t.Error("a call has two reporters")
		}
		for _, none := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
			p.Report(none, 1, "no number")
			p.Report(1, none, "no number")
		}
		p.Report(-1, 0, "first")
		for i := range 1000 {
			p.Report(float64(i), 1000, "")
			p.Report(float64(i), 1000, "not above the one before")
			p.Report(float64(i)-0.5, 1000, "below the one before")
		}
		var at sync.WaitGroup
		for i := range 8 {
			at.Go(func() { p.Report(1000+float64(i), 2000, "at once") })
		}
		at.Wait()
		p.Report(2000, 2000, "last")
	}))
	everywhere(t, s, func(t *testing.T, _ string, l *listener) {
		l.meta = `"progressToken":"t"`
		got := l.call(t, "work", `{}`)
		all := got.progress()
		if len(all) != len(got)-1 || len(all) < 1 || len(all) > 500 {
			t.Fatalf("%d reports of 1010", len(all))
		}
		for i, p := range all {
			if i > 0 && p.Params.Progress <= all[i-1].Params.Progress ||
				strings.Contains(p.Params.Message, "number") || strings.Contains(p.Params.Message,
				"before") {
				t.Errorf("%s after %s", p.text, all[max(i-1, 0)].text)
			}
		}
		if last := all[len(all)-1].Params; last.Progress != 2000 || last.Total != 2000 ||
			last.Message != "last" {
			t.Errorf("the last is %s", all[len(all)-1].text)
		}
	})
}

// A handler that is quick, and ends after its reports, has them all sent: the first as well as
// those after a rest.
func TestProgressInQuickSuccessionArrives(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, runtime.Options{}, working(func(ctx context.Context) {
			p := runtime.Progress(ctx)
			p.Report(1, 6, "")
			p.Report(2, 6, "")
			time.Sleep(time.Second)
			for i := range 4 {
				p.Report(float64(i+3), 6, "")
			}
		}))
		shutDown(t, s)
		c := newPipe(t, s, principalOf("Member"), "2025-11-25")
		c.write(t, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"work",`+
			`"_meta":{"progressToken":1}}}`)
		var done []float64
		for _, m := range c.until(t, 1).progress() {
			done = append(done, m.Params.Progress)
		}
		if !slices.Equal(done, []float64{1, 2, 3, 4, 5, 6}) {
			t.Errorf("it received the progress %v", done)
		}
	})
}

func TestReporterThatIsNilDoesNothing(t *testing.T) {
	var p *runtime.ProgressReporter
	p.Report(1, 2, "no client receives it")
	if n := testing.AllocsPerRun(100, func() { p.Report(1, 2, "m") }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestMessageOfProgressIsMaskedAndCut(t *testing.T) {
	t.Parallel()
	s := newServer(t, runtime.Options{}, working(func(ctx context.Context) {
		runtime.Progress(ctx).Report(1, 2, "password=t0psecret "+strings.Repeat("é", 2000))
	}))
	l := overHTTP(t, serve(t, s), tokens["Member"], "2025-11-25")
	l.meta = `"progressToken":1`
	got := l.call(t, "work", `{}`)
	message := got[0].Params.Message
	if !strings.HasPrefix(message, "password=***MASKED*** é") || len(message) > 1024 ||
		len(message) < 1020 || !json.Valid([]byte(got[0].text)) {
		t.Errorf("%s", got)
	}
}

// Reports are sent while the call lasts, and no more often than a client can show.
func TestProgressIsSentWhileTheCallLastsAndNotTooOften(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		heardOf := make(chan struct{})
		var took time.Duration
		s := newServer(t, runtime.Options{}, working(func(ctx context.Context) {
			began := time.Now()
			for i := range 100 {
				runtime.Progress(ctx).Report(float64(i), 100, "")
				time.Sleep(time.Millisecond)
			}
			select {
			case <-heardOf: // the last of them, which had to wait
			case <-ctx.Done():
				t.Error("the last report was not sent while the call lasted")
			}
			took = time.Since(began)
		}))
		shutDown(t, s)
		c := newPipe(t, s, principalOf("Member"), "2025-11-25")
		c.write(t, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"work",`+
			`"_meta":{"progressToken":1}}}`)
		reports := 0
		for c.lines.Scan() {
			if reports++; parseMessage(t, c.lines.Text()).Params.Progress == 99 {
				break
			}
		}
		close(heardOf)
		if more := c.until(t, 1); len(more) != 1 {
			t.Errorf("%s", more)
		}
		if most := 16 + int(took/(50*time.Millisecond)); reports > most || reports < 2 {
			t.Errorf("%d reports in %s, at most %d", reports, took, most)
		}
	})
}
