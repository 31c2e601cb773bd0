// Package codecapabilities has a func for each way in which a handler gets a code capability. Its
// comment names the capability.
package codecapabilities

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"reflect"
	"sort"
	"strings"
	"sync"
	"syscall"
	"unsafe"

	"github.com/mcpgen/mcpgen/cmd/mcpgen-prove/reach/testdata/codecapabilities/other"
	"github.com/mcpgen/mcpgen/runtime/grant"
	"github.com/mcpgen/mcpgen/runtime/sandbox"
)

// want none
func Pure(ctx context.Context, names []string) (string, error) {
	sort.Slice(names, func(i, j int) bool { return names[i] < names[j] })
	var b bytes.Buffer
	fmt.Fprintf(&b, "%v", names)
	if err := json.NewEncoder(&b).Encode(names); err != nil {
		return "", err
	}
	fmt.Fprintln(os.Stderr, "said")
	os.Stdout.WriteString("said")
	_, err := io.ReadAll(&b)
	return os.Getenv("HOME") + strings.ToUpper(b.String()), err
}

// want none
func Environment(ctx context.Context) error { return ctx.Err() }

// want files
func Direct() { os.ReadFile("x") }

// want files
func Deep() { one() }

func one() { two() }
func two() { os.Open("x") }

// want files writes
func Writes() { os.WriteFile("x", nil, 0) }

// want files
func OpensForReading() { os.OpenFile("x", os.O_RDONLY|os.O_SYNC, 0) }

// want files writes
func OpensForWriting() { os.OpenFile("x", os.O_RDWR, 0) }

// want files writes
func OpensSomehow(flag int) { os.OpenFile("x", flag, 0) }

// want files writes
func OpensByValue() { opens(os.OpenFile) }

func opens(open func(string, int, os.FileMode) (*os.File, error)) { open("x", 0, 0) }

// want files
func OpensInRoot(r *os.Root) { r.OpenFile("x", os.O_RDONLY, 0) }

// want files writes
func WritesInRoot(r *os.Root) { r.WriteFile("x", nil, 0) }

// want network
func Dials() { net.Dial("tcp", "x") }

// want network
func Behind(c net.Conn) { c.Write(nil) }

// want exec
func Spawns() { exec.Command("x").Run() }

// want exec files
func Both() {
	os.Open("x")
	exec.Command("x").Run()
}

// want files
func Goes() { go os.Open("x") }

// want files
func Defers() { defer two() }

// want files
func InClosure() { func() { os.Open("x") }() }

// want files
func HandsClosure() { each(func() { os.Open("x") }) }

func each(f func()) { f() }

// want files
func HandsToLibrary(names []string) {
	sort.Slice(names, func(i, j int) bool { two(); return i < j })
}

// want files
func HandsName() { each(two) }

// want files
func HandsMethod() { each(shelf{}.Reach) }

type shelf struct{}

func (shelf) Reach() { os.Open("x") }

// want files
func Once() {
	var once sync.Once
	once.Do(two)
}

type loud struct{}

func (loud) String() string { os.Open("x"); return "" }

// want files
func Prints() { fmt.Println(loud{}) }

type marshalled struct{}

func (*marshalled) MarshalJSON() ([]byte, error) { os.Open("x"); return nil, nil }

// want files
func Marshals() { json.Marshal(&marshalled{}) }

type reader struct{}

func (reader) Read(p []byte) (int, error) { os.Open("x"); return 0, io.EOF }

// want files
func Reads() { io.ReadAll(reader{}) }

// want files
func Generic() { generic[shelf](shelf{}) }

type reacher interface{ Reach() }

func generic[R reacher](r R) { r.Reach() }

type file struct{ *os.File }

// want files writes
func Embedded(f file) { f.Write(nil) }

// want files
func OtherPackage() { other.Open() }

// want files
func Implemented(r reacher) { r.Reach() }

type nobodys interface{ Nobody() }

// want unknown
func Unimplemented(n nobodys) { n.Nobody() }

// want unknown
func FuncValue(f func()) { f() }

// want unknown
func Reflects(v any) { reflect.ValueOf(v).Method(0).Call(nil) }

// want unknown
func Unsafe(p *int) *string { return (*string)(unsafe.Pointer(p)) }

func text(b []byte) string { return *(*string)(unsafe.Pointer(&b)) }

// want unknown
func UnsafeFunc(p *func()) *int { return (*int)(unsafe.Pointer(p)) }

// want unknown
func SystemCall() { syscall.Syscall(0, 0, 0, 0) }

// want files allow file.read={path}
func TakesGranted(ctx context.Context) (string, error) {
	f, err := grant.File(ctx, "path")
	if err != nil {
		return "", err
	}
	defer f.Close()
	text, err := io.ReadAll(f)
	return string(text), err
}

// want files writes allow file.write={path}
func WritesGranted(ctx context.Context) { grant.File(ctx, "path") }

// want files allow file.write={to} file.read={from}
func TakesOneOfTwo(ctx context.Context) { grant.TruePath(ctx, "from") }

// want files writes allow file.write={to} file.read={from}
func TakesEither(ctx context.Context, name string) { grant.Dir(ctx, name) }

// want exec
func RunsGranted(ctx context.Context) {
	if cmd, err := grant.Command(ctx, "argv"); err == nil {
		cmd.Run()
	}
}

// want network
func DialsGranted(ctx context.Context) { grant.Dial(ctx, "host") }

// want none
func Keeps(ctx context.Context) error {
	space, err := sandbox.Workspace(ctx)
	if err != nil {
		return err
	}
	return space.Set("name", "value")
}

// want files
func Works(ctx context.Context) {
	if space, err := sandbox.Workspace(ctx); err == nil {
		space.Dir()
	}
}

// Desk has methods.
type Desk struct{ keeper keeper }

type keeper interface{ Keep() }

// want files
func (d Desk) ByValue() { two() }

// want files writes
func (d *Desk) ByInterface() { d.keeper.Keep() }

type disk struct{}

func (*disk) Keep() { os.Remove("x") }

// Clock is an interface with an implementation of its own.
type Clock interface {
	// want network
	Tell()
	// want none
	Stop()
}

type wall struct{}

func (*wall) Tell() { net.Dial("tcp", "x") }
func (*wall) Stop() {}

// Moon is answered by nobody.
type Moon interface {
	// want unknown
	Rise()
}
