// Package other is another package of the module.
package other

import (
	"bufio"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"reflect"
)

// Open opens.
func Open() { os.Open("x") }

// Start starts a program.
func Start() { exec.Command("x").Run() }

// Opened is an error that opens a file where it is looked at.
type Opened struct{}

func (Opened) Error() string { return "opened" }

// Look opens.
func (Opened) Look() { os.Open("x") }

// ErrOpened is one.
var ErrOpened error = Opened{}

// Broken is an error of a standard type.
func Broken() error { return errors.Join(ErrOpened) }

// Storer stores.
type Storer interface{ Store(name string) }

type storer struct{}

func (storer) Store(name string) { os.Remove(name) }

// NewStorer is the only one to make a value of its type.
func NewStorer() Storer { return storer{} }

type sink struct{}

func (sink) Write(p []byte) (int, error) { os.Open("x"); return len(p), nil }

// Sink is a writer whose writes reach files when its buffer is full.
var Sink io.Writer = bufio.NewWriter(sink{})

type tripper struct{}

func (tripper) RoundTrip(*http.Request) (*http.Response, error) {
	return nil,
		exec.Command("x").Run()
}

// Client has a transport that starts programs.
var Client = &http.Client{Transport: tripper{}}

// Handler answers with a program.
var Handler http.Handler = http.HandlerFunc(
	func(http.ResponseWriter, *http.Request) { Start() })

type moved func(complex128)

var fields struct{ F moved }

// Moved sets a field by reflection, and calls it.
func Moved() {
	var f moved = func(complex128) { os.Open("x") }
	reflect.ValueOf(&fields).Elem().Field(0).Set(reflect.ValueOf(f))
	fields.F(1)
}
