package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/decode"
	"github.com/mcpgen/mcpgen/runtime/internal/discovery"
	"github.com/mcpgen/mcpgen/runtime/internal/guard"
	"github.com/mcpgen/mcpgen/runtime/internal/invoke"
	"github.com/mcpgen/mcpgen/runtime/internal/request"
	"github.com/mcpgen/mcpgen/runtime/internal/upstream"
	"github.com/mcpgen/mcpgen/runtime/internal/wire"
	"github.com/mcpgen/mcpgen/runtime/internal/worker"
)

// newServer returns a server without tools.
func newServer() *Server {
	policy := &discovery.Policy{Denial: access.Conceal}
	pool := worker.NewPool()
	g := guard.New(guard.Config{Deciding: guard.Deciding{Policy: policy},
		Recording: guard.Recording{Closing: context.Background(), Log: slog.New(slog.DiscardHandler)},
		Listing: guard.Listing{
			Lists: discovery.NewLists(discovery.ListsConfig{Policy: policy, PageSize: 10})},
		Running: guard.Running{Resources: &invoke.Resources{}, Pool: pool, Active: worker.NewGroup(),
			Runner: invoke.NewRunner(invoke.Config{Policy: policy, Pool: pool})}})
	return New(Config{Guard: g, Upstream: upstream.New(
		mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, nil), pool)})
}

// out notes what a client is sent.
type out struct {
	mu   sync.Mutex
	sent []string
}

func (o *out) Event(text []byte) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.sent = append(o.sent, string(text))
	return nil
}

func (o *out) got() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return strings.Join(o.sent, "\n")
}

var (
	ada = request.Owner{User: request.User{Subject: "ada"}, Client: "ide"}
	mel = request.Owner{User: request.User{Subject: "mel"}}
)

func idOf(text string) wire.ID {
	id, _ := wire.IDOf(decode.Value(text))
	return id
}

// opened returns a session in a table.
func opened(t *testing.T, table *Table, owner request.Owner) *Session {
	t.Helper()
	s, status := table.New(owner)
	if s == nil {
		t.Fatal(status)
	}
	s.setClient(&mcp.InitializeParams{ProtocolVersion: request.NewestWithSessions})
	table.Add(s, &out{})
	return s
}

func TestSessionsAreFoundByTheirOwnersUntilTheyEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer()
		table := server.NewTable(Limits{10, 10}, time.Hour)
		s := opened(t, table, ada)
		defer server.Guard.Pool.Close()
		for owner, want := range map[request.Owner]*Session{ada: s, mel: nil,
			{User: ada.User, Client: "other"}: nil, {}: nil,
			{User: ada.User, Client: "ide", Actor: access.Actor{Subject: "agent"}}: nil} {
			if got := table.Find(s.ID(), owner); got != want {
				t.Errorf("%+v finds %p", owner, got)
			}
		}
		var ends int
		s.OnEnd(func() { ends++ })
		s.End()
		s.End()
		if s.OnEnd(func() { ends++ }); ends != 2 {
			t.Errorf("%d ends", ends)
		}
		if table.Find(s.ID(), ada) != nil || len(server.sessions()) != 0 || table.taken != 0 {
			t.Error("a session that has ended is kept")
		}
	})
}

// use uses a session.
func use(t *Table, s *Session) {
	use := t.Use(s)
	use.Release()
}

func TestSessionsEndAsIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer()
		defer server.Guard.Pool.Close()
		table := server.NewTable(Limits{10, 10}, time.Hour)
		s := opened(t, table, ada)
		first, second := table.Use(s), table.Use(s)
		time.Sleep(2 * time.Hour)
		first.Release()
		time.Sleep(2 * time.Hour)
		if table.Find(s.ID(), ada) == nil {
			t.Fatal("a session that is in use has ended")
		}
		second.Release()
		time.Sleep(time.Hour - time.Second)
		use(table, s)
		time.Sleep(time.Hour - time.Second)
		if table.Find(s.ID(), ada) == nil {
			t.Fatal("a session that was used has ended")
		}
		time.Sleep(2 * time.Second)
		if table.Find(s.ID(), ada) != nil {
			t.Error("an idle session is kept")
		}
		use(table, s) // has no effect
	})
}

// A session takes a slot until it ends. A user without a free one gives up the session that was
// used least recently, if it was not used for a minute.
func TestSlotsAreBoundedByServerAndUser(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer()
		defer server.Guard.Pool.Close()
		table := server.NewTable(Limits{Total: 3, PerUser: 2}, time.Hour)
		want := func(owner request.Owner, status int) {
			t.Helper()
			s, got := table.New(owner)
			if got != status || (s == nil) != (status != 0) {
				t.Errorf("%v %d, want %d", s, got, status)
			} else if s != nil {
				s.End()
			}
		}
		one, two := opened(t, table, ada), opened(t, table, ada)
		want(ada, 429)
		want(mel, 0)
		release, _ := table.Reserve(mel.User)
		want(mel, 503)
		release()
		release()
		use(table, one)
		hold := table.Use(two)
		time.Sleep(2 * minIdle)
		want(ada, 0)
		if table.Find(one.ID(), ada) != nil || table.Find(two.ID(), ada) == nil {
			t.Error("another session was given up than the idle one")
		}
		opened(t, table, ada)
		time.Sleep(minIdle / 2)
		want(ada, 429)
		hold.Release()
		for _, s := range server.sessions() {
			s.End()
		}
		if table.taken != 0 || len(table.users) != 0 {
			t.Errorf("%d slots, %v", table.taken, table.users)
		}
		// Anonymous callers are no one user here.
		opened(t, table, request.Owner{})
		opened(t, table, request.Owner{})
		time.Sleep(2 * minIdle)
		want(request.Owner{}, 429)
		server.CloseSessions()
	})
}

func exchange(server *Server, s *Session) *Exchange {
	return &Exchange{Server: server, Session: s, InFlight: s,
		Message: &guard.Message{Info: &request.Info{}}}
}

// Ids in flight are compared by value, and free again before the response.
func TestIDsInFlight(t *testing.T) {
	server := newServer()
	defer server.Guard.Pool.Close()
	s := server.Connect(ada, &out{})
	x := exchange(server, s)
	ctx, err := x.Begin(t.Context(), idOf(`1`))
	if err != nil {
		t.Fatal("no call begins")
	}
	for _, same := range []string{`1`, `1.0`, `1e0`} {
		if _, err := exchange(server, s).Begin(t.Context(), idOf(same)); err == nil {
			t.Errorf("%s begins twice", same)
		}
	}
	other := exchange(server, s)
	if _, err := other.Begin(t.Context(), idOf(`"1"`)); err != nil {
		t.Error("a string is the id of a number")
	}
	s.Cancel(idOf(`2`))
	s.Cancel(idOf(`1e0`))
	if ctx.Err() == nil || !x.Finish() || other.Finish() {
		t.Error("another call was cancelled")
	}
	for n := range 20 {
		y := exchange(server, s)
		_, _ = y.Begin(t.Context(), idOf(fmt.Sprint(n)))
		defer y.Finish()
	}
	for _, y := range s.calls {
		y.Finish()
	}
	if s.calls != nil {
		t.Error("an idle session keeps a large map")
	}
	if _, err := x.Begin(t.Context(), idOf(`1`)); err != nil {
		t.Error("an id cannot be used again")
	}
	drained := s.drain()
	if _, err := exchange(server, s).Begin(t.Context(), idOf(`3`)); err == nil {
		t.Error("a call begins in a session that drains")
	}
	select {
	case <-drained:
		t.Error("it drains before its call has ended")
	default:
	}
	x.Finish()
	<-drained
	s.End()
}

// Questions are bounded, end with their session, and are answered by the value of their ids.
func TestQuestions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, o := newServer(), &out{}
		defer server.Guard.Pool.Close()
		s := server.Connect(ada, o)
		ask := func(ctx context.Context) chan string {
			answer := make(chan string, 1)
			go func() {
				result, err := s.ask(ctx, nil, "ping", nil)
				answer <- fmt.Sprint(string(result), err)
			}()
			synctest.Wait()
			return answer
		}
		first := ask(t.Context())
		if got := o.got(); got != `{"jsonrpc":"2.0","id":1,"method":"ping","params":{}}` {
			t.Error(got)
		}
		s.Respond(wire.Checked{ID: idOf(`7`), Result: json.RawMessage(`{"of":"nobody"}`)})
		s.Respond(wire.Checked{ID: idOf(`1.0`), Result: json.RawMessage(`{}`)})
		if got := <-first; got != "{}<nil>" {
			t.Error(got)
		}
		ctx, cancel := context.WithCancel(t.Context())
		second := ask(ctx)
		cancel()
		if got := <-second; got != "context canceled" || !strings.Contains(o.got(),
			`"method":"notifications/cancelled","params":{"requestId":2}`) {
			t.Error(got, o.got())
		}
		third := ask(t.Context())
		time.Sleep(maxWait + time.Second)
		if got := <-third; !strings.Contains(got, "within 1h0m0s") {
			t.Error(got)
		}
		if s.pending != nil {
			t.Error("a session without questions keeps a map")
		}
		var waiting []chan string
		for range maxQuestions {
			waiting = append(waiting, ask(t.Context()))
		}
		if got := <-ask(t.Context()); !strings.Contains(got, "32 questions") {
			t.Error(got)
		}
		s.End()
		for _, answer := range append(waiting, ask(t.Context())) {
			if got := <-answer; !strings.Contains(got, "its session ends") {
				t.Error(got)
			}
		}
	})
}

// go-sdk cancels a question by the id that it has there, which may be another question's here.
func TestCancelledQuestionOfAnAdoptedServerIsNotNamedTwice(t *testing.T) {
	server, o := newServer(), &out{}
	defer server.Guard.Pool.Close()
	s := server.Connect(ada, o)
	defer s.End()
	err := s.Notified(t.Context(), nil, "notifications/cancelled", json.RawMessage(`{"requestId":1}`))
	if err != nil || o.got() != "" {
		t.Error(err, o.got())
	}
}

// An answer reaches the handler of an adopted server only if its message is allowed still, also if
// the session ends at once.
func TestAnswersOfAnEndingSessionAreDecidedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer()
		defer server.Guard.Pool.Close()
		s := server.Connect(ada, &out{})
		x := exchange(server, s)
		x.Out, x.Message.Inputs, x.Message.Version = &out{}, request.Inputs{Form: true}, "2025-11-25"
		answered := make(chan error, 1)
		go func() {
			_, err := s.Asked(t.Context(), &upstream.Call{Origin: x}, "elicitation/create",
				json.RawMessage(`{"message":"m","requestedSchema":{"type":"object","properties":{}}}`))
			answered <- err
		}()
		synctest.Wait()
		s.mu.Lock()
		s.noQuestions = errSessionEnds
		s.mu.Unlock()
		s.Respond(wire.Checked{ID: idOf("1"), Result: json.RawMessage(`{"action":"decline"}`)})
		if err := <-answered; err == nil {
			t.Error("an answer to a message that is refused now")
		}
		s.End()
	})
}

// A run that was abandoned opens no session that nobody ends.
func TestSessionOfAMessageThatIsOverHasEnded(t *testing.T) {
	server := newServer()
	defer server.Guard.Pool.Close()
	x := exchange(server, nil)
	x.Out = &out{}
	x.close()
	if s := x.session(); !s.Ended() {
		t.Error("it is open")
	} else if _, err := s.connect(t.Context(), x); !errors.Is(err, upstream.ErrEnded) {
		t.Error(err)
	}
}

// A session that is used from many goroutines ends once.
func TestSessionsRace(t *testing.T) {
	server := newServer()
	defer server.Guard.Pool.Close()
	table := server.NewTable(Limits{100, 100}, time.Hour)
	for n := range 20 {
		s := opened(t, table, ada)
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				use := table.Use(s)
				defer use.Release()
				x := exchange(server, s)
				if _, err := x.Begin(t.Context(), idOf(fmt.Sprint(n))); err == nil {
					x.Finish()
				}
			})
			all.Go(func() { s.Cancel(idOf(fmt.Sprint(n))) })
			all.Go(func() {
				_ = s.Notify("notifications/x", nil)
				_, err := s.ask(t.Context(), nil, "ping", nil)
				if ends := (refused{}); !errors.As(err, &ends) {
					t.Error(err)
				}
			})
		}
		all.Go(func() { table.Drain(t.Context(), s) })
		all.Wait()
	}
	if table.taken != 0 || len(server.sessions()) != 0 {
		t.Error(table.taken, server.sessions())
	}
}

// A message does not wait for ever for the handshake of an adopted server, nor for another message
// that does.
func TestAdoptedServerHasATimeForItsHandshake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sdk := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, nil)
		sdk.AddReceivingMiddleware(func(mcp.MethodHandler) mcp.MethodHandler {
			return func(context.Context, string, mcp.Request) (mcp.Result, error) {
				time.Sleep(time.Hour)
				return nil, errors.New("late")
			}
		})
		server := newServer()
		server.Upstream, server.Adopted = upstream.New(sdk, server.Guard.Pool), &Adopted{}
		s := server.Connect(ada, &out{})
		s.setClient(&mcp.InitializeParams{ProtocolVersion: request.NewestWithSessions})
		began, first := time.Now(), make(chan error, 1)
		go func() {
			_, err := s.connect(t.Context(), exchange(server, s))
			first <- err
		}()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := s.connect(ctx, exchange(server, s)); err == nil || time.Since(began) > time.Second {
			t.Error(err, time.Since(began))
		}
		if err := <-first; err == nil || time.Since(began) > maxOpening+time.Second {
			t.Error(err, time.Since(began))
		}
		s.End()
		time.Sleep(2 * time.Hour) // until the late run has ended
		server.Guard.Pool.Close()
	})
}

// While a question waits whose client has gone, the session may end as idle. A call that goes on
// holds it again.
func TestCallHoldsItsSessionButWhileItsClientHasGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newServer()
		defer server.Guard.Pool.Close()
		s := server.Connect(ada, &out{})
		defer s.End()
		x := exchange(server, s)
		x.Table = server.NewTable(Limits{1, 1}, time.Hour)
		x.Table.Add(s, &out{})
		posts := func() int { return x.Table.byID[s.id].place.posts }
		gone, leave := context.WithCancel(t.Context())
		x.Gone = gone
		if _, err := x.Begin(t.Context(), idOf("1")); err != nil || posts() != 1 {
			t.Fatal(err, posts())
		}
		x.waits()()
		answered := x.waits()
		if posts() != 1 {
			t.Error("a client that is there loses its session")
		}
		leave()
		if synctest.Wait(); posts() != 0 {
			t.Error("the session cannot end as idle")
		}
		if answered(); posts() != 1 {
			t.Error("the session may end as idle while the call goes on")
		}
		late := x.waits() // of a handler that runs on after its call
		synctest.Wait()
		x.close()
		x.Finish()
		if late(); posts() != 0 {
			t.Error("the session is held after its call")
		}
	})
}

// A list request does not wait for ever for an adopted server, whether it heeds its context or not,
// nor for a list without an end.
func TestAdoptedServerHasATimeToList(t *testing.T) {
	for name, list := range map[string]func(context.Context, func()) (mcp.Result, error){
		"it heeds the context": func(ctx context.Context, _ func()) (mcp.Result, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		},
		"it hangs": func(_ context.Context, hang func()) (mcp.Result, error) {
			hang()
			return nil, errors.New("late")
		},
		"it always has another page": func(context.Context, func()) (mcp.Result, error) {
			return &mcp.ListToolsResult{NextCursor: "more"}, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				sdk := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, nil)
				sdk.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
					return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
						if method != "tools/list" {
							return next(ctx, method, r)
						}
						return list(ctx, func() { time.Sleep(time.Hour) })
					}
				})
				server := newServer()
				server.Upstream, server.Adopted = upstream.New(sdk, server.Guard.Pool), &Adopted{}
				m := &guard.Message{Info: &request.Info{Version: request.Stateless}, Method: "tools/list",
					Params: &mcp.ListToolsParams{}}
				x := &Exchange{Server: server, Message: m, Sent: m.Params, Out: &out{}}
				began := time.Now()
				_, err := server.list(t.Context(), x, m)
				if err == nil || !strings.Contains(err.Error(), "did not list") &&
					!strings.Contains(err.Error(), "pages") {
					t.Error(err)
				}
				if took := time.Since(began); took > maxListing+time.Second {
					t.Error(took)
				}
				x.close()
				time.Sleep(2 * time.Hour) // until the late run has ended
				server.Guard.Pool.Close()
			})
		})
	}
}
