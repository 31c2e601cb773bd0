package runtime

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"
)

// Allow is a permission that a call needs on what one of its arguments names, by //mcp:allow.
type Allow struct {
	Kind     string // the type of the permission, as in package grant: "file.read"
	Argument string // as clients name it
}

// Limits bound the calls of a tool beside its Timeout, by //mcp:limit. Zero is what the server does without.
type Limits struct {
	Memory      int64 // bytes that a call in a process of its own may take beyond what the process began with
	Output      int64 // bytes of the result
	Concurrency int   // calls at a time, for each client
	Rate        Rate  // calls that begin, for each client
	// Capabilities are what the handler's code is declared to reach: files, network and exec, or none alone. nil
	// declares nothing. They are compared by mcpgen prove.
	Capabilities []string
}

// Rate is how many calls may begin in a time. The zero Rate is no bound.
type Rate struct {
	Calls int
	Per   time.Duration
}

// Named is what one argument of a call names: a resource, to be decided on before the handler runs.
type Named struct {
	Argument string   // as clients name it
	Kinds    []string // the permissions that it takes: file.read and file.write together, or one of any other type
	Values   []string // what is named: one value, or the argv of a command
}

// errNotServed is what a permission or an isolated call comes to in a server that cannot decide on the one or run
// the other. Such a server does not start; this is for calls that reach a tool by another way.
var errNotServed = errors.New("permissions on resources and isolated calls are not served yet")

// Allow decides on what the arguments of a call name, opens the files among it, and returns the context
// that the handler takes them from. It is called by generated code, once a call, after decoding and before the
// handler. Nothing is open after an error.
func (c Call) Allow(ctx context.Context, named ...Named) (context.Context, error) {
	return ctx, errNotServed
}

// Isolated runs the call in a process of its own, with what [Call.Allow] has opened, and returns the result as
// JSON, nil where the handler returns an error alone. It is called by generated code.
func (c Call) Isolated(ctx context.Context) (json.RawMessage, error) {
	return nil, errNotServed
}

// Inherit returns the context of a handler in a process of its own: with the caller and what was decided and opened for
// its call in the process of the server. It is called by generated code, with what package sandbox hands over.
func Inherit(ctx context.Context, caller json.RawMessage, files map[string]*os.File) (context.Context, error) {
	return ctx, errNotServed
}

// Encoded returns what a handler answered in a process of its own, as the process of the server takes it.
func Encoded(out any, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(out)
	if err != nil {
		return nil, fmt.Errorf("the result is no JSON: %w", err)
	}
	return text, nil
}

// checkServed refuses tools that this version cannot serve as they were declared: without its permissions, its limits or its
// process a tool would be open to what it was closed to.
func checkServed(t Tool) error {
	var errs []error
	not := func(is bool, what, directive string) {
		if is {
			errs = append(errs, fmt.Errorf("%s are not served yet: remove %s, and run go generate", what, directive))
		}
	}
	l := t.Limits
	not(len(t.Allow) > 0, "permissions on what arguments name", "//mcp:allow")
	not(t.Isolate != "", "calls in a process of their own", "isolate=process")
	not(l.Memory > 0 && t.Isolate == "", "limits on memory", "memory= of //mcp:limit")
	not(l.Output > 0, "limits on the result", "output= of //mcp:limit")
	not(l.Concurrency > 0 || l.Rate.Calls > 0, "limits on the calls of a client", "concurrency= and rate= of //mcp:limit")
	return errors.Join(errs...)
}
