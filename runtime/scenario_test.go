package runtime_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/internal/scenario"
	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/grant"
	"github.com/mcpgen/mcpgen/runtime/identity"
	"github.com/mcpgen/mcpgen/runtime/isolate"
	"github.com/mcpgen/mcpgen/runtime/task"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// TestScenarios runs the files of testdata/scenario. Package scenario describes their format. The
// section "server" has here:
//
//	toolset: directory library     toolsets, by their names in the table below
//	adopt: existing ruled bare     a go-sdk server, with its tools
//	catalogs: kits                 the source of catalogs
//	intercept: replacing           interceptors, by their names
//	sink: logs                     the sink logs to the client
//	host: ada                      a host with users, whose permissions "server> host USER …" sets
//	identity: none kept text       no source of identities, or one whose value is the token or a text
//	stdio-values: yes              a value for each call on stdio
//	tasks: own noted               a store of tasks, which "server> store METHOD ERROR" lets fail,
//	                               and notes of its calls
//	updates: shared                updates of resources that several servers share
//	observe: outcomes              an observer, which notes outcomes and more
//	sandbox: yes                   a sandbox without walls
//	grants: defaults no-links      a source of grants, which "server> grant USER KIND RESOURCE; …"
//	                               sets, with the root docs
//	PageSize: 2                    any option of a simple type, by its name
//
// "users" has a line for each caller that is not one of the usual ones: a name and the principal as
// JSON. Lasts is the time from the start to the end of its credential. "rules" has the rules of an
// adopted server by key, in the words of directives. "boundaries" is a file of boundaries, whose
// source "server> boundaries-fail ERROR" lets fail, and "server> boundaries ENTRIES" replaces.
func TestScenarios(t *testing.T) {
	t.Parallel()
	scenario.Run(t, "testdata/scenario", buildScenario)
}

// scenarioUsers are the usual callers. Nobody has no token.
var scenarioUsers = map[string]scenarioUser{"nobody": {},
	"rita": userWith("rita", "viewer"), "vera": userWith("vera", "Viewer"),
	"mel": userWith("mel", "Member"), "mona": userWith("mona", "Manager"),
	"ada": userWith("ada", "Admin"),
}

func userWith(name, role string) scenarioUser {
	return scenarioUser{Principal: access.Principal{Issuer: "test", Subject: name, User: name,
		Roles: []string{role}}}
}

// scenarioUser is a caller as the section "users" has it.
type scenarioUser struct {
	access.Principal
	Lasts  string
	Itself bool // the client's own

	expires time.Time
}

// scenarioWorld is what the server of a scenario stands in.
type scenarioWorld struct {
	t       testing.TB
	users   map[string]scenarioUser
	host    *fakeHost
	fences  *fences
	shelf   *shelf
	store   *scenarioStore
	purse   *purse
	bus     *bus
	adopted *mcp.Server
	server  *runtime.Server
	proceed chan struct{}
	handled atomic.Int64 // subscriptions of an adopted server

	verified  atomic.Int64 // calls of the source of identities
	listFails atomic.Value // string: how lists of an adopted server fail

	kept context.Context // of a handler
	logs bool            // the sink logs to the client

	mu         sync.Mutex
	records    []string
	started    []string      // of the start
	unrecorded string        // events that the sink refuses: a type, a type and a status, or all
	slow       time.Duration // time that the sink takes
	away       string        // error of the source of identities
	storeFails map[string]string
	logPanics  string            // at lines with this text
	digested   map[string]string // texts of arguments, whose digest is compared
}

func buildScenario(t testing.TB, setup scenario.Setup) scenario.World {
	w := &scenarioWorld{t: t, users: maps.Clone(scenarioUsers), proceed: make(chan struct{}, 10),
		storeFails: map[string]string{}}
	options := runtime.Options{Audit: runtime.AuditOptions{Sink: w}, Logger: w.logger()}
	var sets []toolset.Toolset
	if text, ok := setup.Sections["users"]; ok {
		w.users = map[string]scenarioUser{"nobody": {}}
		for line := range strings.Lines(text) {
			name, principal, _ := strings.Cut(strings.TrimSpace(line), " ")
			var p scenarioUser
			if err := json.Unmarshal([]byte(principal), &p); err != nil {
				t.Fatalf("user %s: %v", name, err)
			}
			if lasts, err := time.ParseDuration(p.Lasts); err == nil {
				p.expires = time.Now().Add(lasts)
			}
			w.users[name] = p
		}
	}
	if text, ok := setup.Sections["boundaries"]; ok {
		w.fences = &fences{source: boundaryFile(t, text)}
		options.Access.Boundaries = w.fences
	}
	options.Identity = identity.Bearer(w.verify, identity.NamesUsers())
	switch setup.Server["identity"] {
	case "none":
		options.Identity = nil
	case "kept":
		options.Identity = identity.Bearer(w.verify, identity.NamesUsers(), identity.KeepToken())
	case "text":
		options.Identity = identity.Bearer(func(ctx context.Context,
			token string) (identity.Identity, error) {
			id, err := w.verify(ctx, token)
			id.Value = identity.NewValue("text")
			return id, err
		}, identity.NamesUsers())
	}
	for key, value := range setup.Server {
		words := strings.Fields(value)
		switch key {
		case "toolset":
			for _, word := range words {
				sets = append(sets, scenarioToolsets[word](w))
			}
		case "adopt":
			w.adopted = scenarioServers[words[0]](w, words[1:])
		case "conditional":
			options.Adopt.Conditional = strings.Split(value, ", ")
		case "replace":
			options.Adopt.Replace = true
		case "catalogs":
			if w.shelf = kits(); value == "none" {
				continue
			} else if value == "greek" {
				w.shelf.put("8", shelved{name: "greek", owner: "mona", tools: []string{"gamma"}})
			}
			options.Catalogs.Source = w.shelf
		case "intercept":
			for _, word := range words {
				if do := unruly[word]; do != nil {
					options.Interceptors = append(options.Interceptors, answers(do))
					continue
				}
				options.Interceptors = append(options.Interceptors, scenarioInterceptors[word](w))
			}
		case "sink":
			w.logs = value == "logs"
		case "identity", "case":
		case "tasks":
			if value == "none" {
				continue
			}
			w.store = &scenarioStore{Store: task.NewMemory(), w: w, noted: value == "noted"}
			options.Tasks.Store = w.store
		case "grants":
			w.purse = &purse{}
			options.Grants.Source = w.purse
			options.Grants.Roots = roots(t, map[string]string{"a.md": "A", "secret/b.md": "B"})
			if options.Grants.Roots.RefuseHardLinks = value == "no-links"; value == "defaults" {
				options.Grants.Defaults = []grant.Permission{{Type: grant.FileRead,
					Resource: "docs/a.md", Unrestricted: true}}
			}
		case "stdio-values":
			number := 0
			options.Protocol.StdioValue = func(ctx context.Context) (identity.Value, error) {
				if p, ok := runtime.Caller(ctx); !ok || p.Subject == "" || w.away != "" {
					return identity.Value{}, errors.New(w.away)
				}
				number++
				return identity.NewValue(identity.NewToken(fmt.Sprint("stdio-", number))), nil
			}
		case "updates":
			w.bus = &bus{others: make(chan string, 9)}
			options.Protocol.ResourceUpdates = w.bus
		case "observe":
			options.Observe.Observer = w.observes(value)
		case "sandbox":
			options.Sandbox = &box{isolate: w.isolated}
		case "host":
			w.host = newHost(nil)
			for _, user := range words {
				w.host.set(user)
			}
			options.Host.Source = w.host
		default:
			setOption(t, &options, key, value)
		}
	}
	var err error
	if w.adopted != nil {
		w.server, err = runtime.Adopt(w.adopted, options, rulesOf(t, setup.Sections["rules"]),
			sets...)
	} else {
		w.server, err = runtime.New(options, sets...)
	}
	if err != nil {
		t.Fatal(err)
	}
	w.server.Linger()
	handler := w.server.Handler()
	w.started = w.taken()
	return scenario.World{Handler: handler, Path: w.server.Path(), Token: w.token,
		Stdio: w.stdio, Do: w.do, Records: w.taken, Close: w.server.Shutdown}
}

// setOption sets an option of a simple type.
func setOption(t testing.TB, options *runtime.Options, name, value string) {
	field := reflect.ValueOf(options).Elem()
	for part := range strings.SplitSeq(name, ".") {
		if field = field.FieldByName(part); !field.IsValid() {
			t.Fatalf("the server has no option %s", name)
		}
	}
	var err error
	switch v := field.Addr().Interface().(type) {
	case *bool:
		*v, err = strconv.ParseBool(value)
	case *int:
		*v, err = strconv.Atoi(value)
	case *int64:
		*v, err = strconv.ParseInt(value, 10, 64)
	case *string:
		*v = value
	case *[]byte:
		*v = []byte(value)
	case *[]string:
		*v = strings.Fields(value)
	case *map[string]string, *map[string]map[string]any, *[]runtime.ServiceUser:
		err = json.Unmarshal([]byte(value), v)
	case *time.Duration:
		*v, err = time.ParseDuration(value)
	case *access.Denial:
		*v = map[string]access.Denial{"conceal": access.Conceal, "forbid": access.Forbid,
			"challenge": access.Challenge}[value]
	case *audit.IntentPolicy:
		*v = audit.IntentPolicy(value)
	default:
		err = fmt.Errorf("%T is no simple type", v)
	}
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

// rulesOf reads rules: a key, "prompt=NAME" or "resource=URI" if it is no tool, and the rule.
func rulesOf(t testing.TB, text string) map[string]access.Rule {
	rules := map[string]access.Rule{}
	for line := range strings.Lines(text) {
		key, words, _ := strings.Cut(strings.TrimSpace(line), ": ")
		var of access.Rule
		for _, word := range strings.Fields(words) {
			kind, value, _ := strings.Cut(word, "=")
			switch kind {
			case "prompt":
				of.Prompt = value
			case "resource":
				of.Resource = value
			case "permission":
				of.Permission = permission(value)
			default:
				continue
			}
			words = strings.TrimSpace(strings.Replace(words, word, "", 1))
		}
		var rule access.Rule
		var err error
		if words != "" {
			rule, err = access.ParseRule(nil, words)
		}
		if err != nil {
			t.Fatal(err)
		}
		rule.Prompt, rule.Resource, rule.Permission = of.Prompt, of.Resource, of.Permission
		rules[key] = rule
	}
	return rules
}

func (w *scenarioWorld) token(caller string) string {
	if caller == "nobody" {
		return ""
	}
	return caller
}

func (w *scenarioWorld) verify(_ context.Context, token string) (identity.Identity, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	p, ok := w.users[token]
	w.verified.Add(1)
	if w.away != "" {
		return identity.Identity{}, errors.New(w.away)
	}
	if !ok {
		return identity.Identity{}, identity.ErrInvalidToken
	}
	return identity.Identity{Principal: p.Principal, Expires: p.expires,
		ClientItself: p.Itself}, nil
}

func (w *scenarioWorld) stdio(ctx context.Context, in io.Reader, out io.Writer,
	caller string) error {
	p := w.users[caller].Principal
	if slices.Contains(p.Roles, "viewer") {
		p.Roles = nil // a role that is not in the hierarchy is an error at start
	}
	return w.server.RunIO(ctx, in, out, p)
}

// do changes something.
func (w *scenarioWorld) do(verb, text string) error {
	words := strings.Fields(text)
	switch verb {
	case "update":
		err := w.server.ResourceUpdated(context.Background(), text)
		if w.bus == nil {
			return err
		}
		w.note(fmt.Sprintf("note: published %q, %v", w.bus.take(), err))
	case "other-update": // of another server; empty for any
		w.bus.others <- text
	case "bus-fails":
		w.bus.breaks(nil)
		if text != "" {
			w.bus.breaks(func() error { return errors.New(text) })
		}
	case "kept":
		w.note("note: " + valueIn(w.kept))
	case "verified":
		w.note(fmt.Sprint("note: verified: ", w.verified.Swap(0)))
	case "list-fails":
		w.listFails.Store(text)
	case "without-prompt":
		w.adopted.RemovePrompts(text)
	case "host":
		for i := range words {
			words[i] = strings.ReplaceAll(words[i], "+", " ")
		}
		w.host.set(words[0], words[1:]...)
	case "boundaries": // the entries of the file from now on
		w.fences.change(boundaryFile(w.t, "boundaries: ["+text+"]"))
	case "boundaries-fail":
		w.fences.fails(text)
	case "grant":
		w.grant(words[0], strings.TrimPrefix(text, words[0]))
	case "no-host-user":
		w.host.remove(text)
	case "host-fails":
		w.host.failing(func(context.Context) error { return errors.New(text) })
		if text == "" {
			w.host.failing(nil)
		}
	case "invalidate":
		w.server.InvalidateCapabilities(runtime.OfUser(text))
	case "store":
		w.mu.Lock()
		defer w.mu.Unlock()
		method, failure, _ := strings.Cut(text, " ")
		w.storeFails[method] = failure
	case "lost", "dead": // another replica has ended the newest task, or had its run and has died
		_, err := w.store.Store.Change(context.Background(), w.store.made.Owner, w.store.made.ID,
			func(r *task.Record) error {
				if r.Status, r.Run = task.Failed, ""; verb == "dead" {
					r.Status, r.Run, r.Lease = task.Working, "another", time.Now().Add(-time.Minute)
				}
				return nil
			})
		return err
	case "stored":
		r, err := w.store.Store.Get(context.Background(), w.store.made.Owner, w.store.made.ID)
		w.note(fmt.Sprintf("note: %s, runs %t, %v", r.Status, r.Run != "", err))
	case "digested":
		var texts map[string]json.RawMessage
		err := json.Unmarshal([]byte(text), &texts)
		w.digested = map[string]string{}
		for name, value := range texts {
			w.digested[name] = string(value)
		}
		return err
	case "log-panics":
		w.mu.Lock()
		defer w.mu.Unlock()
		w.logPanics = text
	case "shutdown": // in a time
		d, err := time.ParseDuration(text)
		if err != nil {
			return err
		}
		go func() {
			ctx, cancel := context.WithTimeout(context.Background(), d)
			defer cancel()
			w.note(fmt.Sprint("note: shutdown: ", w.server.Shutdown(ctx)))
		}()
	case "close-sessions":
		runtime.CloseSessions(w.server)
	case "watched":
		w.note(fmt.Sprint("note: watched: ", runtime.Watched(w.server)))
	case "asked":
		w.note(fmt.Sprint("note: queries: ", w.host.times(text)))
	case "off":
		w.shelf.turnOff(words...)
		return w.server.ReloadSwitches(context.Background())
	case "tool":
		addTool(w.adopted, words[0], words[0]+" answered")
	case "prompt":
		addPrompt(w.adopted, text)
	case "resource":
		addResource(w.adopted, text)
	case "without":
		w.adopted.RemoveTools(words...)
	case "started":
		w.mu.Lock()
		defer w.mu.Unlock()
		w.records = w.started
	case "unrecorded":
		w.mu.Lock()
		defer w.mu.Unlock()
		w.unrecorded = text
	case "slow":
		d, err := time.ParseDuration(text)
		w.mu.Lock()
		defer w.mu.Unlock()
		w.slow = d
		return err
	case "identity-fails":
		w.mu.Lock()
		defer w.mu.Unlock()
		w.away = text
	case "user": // another principal for a token, or none
		w.mu.Lock()
		defer w.mu.Unlock()
		name, principal, _ := strings.Cut(text, " ")
		var p scenarioUser
		if principal == "" {
			delete(w.users, name)
			return nil
		}
		err := json.Unmarshal([]byte(principal), &p)
		w.users[name] = p
		return err
	case "handled": // waits until the adopted server has so many subscriptions
		soon(w.t, "its handlers run", func() bool { return fmt.Sprint(w.handled.Load()) == text })
	case "subscriptions": // waits until all clients have so many
		soon(w.t, "subscriptions", func() bool {
			return fmt.Sprint(runtime.Subscriptions(w.server)) == text
		})
	case "own-update":
		return w.adopted.ResourceUpdated(context.Background(),
			&mcp.ResourceUpdatedNotificationParams{URI: text})
	case "proceed":
		w.proceed <- struct{}{}
	default:
		w.t.Fatalf("the server cannot %s", verb)
	}
	return nil
}

// grant sets all permissions of a user's client, such as "file.read docs/**; queue.push mail".
func (w *scenarioWorld) grant(user, text string) {
	var all []grant.Permission
	for part := range strings.SplitSeq(text, ";") {
		kind, resource, _ := strings.Cut(strings.TrimSpace(part), " ")
		if kind != "" {
			all = append(all, grant.Permission{Type: kind, Resource: resource, Unrestricted: true})
		}
	}
	p := w.users[user].Principal
	w.purse.put(isolate.Client{Issuer: p.Issuer, ID: p.ClientID()}, all...)
}

// Record implements audit.Sink.
func (w *scenarioWorld) Record(ctx context.Context, e audit.Event) error {
	w.mu.Lock()
	refused, slow := w.unrecorded == string(e.Type) && e.Status != audit.Intent ||
		w.unrecorded == fmt.Sprint(e.Type, " ", e.Status) || w.unrecorded == "all", w.slow
	w.mu.Unlock()
	scenario.Pause(slow)
	if value := valueIn(ctx); value != "false <>" {
		w.note("note: the sink reads the value of the caller: " + value)
	}
	if w.logs {
		runtime.Logger(ctx).Info("recorded")
	}
	if refused {
		return errors.New("the disk is full")
	}
	e.Time, e.RequestID, e.Milliseconds = time.Time{}, "", 0
	if strings.HasPrefix(e.Object, "task of request ") {
		e.Object = "task of request …"
	}
	text, err := json.Marshal(e)
	if err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(text))
	line := fmt.Sprintf("audit: %s %s", e.Type, e.Status)
	if e.Failure != "" {
		line = fmt.Sprintf("audit: %s %s", e.Type, e.Failure)
	}
	_, _ = d.Token() // the opening brace
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return err
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return err
		}
		text := string(value)
		if plain := strings.Trim(text, `"`); !strings.ContainsAny(plain, ` \"`) {
			text = plain
		}
		switch key {
		case "timestamp", "event_type", "request_id", "status", "failure", "execution_time_ms":
		case "issuer", "client_id": // those of nearly all callers
			if text != "test" && text != e.Principal {
				line += fmt.Sprintf(" %s=%s", key, text)
			}
		case "arguments":
			for _, a := range e.Arguments {
				line += fmt.Sprintf(" argument=%q", a.Name)
				if text, ok := w.digested[a.Name]; ok {
					line += fmt.Sprintf("=%t", a.Digest == audit.DigestOf([]byte(text)))
				}
			}
		default:
			line += fmt.Sprintf(" %s=%s", key, text)
		}
	}
	w.note(line)
	return nil
}

func (w *scenarioWorld) note(line string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.records = append(w.records, line)
}

func (w *scenarioWorld) taken() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	records := w.records
	w.records = nil
	return records
}

// logger notes the lines of the log.
func (w *scenarioWorld) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(logOf{w}, &slog.HandlerOptions{
		Level: slog.LevelDebug, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			switch a.Key {
			case slog.TimeKey, "request_id", "stack", "remote":
				return slog.Attr{}
			}
			return a
		}}))
}

type logOf struct{ *scenarioWorld }

func (w logOf) Write(line []byte) (int, error) {
	kind := "log: "
	if bytes.HasPrefix(line, []byte("level=DEBUG ")) {
		kind = "debug: "
	}
	w.note(kind + strings.TrimSpace(string(line)))
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.logPanics != "" && bytes.Contains(line, []byte(w.logPanics)) {
		panic("the log handler")
	}
	return len(line), nil
}
