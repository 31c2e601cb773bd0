package principal

import (
	linked "container/list"
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/internal/request"
)

const (
	freeFailures   = 20               // of one address at once, each answered with 401
	forgetFailure  = 10 * time.Second // without a failure, until an address has one less
	maxDoublings   = 9                // of a Retry-After of one second
	maxRetryAfter  = 5 * time.Minute
	maxAddresses   = 1024        // that are counted one by one
	reportInterval = time.Minute // between two reports of one address
)

var errSinkBusy = errors.New("the sink still writes an earlier record")

// failures counts failed authentications by address. It delays nobody: it only chooses the answer
// to a credential that does not hold. An event and a log line report each address once a minute.
//
// The table has maxAddresses entries. The entry that failed least recently is given up, unless its
// address is refused, has failures to report, or was reported within the last minute. If none can
// be given up, new addresses share one entry, so that nobody can flush the entries of others, and
// there are at most maxAddresses+1 reports a minute.
type failures struct {
	Config
	lines lines
	sink  chan struct{} // holds an item while the sink writes

	mu      sync.Mutex
	byName  map[string]*linked.Element
	order   linked.List // of *address, the one that failed last first
	others  address     // addresses that have no entry
	waiting bool        // for the timer of reportAll
	writing bool
}

// lines are the texts of log lines for one failure and for several, the name of their number, and
// their level.
type lines struct {
	one, many, number string
	level             slog.Level
}

// Each has a table of its own, so that requests without a credential replace no failure.
var (
	wrong   = lines{"credential refused", "credentials refused", "failures", slog.LevelInfo}
	missing = lines{"request without a credential refused",
		"requests without a credential refused", "requests", slog.LevelInfo}
	undecided = lines{"the identity source failed; the request is refused",
		"the identity source failed; requests are refused", "requests", slog.LevelError}
)

// address is what is known of one address. failures.mu guards it.
type address struct {
	name       string
	level      int       // failures, less the forgotten ones
	until      time.Time // refused; in the past, the time of the last failure that raised level
	unreported int       // failures since the last report
	due        int       // failures of reports whose events have to be written
	reported   time.Time
	id         string // of the last report
}

func newFailures(c Config, l lines) *failures {
	return &failures{Config: c, lines: l, sink: make(chan struct{}, 1),
		byName: map[string]*linked.Element{}, others: address{name: "other addresses"}}
}

// report is a log line about an address; nil is none.
type report struct {
	name, id string
	failures int // since the last one
}

// add counts a failure. It returns how long the address is refused, 0 if it is not.
func (f *failures) add(name string) (wait time.Duration, r *report) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := time.Now()
	a := f.find(name, now)
	if idle := now.Sub(a.until); idle < 0 {
		wait = -idle
	} else {
		forgotten := min(int(idle/forgetFailure), a.level)
		a.level = min(a.level-forgotten+1, freeFailures+maxDoublings+1)
		if over := a.level - freeFailures; over > 0 {
			wait = min(time.Second<<(over-1), maxRetryAfter)
		}
		a.until = now.Add(wait)
	}
	a.unreported++
	return wait, f.report(a, now, reportInterval)
}

// find returns the entry of an address. f.mu is held.
func (f *failures) find(name string, now time.Time) *address {
	if e := f.byName[name]; e != nil {
		f.order.MoveToFront(e)
		return e.Value.(*address)
	}
	if len(f.byName) == maxAddresses {
		oldest := f.order.Back()
		a := oldest.Value.(*address)
		if a.unreported > 0 || now.Before(a.until) || now.Sub(a.reported) < reportInterval {
			return &f.others
		}
		f.order.Remove(oldest)
		delete(f.byName, a.name)
	}
	a := &address{name: name}
	f.byName[name] = f.order.PushFront(a)
	return a
}

// report reports the failures of an address. If the last report is younger than age, reportAll does
// so later. f.mu is held.
func (f *failures) report(a *address, now time.Time, age time.Duration) *report {
	switch {
	case a.unreported == 0:
		return nil
	case now.Sub(a.reported) < age:
		if !f.waiting {
			f.waiting = true
			time.AfterFunc(reportInterval, func() { f.reportAll(reportInterval) })
		}
		return nil
	}
	r := &report{a.name, request.NewID(now), a.unreported}
	a.reported, a.id, a.unreported = now, r.id, 0
	if f.Audit == nil {
		return r
	}
	a.due += r.failures
	if !f.writing {
		f.writing = true
		f.Active.Enter()
		go f.write()
	}
	return r
}

// each calls do for every entry. f.mu is held.
func (f *failures) each(do func(*address)) {
	for e := f.order.Front(); e != nil; e = e.Next() {
		do(e.Value.(*address))
	}
	do(&f.others)
}

// reportAll reports the failures of addresses whose last report is at least as old as age.
func (f *failures) reportAll(age time.Duration) {
	var reports []*report
	f.mu.Lock()
	now := time.Now()
	f.waiting = false
	f.each(func(a *address) {
		if r := f.report(a, now, age); r != nil {
			reports = append(reports, r)
		}
	})
	f.mu.Unlock()
	for _, r := range reports {
		f.log(f.lines.level, f.lines.many, "remote", r.name,
			f.lines.number, r.failures, "request_id", r.id)
	}
}

// log contains a panic of the log handler, since nothing else does in the background.
func (f *failures) log(level slog.Level, text string, attrs ...any) {
	ctx := context.Background()
	_, _ = Supervise(ctx, f.Pool, f.Masker, func() (none struct{}, err error) {
		f.Log.Log(ctx, level, text, attrs...)
		return none, nil
	})
}

// write records what is due. One write runs at a time.
func (f *failures) write() {
	defer f.Active.End()
	for {
		events, of := f.take()
		if len(events) == 0 {
			return
		}
		err := f.record(events)
		if err == nil {
			continue
		}
		f.log(slog.LevelError, "failed authentications could not be recorded; later records include "+
			"them in their count", "events", len(events), "error", err)
		f.mu.Lock()
		now := time.Now()
		for i, a := range of {
			a.unreported += events[i].Total
			f.report(a, now, reportInterval)
		}
		f.mu.Unlock()
	}
}

// take returns the events that are due, and their addresses.
func (f *failures) take() (events []audit.Event, of []*address) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.each(func(a *address) {
		if a.due > 0 {
			events = append(events, audit.Event{Time: a.reported, RequestID: a.id,
				Type: audit.Authentication, Action: "authenticate", Object: a.name,
				Status: audit.Failed, Failure: audit.Denied,
				Axis:    string(access.AxisAuthentication),
				Missing: "a valid credential", Total: a.due})
			of = append(of, a)
			a.due = 0
		}
	})
	f.writing = len(events) > 0
	return events, of
}

// record waits at most for AuditTimeout. A sink that hangs holds one goroutine.
func (f *failures) record(events []audit.Event) error {
	ctx, cancel := context.WithTimeout(context.Background(), f.AuditTimeout)
	defer cancel()
	select {
	case f.sink <- struct{}{}:
	case <-ctx.Done():
		return errSinkBusy
	}
	_, err := Supervise(ctx, f.Pool, f.Masker, func() (none struct{}, err error) {
		defer func() { <-f.sink }()
		return none, audit.InOrder(ctx, f.Audit, events)
	})
	return err
}
