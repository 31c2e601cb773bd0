// Package chain makes later changes of an audit trail visible.
//
// Each record has its place in a chain, and a MAC over itself and the record before it. So [Verify]
// finds a record that is missing, altered, out of order, duplicated, or made with another key. A
// chain belongs to one run of one replica. The first record of the next chain names the last known
// record of the one before.
//
// A chain alone cannot show that its end was cut off. A [Checkpoint] has the position of a chain at
// a time. Send checkpoints to a place that administrators of the trail cannot change: all records
// up to each checkpoint must then exist. With the key, any trail can be written: keep it from those
// administrators too.
package chain

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/mcpgen/mcpgen/internal/groupcommit"
	"github.com/mcpgen/mcpgen/runtime/audit"
)

// MinKey is the minimum length of a key in bytes: the length of the MAC (RFC 2104, section 3).
const MinKey = 32

// Options configure a chain. Key and Replica are required.
type Options struct {
	// Key makes the MACs: at least [MinKey] random bytes, the same for all replicas. Required.
	Key []byte
	// Replica names this process among those that share a trail: 1 to 64 letters, digits, hyphens
	// and underscores. Required.
	Replica string
	// Last is the text of this replica's newest record in the sink, from
	// [audit.RotatingFile.Last]. The first record of the new chain names it. Empty is right only if
	// the sink has no record of this replica.
	Last []byte

	// Every is the number of records after which a checkpoint is written. Zero is 1,000.
	Every int
	// Interval is the time after a record until a checkpoint is written. Zero is a minute.
	Interval time.Duration
	// Checkpoints sends a checkpoint to another place, once it is in the trail; see
	// [CheckpointFile]. One goroutine calls it. It never delays a record. If it is slower than
	// checkpoints come, it gets the newest. Nil sends none.
	Checkpoints func(context.Context, Checkpoint) error
	// Logger receives a line for each checkpoint that could not be written or sent, and for each
	// chain that ended because the sink failed. Nil is slog.Default().
	Logger *slog.Logger
}

// together is how many records are passed on at once, at most.
const together = 256

// sending is how long one checkpoint may take to be sent.
const sending = 30 * time.Second

// Chain is a sink that links events and passes them on, in order, to another sink. It is safe for
// concurrent use. Events that arrive during a write share the next one, if the sink is an
// [audit.BatchSink].
//
// If the sink fails, it is unknown which records it has. The chain ends, and the next chain names
// the last record that was acknowledged.
type Chain struct {
	sink    audit.Sink
	options Options
	group   *groupcommit.Group[audit.Encoded]

	// for the holder of the group's turn
	macs   *macs
	at     place // of the last record that is durable
	marked int64 // the last checkpoint's seq
	ended  bool

	newest  chan Checkpoint // of size one
	unsent  *Checkpoint     // that could not be sent; for the goroutine, and for Close after it
	closing context.Context
	close   context.CancelFunc
	working sync.WaitGroup
}

var replicaName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

var (
	errClosed   = errors.New("chain: it is closed")
	errPanicked = errors.New("chain: the writer of the record panicked")
)

// New begins a chain in front of a sink. It has a goroutine until it is closed.
func New(sink audit.Sink, options Options) (*Chain, error) {
	switch {
	case sink == nil:
		return nil, errors.New("chain.New has no sink")
	case len(options.Key) < MinKey:
		return nil,
			fmt.Errorf(
				"chain.New: the key has %d bytes: make one of at least %d, for example with openssl rand "+
					"-hex %d", len(options.Key), MinKey, MinKey)
	case !replicaName.MatchString(options.Replica):
		return nil,
			fmt.Errorf(
				"chain.New: %.100q is not a replica name: use 1 to 64 letters, digits, hyphens and underscores",
				options.Replica)
	case options.Every < 0 || options.Interval < 0:
		return nil, errors.New("chain.New: Every or Interval is negative: use a positive value, or 0 " +
			"for the default")
	}
	options.Key = slices.Clone(options.Key)
	options.Every = cmp.Or(options.Every, 1000)
	options.Interval = cmp.Or(options.Interval, time.Minute)
	options.Logger = cmp.Or(options.Logger, slog.Default())
	c := &Chain{sink: sink, options: options, macs: newMACs(options.Key),
		newest: make(chan Checkpoint, 1)}
	if len(options.Last) > 0 {
		r, err := read(options.Last)
		if err != nil {
			return nil, fmt.Errorf("chain.New: Options.Last: %w", err)
		}
		if last := r.Chain; last != nil { // a trail may be older than its chain
			c.at = place{id: last.ID, seq: last.Seq, mac: last.MAC}
		}
	}
	c.begin()
	c.group = groupcommit.New(together, c.write)
	c.closing, c.close = context.WithCancel(context.Background())
	c.working.Go(c.keep)
	return c, nil
}

// begin begins another chain after the last record that is durable.
func (c *Chain) begin() {
	var unique [16]byte
	rand.Read(unique[:]) // never fails
	next := place{id: c.options.Replica + "." + hex.EncodeToString(unique[:])}
	switch {
	case c.at.seq > 0:
		next.previous = &audit.Link{ID: c.at.id, Seq: c.at.seq, MAC: c.at.mac}
	default: // nothing of it is there: what it would have named is
		next.previous = c.at.previous
	}
	c.at, c.marked = next, 0
}

// Record links an event and passes it on. It returns once the sink has the record.
func (c *Chain) Record(ctx context.Context, event audit.Event) error {
	e, err := encoded(event)
	if err != nil {
		return err
	}
	return c.group.Do(ctx, e)
}

// OnlyWaits implements [audit.WaitingSink].
func (*Chain) OnlyWaits() {}

// encoded returns an event without a place, and its text with room for one.
func encoded(event audit.Event) (audit.Encoded, error) {
	event.Chain = nil
	text, err := event.Encode(room)
	if err != nil {
		return audit.Encoded{}, fmt.Errorf("chain: %w", err)
	}
	return audit.Encoded{Event: &event, Text: text}, nil
}

// write seals events and passes them on, with a checkpoint when it is time.
func (c *Chain) write(ctx context.Context, batch []audit.Encoded) error {
	at := c.at
	for i := range batch {
		at.seal(c.macs, &batch[i])
	}
	return c.hand(ctx, batch, at, at.seq-c.marked >= int64(c.options.Every))
}

// hand passes sealed events on, after which the chain is at another place.
func (c *Chain) hand(ctx context.Context, events []audit.Encoded, at place, mark bool) error {
	if c.ended {
		return errClosed
	}
	if mark {
		e, err := encoded(audit.Event{Time: time.Now().UTC(), Type: audit.Checkpoint,
			Status: audit.Success, Total: int(at.seq + 1)})
		if err != nil {
			return err
		}
		at.seal(c.macs, &e)
		events = append(events, e)
	}
	if err := c.deliver(ctx, events); err != nil {
		return err
	}
	c.at = at
	if mark {
		c.marked = at.seq
		c.announce(sealCheckpoint(c.options.Key, Checkpoint{Chain: at.id, Seq: at.seq, MAC: at.mac,
			Time: events[len(events)-1].Event.Time}))
	}
	return nil
}

// deliver passes events to the sink. After an error or a panic, it is unknown which are stored.
func (c *Chain) deliver(ctx context.Context, events []audit.Encoded) (err error) {
	err = errPanicked
	defer func() {
		if err != nil {
			c.broken(err)
		}
	}()
	if sink, ok := c.sink.(audit.EncodedSink); ok {
		return sink.RecordEncoded(ctx, events)
	}
	plain := make([]audit.Event, len(events))
	for i, e := range events {
		plain[i] = *e.Event
	}
	return audit.InOrder(ctx, c.sink, plain)
}

func (c *Chain) broken(err error) {
	before := c.at
	c.begin()
	c.options.Logger.Error("the sink of the audit chain failed; the server starts a new chain",
		"chain", before.id, "seq", before.seq, "next", c.at.id, "error", err)
}

// announce leaves a checkpoint for the goroutine that sends them, in the place of an older one.
func (c *Chain) announce(p Checkpoint) {
	select {
	case <-c.newest:
	default:
	}
	c.newest <- p // one at a time comes here, and it is empty
}

// Seal implements [audit.Sealer]. do calls seal once and writes the event that seal returns, or
// does neither.
func (c *Chain) Seal(ctx context.Context,
	do func(seal func(audit.Event) (audit.Event, error)) error) error {
	return c.group.Alone(ctx, func() error {
		if c.ended {
			return errClosed
		}
		at, sealed := c.at, false
		err := errPanicked
		defer func() {
			switch {
			case err == nil:
				c.at = at
			case sealed:
				c.broken(err)
			}
		}()
		err = do(func(event audit.Event) (audit.Event, error) {
			if sealed {
				return audit.Event{}, errors.New("chain: events are sealed one at a time")
			}
			e, err := encoded(event)
			if err != nil {
				return audit.Event{}, err
			}
			sealed = true
			at.seal(c.macs, &e)
			return *e.Event, nil
		})
		return err
	})
}

// Ready implements [audit.ReadySink]: it returns the result of the sink behind the chain.
func (c *Chain) Ready(ctx context.Context) error {
	if sink, ok := c.sink.(audit.ReadySink); ok {
		return sink.Ready(ctx)
	}
	return nil
}

// Vouches implements [audit.Voucher], for the records of any chain with this key.
func (c *Chain) Vouches(after audit.MAC, text []byte) bool {
	r, err := read(text)
	link := r.Chain
	if err != nil || link == nil || (link.Seq == 1) != (after == audit.MAC{}) {
		return false
	}
	want := newMACs(c.options.Key).of(after, digestOf(text))
	return hmac.Equal(want[:], link.MAC[:])
}

// keep writes a checkpoint when it is time, and sends them; again, where one could not be sent and
// no newer one came.
func (c *Chain) keep() {
	tick := time.NewTicker(c.options.Interval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			ctx, cancel := context.WithTimeout(c.closing, sending)
			if err := c.mark(ctx); err != nil {
				c.options.Logger.Error("a checkpoint of the audit trail could not be written",
					"error", err)
			}
			cancel()
			if c.unsent != nil && len(c.newest) == 0 {
				c.send(c.closing, *c.unsent)
			}
		case p := <-c.newest:
			c.send(c.closing, p)
		case <-c.closing.Done():
			return
		}
	}
}

func (c *Chain) send(ctx context.Context, p Checkpoint) (err error) {
	if c.options.Checkpoints == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, sending)
	defer cancel()
	c.unsent = nil
	if err = c.options.Checkpoints(ctx, p); err != nil {
		c.unsent = &p
		c.options.Logger.Error("a checkpoint of the audit trail could not be sent", "chain",
			p.Chain, "seq", p.Seq, "error", err)
	}
	return err
}

// mark writes a checkpoint, if there are records after the last one.
func (c *Chain) mark(ctx context.Context) error {
	return c.group.Alone(ctx, func() error { return c.markNow(ctx) })
}

func (c *Chain) markNow(ctx context.Context) error {
	if c.at.seq == c.marked {
		return nil
	}
	return c.hand(ctx, nil, c.at, true)
}

// Close writes a checkpoint after the last record and sends it. Records that come later are errors.
func (c *Chain) Close(ctx context.Context) error {
	err := c.group.Alone(ctx, func() error {
		if c.ended {
			return nil
		}
		defer func() { c.ended = true }()
		return c.markNow(ctx)
	})
	c.close()
	c.working.Wait()
	select {
	case p := <-c.newest:
		c.unsent = &p
	default:
	}
	if c.unsent != nil {
		err = errors.Join(err, c.send(ctx, *c.unsent))
	}
	return err
}
