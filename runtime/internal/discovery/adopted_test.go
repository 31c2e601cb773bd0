package discovery

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/internal/request"
)

type cyclic struct{ Self any }

type panics struct{}

func (panics) MarshalJSON() ([]byte, error) { panic("no JSON") }

// Only items of the set count. A pointer alone is no change if it changes at once, or with all
// others.
func TestItemsOfASetDiffer(t *testing.T) {
	table := access.NewTable(access.Rule{Tool: "a", Public: true},
		access.Rule{Tool: "b", Public: true}, access.Rule{Tool: "hidden", MinRole: []string{"Viewer"}})
	in := table.Named([]string{"a", "b"})
	tool := func(name, text string) *mcp.Tool { return &mcp.Tool{Name: name, Description: text} }
	loop := &cyclic{}
	loop.Self = loop
	type list = map[string]*mcp.Tool
	a, b, again := tool("a", ""), tool("b", ""), tool("a", "")
	both, renewed := list{"a": a, "b": b}, list{"a": again, "b": b}
	for name, test := range map[string]struct {
		before, now, again list
		want               bool
	}{
		"nothing":          {both, both, nil, false},
		"added":            {list{"a": a}, both, nil, true},
		"removed":          {both, list{"b": b}, nil, true},
		"other text":       {list{"a": a}, list{"a": tool("a", "new")}, nil, true},
		"registered again": {both, renewed, renewed, true},
		"a copy each time": {both, renewed, both, false},
		"all copies":       {list{"a": a}, list{"a": again}, list{"a": again}, false},
		"hidden, added":    {list{"a": a}, list{"a": a, "hidden": b}, nil, false},
		"hidden, and all copies": {list{"a": a, "hidden": b},
			list{"a": again, "hidden": b}, list{"a": again}, false},
		"what cannot encode itself": {list{"a": a}, list{"a": {InputSchema: panics{}}}, list{}, false},
		"what cannot be encoded":    {list{"a": a}, list{"a": {InputSchema: loop}}, list{}, false},
	} {
		if got := differ(in, test.before, test.now, test.again); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// A client whose lists cannot be read is not read again for each of its messages: they would wait
// one after the other for a server that hangs.
func TestMessagesDoNotWaitForAServerThatDoesNotList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := watching(t, nil, nil)
		reads := 0
		c.Adopted = func(context.Context, request.Session, map[string]any) (*Items, error) {
			reads++
			time.Sleep(10 * time.Second)
			if reads <= 2 {
				return nil, errors.New("it hangs")
			}
			return &Items{}, nil
		}
		info := &request.Info{Principal: caller("Viewer"), Session: newSession(),
			Version: request.NewestWithSessions}
		c.Observe(info)
		list := func() (took time.Duration) {
			began := time.Now()
			for range 20 {
				c.Listing(t.Context(), info)
				c.Observe(info)
			}
			synctest.Wait()
			return time.Since(began)
		}
		if took := list(); took > 10*time.Second || reads != 1 {
			t.Errorf("20 lists took %s, and %d reads", took, reads)
		}
		time.Sleep(unreadPause)
		if list(); reads != 2 {
			t.Errorf("%d reads after the pause", reads)
		}
		time.Sleep(unreadPause)
		if list(); reads != 3 || c.clients[info.Session].items == nil {
			t.Errorf("%d reads, and no items", reads)
		}
		close(info.Session.(*session).ended)
	})
}

// A server that changes its lists whenever it lists them is read with pauses.
func TestServerThatChangesAsItListsIsReadWithPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := watching(t, nil, nil)
		info := &request.Info{Principal: caller("Viewer"), Session: newSession(),
			Version: request.NewestWithSessions}
		var reads atomic.Int32
		c.Adopted = func(context.Context, request.Session, map[string]any) (*Items, error) {
			reads.Add(1)
			c.AdoptedChanged(info.Session)
			return &Items{}, nil
		}
		c.Observe(info)
		c.AdoptedChanged(info.Session)
		time.Sleep(10 * time.Second)
		close(info.Session.(*session).ended)
		if n, most := reads.Load(), 2*int32(10*time.Second/gathering); n < 10 || n > most {
			t.Errorf("%d reads, at most %d", n, most)
		}
	})
}

// A listen request is acknowledged after its lists have been read, so that no change after the
// acknowledgement is missed.
func TestListsAreReadBeforeTheAcknowledgement(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := watching(t, nil, nil)
		reads := 0
		c.Adopted = func(context.Context, request.Session, map[string]any) (*Items, error) {
			reads++
			return &Items{}, nil
		}
		s, leave := c.Subscribe(t.Context(), message(newSession(), "Viewer"), nil, Filter{})
		defer leave()
		s.Prepare(&mcp.NotificationSubscriptions{ToolsListChanged: true}, 7)
		if reads != 1 {
			t.Errorf("%d reads", reads)
		}
	})
}
