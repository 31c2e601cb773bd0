//go:build !linux

package sandbox

import (
	"context"
	"fmt"
	"os"
	"runtime"
)

// Pool isolates calls on Linux. Here there is none.
type Pool struct{ options Options }

// unsupported says that this is not Linux.
var unsupported = fmt.Errorf("isolate=process needs Linux, and this is %s: run the server on "+
	"Linux (also in a container or virtual machine), or remove isolate=process from its tools", runtime.GOOS)

// NewPool refuses: only Linux has what isolation is made of, and running a handler with less than
// was asked for would be a lie, with [Options].BestEffort too.
func NewPool(Options) (*Pool, error) { return nil, unsupported }

// Run refuses.
func (*Pool) Run(context.Context, Request) (Answer, error) { return Answer{}, unsupported }

// Missing returns nil: there is no pool that lacks a part.
func (*Pool) Missing() []string { return nil }

func (*Pool) required() []string { return nil }

// Close does nothing.
func (*Pool) Close() error { return nil }

// Programs returns nothing here.
func Programs() []Path { return nil }

func help() {
	fmt.Fprintln(os.Stderr, "sandbox: helpers run on Linux only")
	os.Exit(2)
}

func sameMount(*os.Root, *os.File) error { return nil }
