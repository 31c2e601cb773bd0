package discovery

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/catalog"
	"github.com/mcpgen/mcpgen/runtime/internal/principal"
)

const (
	retryPause = time.Second // before a failed query is repeated in the background

	// Changes are gathered until the next tick of the clock. A pause that begins with a change would
	// delay the notification of the next one, so that a client could see that something hidden from
	// it had changed.
	gathering = 200 * time.Millisecond
)

// untilTick returns the time until the next tick of a clock.
func untilTick(every time.Duration) time.Duration {
	now := time.Now()
	return now.Truncate(every).Add(every).Sub(now)
}

var errNoMoreChanges = errors.New("it closed its channel before the server had stopped")

// Start loads the switches. Without them the server does not start.
func (c *Catalogs) Start(ctx context.Context) error {
	if _, err := c.Reload(ctx); err != nil {
		return fmt.Errorf("Options.Catalogs.Source: cannot read which tools are switched off: %w",
			err)
	}
	return nil
}

// Reload applies the switches of the source. changed reports whether a caller is listed a tool that
// was switched; nil if none was. Switches of other tools concern no client: a check of its lists
// would notify it earlier of a change that is not yet due.
func (c *Catalogs) Reload(ctx context.Context) (changed func(access.Principal) bool, err error) {
	if c.Source == nil {
		return nil, nil
	}
	select {
	case c.loading <- struct{}{}:
		defer func() { <-c.loading }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	names, err := query(ctx, c, c.Source.ToolsOff)
	if err != nil {
		return nil, err
	}
	before, off := c.Policy.turnOff(names...)
	if (before == nil) == (off == nil) && (off == nil || before.Equal(*off)) {
		return nil, nil
	}
	return func(p access.Principal) bool {
		listed := c.Policy.listedByRules(p, access.Tools)
		return !without(listed, before).Equal(without(listed, off))
	}, nil
}

// Follow applies the changes that the source reports, until ctx ends. It calls onSwitches when
// other tools are off, with the func of [Catalogs.Reload], and onCatalogs when catalogs may have
// changed.
func (c *Catalogs) Follow(ctx context.Context, onSwitches func(func(access.Principal) bool),
	onCatalogs func()) {
	disconnected := false
	var due <-chan time.Time // of the next onCatalogs; nil if none is due
	for {
		changes, err := principal.Supervise(ctx, c.Pool, c.Masker,
			func() (<-chan catalog.Change, error) { return c.Source.Changes(ctx), nil })
		for open := changes != nil; open; {
			var change catalog.Change
			select {
			case <-ctx.Done():
				return
			case <-due:
				due = nil
				onCatalogs()
				continue
			case change, open = <-changes:
			}
			if open && change.Deaf != disconnected {
				disconnected = change.Deaf
				if disconnected {
					c.Log.Warn("the source of catalogs and switches lost its connection; it reconnects, and " +
						"the server uses the last state")
				} else {
					c.Log.Info("the source of catalogs and switches is connected again")
				}
			}
			if change.Tools && !change.Deaf {
				c.reload(ctx, onSwitches)
			}
			if change.Catalogs && due == nil {
				due = time.After(untilTick(gathering))
			}
		}
		if ctx.Err() != nil {
			return
		}
		c.Log.Error("the source of catalogs stopped reporting changes; the server subscribes again",
			"error", cmp.Or(err, errNoMoreChanges))
		pause(ctx)
	}
}

func (c *Catalogs) reload(ctx context.Context,
	onSwitches func(func(access.Principal) bool)) {
	for ctx.Err() == nil { // until it succeeds
		changed, err := c.Reload(ctx)
		if changed != nil {
			onSwitches(changed)
		}
		if err == nil || errors.Is(err, catalog.ErrClosed) {
			return
		}
		c.Log.Error("cannot read which tools are switched off; the server keeps the last state",
			"error", err)
		pause(ctx)
	}
}

func pause(ctx context.Context) {
	select {
	case <-time.After(retryPause):
	case <-ctx.Done():
	}
}
