//go:build !linux

package sandbox

import (
	"context"
	"fmt"
	"os"
	"runtime"
)

// Pool isolates calls on Linux. Other systems have no pool.
type Pool struct{ options Options }

// unsupported is the error of systems other than Linux.
var unsupported = fmt.Errorf("isolate=process needs Linux, and this is %s: run the server on "+
	"Linux (also in a container or virtual machine), or remove isolate=process from its tools",
	runtime.GOOS)

// NewPool returns an error, also with [Options].BestEffort: only Linux has the parts of
// isolation, and a handler must not run with less isolation than its directive requires.
func NewPool(Options) (*Pool, error) { return nil, unsupported }

// Run returns an error.
func (*Pool) Run(context.Context, Request) (Response, error) { return Response{}, unsupported }

// Missing returns nil.
func (*Pool) Missing() []string { return nil }

// Close does nothing.
func (*Pool) Close() error { return nil }

// Programs returns nil.
func Programs() []Path { return nil }

func help() {
	fmt.Fprintln(os.Stderr, "sandbox: helpers run on Linux only")
	os.Exit(2)
}
