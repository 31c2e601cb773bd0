package discovery

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpgen/mcpgen/internal/uritemplate"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/capability"
	"github.com/mcpgen/mcpgen/runtime/internal/request"
)

// notified are Updates whose notifications are noted. The rule of each URI is the URI itself.
type notified struct {
	*Updates
	mu    sync.Mutex
	sent  []string
	block map[request.Session]chan struct{} // sends to these wait
}

func notifying(host Host, log *journal) *notified {
	n := &notified{block: map[request.Session]chan struct{}{}}
	table := access.Table{Roles: access.DefaultRoles(), Resources: []access.Rule{
		{Resource: "a", Authenticated: true}, {Resource: "b", Authenticated: true},
		{Resource: "safe", MinRole: []string{"Admin"}}}}
	for i := range MaxSubscriptions {
		table.Resources = append(table.Resources,
			access.Rule{Resource: fmt.Sprintf("n%04d", i), Authenticated: true})
	}
	slices.SortFunc(table.Resources,
		func(a, b access.Rule) int { return cmp.Compare(a.Resource, b.Resource) })
	n.Updates = NewUpdates(UpdatesConfig{Host: host, Log: log.logger(),
		MayFollow: func(p access.Principal, uri string) bool {
			return table.Of(access.Resources).Decide(p, uri).Allowed
		}})
	notify = func(s *session, _ string, params any) error {
		n.mu.Lock()
		wait := n.block[s]
		n.mu.Unlock()
		if wait != nil {
			<-wait
		}
		n.mu.Lock()
		defer n.mu.Unlock()
		p := params.(*mcp.ResourceUpdatedNotificationParams)
		id := p.Meta[mcp.MetaKeySubscriptionID]
		n.sent = append(n.sent, strings.TrimSpace(fmt.Sprint(p.URI, " ", cmp.Or[any](id, ""))))
		return errors.New("the client has gone") // is logged alone
	}
	return n
}

func (n *notified) want(t *testing.T, step string, want ...string) {
	t.Helper()
	synctest.Wait()
	n.mu.Lock()
	defer n.mu.Unlock()
	if !slices.Equal(n.sent, want) {
		t.Errorf("%s: %q was sent, want %q", step, n.sent, want)
	}
	n.sent = nil
}

func (n *notified) subscribe(t *testing.T, info *request.Info, uris ...string) {
	t.Helper()
	for _, uri := range uris {
		if added, err := n.Subscribe(info, uri); err != nil || !added {
			t.Fatal(uri, added, err)
		}
	}
}

// A client that does not read delays no other. What waits for it is sent once.
func TestUpdatesOfASlowClientAreSentOnceAndDelayNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := notifying(nil, &journal{})
		slow, quick := newSession(), newSession()
		n.subscribe(t, message(slow, "Admin"), "a", "b")
		n.subscribe(t, message(quick, "Admin"), "a")
		held := make(chan struct{})
		n.block[slow] = held
		for range 100 {
			n.Updated("a")
			n.Updated("b")
			synctest.Wait()
		}
		n.want(t, "while one client does not read", slices.Repeat([]string{"a"}, 100)...)
		close(held)
		// Those that were being sent, and then each one that waits.
		n.want(t, "afterwards", "a", "b", "a", "b")
		close(quick.ended)
		close(slow.ended)
		synctest.Wait()
		if n.Count() != 0 || len(n.sessions) != 0 || len(n.byURI) != 0 {
			t.Errorf("%d subscriptions of sessions that have ended", n.Count())
		}
	})
}

// An update that waits for the client is dropped with its subscription, and with no other.
func TestUpdateOfASubscriptionThatEndsIsNotSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, s, block := notifying(nil, &journal{}), newSession(), make(chan struct{})
		defer close(s.ended)
		n.block[s] = block
		n.subscribe(t, message(s, "Admin"), "a", "b", "n0000")
		n.Updated("a")
		synctest.Wait()
		n.Updated("b")
		n.Updated("n0000")
		if !n.Unsubscribe(s, "b") {
			t.Error("not subscribed")
		}
		close(block)
		n.want(t, "after the end of one", "a", "n0000")
	})
}

func TestUpdatesAreDecidedWhenTheyAreSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := &fakeHost{}
		n := notifying(host, &journal{})
		s := newSession()
		defer close(s.ended)
		info := message(s, "Admin")
		info.Expires = time.Now().Add(time.Hour)
		n.subscribe(t, info, "safe", "a")
		n.Updated("safe")
		n.Updated("unknown")
		n.UpdatedFor(newSession(), "safe")
		n.want(t, "an admin", "safe")
		n.UpdatedFor(s, "safe")
		n.want(t, "by an adopted server", "safe")

		n.Observe(message(s, "Viewer"))
		n.Updated("safe")
		n.Updated("a")
		n.want(t, "a viewer", "a")

		// The host is queried once for updates at one time, and again a second later.
		host.took()
		n.Updated("")
		n.want(t, "all", "a")
		if queries := host.took(); queries != 1 {
			t.Errorf("%d queries", queries)
		}

		// While the host fails nothing is sent, then what waits.
		host.set(errors.New("down"))
		n.Updated("a")
		n.Updated("a")
		time.Sleep(10 * time.Second)
		n.want(t, "without the host")
		host.set(nil)
		time.Sleep(retryPause)
		n.want(t, "with the host again", "a")

		// The update of something hidden makes no other one earlier, and one is sent once.
		host.set(errors.New("down"))
		n.Updated("a")
		n.want(t, "without the host")
		host.set(nil)
		n.Updated("safe")
		n.want(t, "a hidden update")
		time.Sleep(retryPause)
		n.want(t, "at the next tick", "a")
		host.set(errors.New("down"))
		n.Updated("a")
		n.want(t, "without the host again")
		host.set(nil)
		n.Updated("a")
		n.want(t, "another update of the same", "a")
		time.Sleep(10 * retryPause)
		n.want(t, "and no second one")

		// The user is gone: nothing, and nothing later.
		host.set(capability.ErrNoUser)
		n.Updated("a")
		n.want(t, "an unknown user")
		host.set(nil)
		n.Observe(message(s, "Viewer"))
		time.Sleep(time.Minute)
		n.want(t, "a known user again")

		// After the end of the credential what is missed waits for the next one.
		n.Observe(info)
		time.Sleep(time.Hour)
		n.Updated("a")
		n.Updated("safe")
		n.want(t, "an expired credential")
		n.Observe(message(s, "Viewer"))
		n.want(t, "another credential", "a")
		if !n.Unsubscribe(s, "a") || n.Unsubscribe(s, "a") || n.Unsubscribe(newSession(), "a") {
			t.Error("a subscription ends once")
		}
		n.Updated("a")
		n.want(t, "without a subscription")
	})
}

// The caller changes while permissions are being read: the decision is made again.
func TestUpdatesAreDecidedForTheLastCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := notifying(nil, &journal{})
		s := newSession()
		defer close(s.ended)
		n.subscribe(t, message(s, "Admin"), "a", "safe")
		held := make(chan struct{})
		n.block[s] = held
		n.Updated("a")
		n.Updated("safe")
		synctest.Wait()
		n.Observe(message(s, "Viewer")) // while the first is being sent
		close(held)
		n.want(t, "a viewer", "a")
	})
}

func TestListenRequestIsNotifiedFromItsAcknowledgementOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := notifying(nil, &journal{})
		info := message(newSession(), "Admin")
		s, leave := n.Listen(t.Context(), info, []string{"a", "b"})
		n.Updated("b")
		n.want(t, "before")
		s.Acknowledged(7)
		n.want(t, "acknowledged", "b 7")
		if uris := s.URIs(); !slices.Equal(uris, []string{"a", "b"}) {
			t.Error(uris)
		}
		n.Observe(message(info.Session, "Viewer")) // is for sessions
		leave()
		n.Updated("a")
		n.want(t, "after it has left")
		late, leave := n.Listen(t.Context(), info, []string{"a"})
		leave()
		late.Acknowledged(8)
		n.Updated("a")
		n.want(t, "acknowledged too late")
		if n.Count() != 0 {
			t.Error(n.Count())
		}
	})
}

func TestSubscriptionsOfASessionAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := notifying(nil, &journal{})
		s := newSession()
		defer close(s.ended)
		info := message(s, "Admin")
		for i := range MaxSubscriptions {
			n.subscribe(t, info, fmt.Sprintf("n%04d", i))
		}
		if added, err := n.Subscribe(info, "n0001"); added || err != nil {
			t.Error(added, err)
		}
		if _, err := n.Subscribe(info, "a"); err == nil {
			t.Error("one more")
		}
		if !n.Unsubscribe(s, "n0001") {
			t.Error("not subscribed")
		}
		long := strings.Repeat("x", uritemplate.MaxLength+1)
		if _, err := n.Subscribe(info, long); err == nil {
			t.Error("a URI that is too long")
		}
		if _, err := n.Subscribe(info, long[1:]); err != nil || !n.Unsubscribe(s, long[1:]) {
			t.Errorf("the longest URI: %v", err)
		}
		n.subscribe(t, info, "a")
	})
}

func TestNilUpdatesNotifyNobody(t *testing.T) {
	var u *Updates
	u.UpdatedFor(newSession(), "a")
}
