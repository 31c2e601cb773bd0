package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"

	"github.com/mcpgen/mcpgen/runtime/sandbox/internal/seccomp"
)

// jobHandler runs one isolated call in a helper process. The context ends at the time limit of the
// call. The process ends shortly after, even if the handler ignores that. The result crosses a
// pipe unchanged; of an error only the text does.
type jobHandler func(ctx context.Context, job Job) (result []byte, err error)

// Job is the input of a handler, which owns all of it: the process serves one call only.
type Job struct {
	// Arguments contains the call's arguments as JSON.
	Arguments json.RawMessage
	// Caller describes the call, as JSON from the server: the caller and the server's decisions.
	// The handler's context contains it already. It is empty if no server made the call.
	Caller json.RawMessage
	// Files are the granted resources, opened by the server, by name.
	Files map[string]*os.File
	// Dir is the directory of the handler, and the working directory of the process. It is nil if
	// the request has none; the working directory is then the root, which cannot be read.
	Dir *os.Root
}

// registry contains the handlers of this program. Init functions fill it, so the server's process
// and its helpers have the same.
var registry = struct {
	sync.Mutex
	handlers map[string]jobHandler
	err      error // the first error of Register
}{handlers: map[string]jobHandler{}}

// called reports that Main ran in this process, which is no helper.
var called atomic.Bool

// Register registers a handler by name. Call it from init functions, which run before [Main];
// generated code does. With an empty or duplicate name or a nil handler, the server does not start.
func Register(name string,
	run func(ctx context.Context, job Job) (result []byte, err error)) {
	registry.Lock()
	defer registry.Unlock()
	switch _, taken := registry.handlers[name]; {
	case name == "" || run == nil:
		registry.err = errors.Join(registry.err,
			fmt.Errorf("sandbox.Register(%q): a handler needs a name and a function", name))
	case taken:
		registry.err = errors.Join(registry.err,
			fmt.Errorf("sandbox.Register(%q): the name is taken; names are unique in a program",
				name))
	default:
		registry.handlers[name] = run
	}
}

// handlerOf returns the handler of a name.
func handlerOf(name string) (jobHandler, bool) {
	registry.Lock()
	defer registry.Unlock()
	run, found := registry.handlers[name]
	return run, found
}

// notRegistered returns an error for a missing handler, with the cause.
func notRegistered(name string) error {
	return fmt.Errorf("no handler is registered as %q: the program does not import its package, "+
		"or an older version of mcpgen generated it. Import the package, and run go generate", name)
}

// Main must be the first statement of a program's main function. In a helper process it runs the
// handler and never returns. Everywhere else it returns at once.
//
// Each helper would also run any statement before it.
func Main() {
	if isHelper(os.Args) {
		help() // does not return
	}
	called.Store(true)
}

// ready reports a missing call of [Main], and handlers that were registered wrongly. Otherwise it
// returns nil.
func ready() error {
	registry.Lock()
	defer registry.Unlock()
	if registry.err != nil {
		return registry.err
	}
	if !called.Load() {
		return errors.New("a handler has isolate=process, but main does not begin with " +
			"sandbox.Main(): make this its first line")
	}
	return nil
}

// helperName is the first argument of a helper, in place of a program's path. The second is its
// [role]. The environment does not matter, so a program that a handler starts cannot become a
// helper by it.
const helperName = "mcp-sandbox-helper"

func isHelper(args []string) bool {
	return len(args) == 2 && args[0] == helperName
}

// role is the part of a helper's configuration from before its request, as JSON.
type role struct {
	seccomp.Options // other steps depend on them as well
	// Named makes it find granted files by name, because the server may not clone mounts.
	Named bool
	// Trial ends it after it has a root of its own.
	Trial bool
}
