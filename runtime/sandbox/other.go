//go:build !linux

package sandbox

import (
	"context"
	"fmt"
	"os"
	"runtime"
)

// pool isolates calls on Linux. Other systems have no pool.
type pool struct{ options Options }

// unsupported is the error of systems other than Linux.
var unsupported = fmt.Errorf("isolate=process needs Linux, and this is %s: run the server on "+
	"Linux (also in a container or virtual machine), or remove isolate=process from its tools",
	runtime.GOOS)

// startPool returns an error, also with [Options].BestEffort: only Linux has the parts of
// isolation, and a handler must not run with less isolation than its directive requires.
func startPool(Options) (*pool, error) { return nil, unsupported }

// Run returns an error.
func (*pool) Run(context.Context, request) (response, error) { return response{}, unsupported }

// Missing returns nil.
func (*pool) Missing() []string { return nil }

// Close does nothing.
func (*pool) Close() error { return nil }

// programs returns nil.
func programs() []granted { return nil }

func help() {
	fmt.Fprintln(os.Stderr, "sandbox: helpers run on Linux only")
	os.Exit(2)
}
