package sandbox

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestRequestsComeBackAsTheyWere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sent := order{
			Name:   rapid.String().Draw(t, "name"),
			Files:  rapid.SliceOf(rapid.String()).Draw(t, "files"),
			Dir:    rapid.Bool().Draw(t, "dir"),
			Emits:  rapid.Bool().Draw(t, "emits"),
			Limits: Limits{Memory: rapid.Int64().Draw(t, "memory")},
		}
		arguments := rapid.SliceOf(rapid.Byte()).Draw(t, "arguments")
		caller := rapid.SliceOf(rapid.Byte()).Draw(t, "caller")
		frame, err := encodeRequest(sent, arguments, caller)
		if err != nil {
			t.Fatal(err)
		}
		kind, length, err := readPrefix(bytes.NewReader(frame))
		if err != nil || kind != frameRequest || int(length) != len(frame)-prefix {
			t.Fatalf("prefix %c %d %v", kind, length, err)
		}
		got, a, c, err := decodeRequest(frame[prefix:])
		if err != nil || !bytes.Equal(a, arguments) || !bytes.Equal(c, caller) {
			t.Fatalf("%q %q %v", a, c, err)
		}
		if got.Dir != sent.Dir || got.Emits != sent.Emits || got.Limits != sent.Limits ||
			len(got.Files) != len(sent.Files) {
			t.Fatalf("%+v", got)
		}
	})
}

func FuzzRequestsAreTakenApartOrRefused(f *testing.F) {
	frame, err := encodeRequest(order{Name: "x"}, []byte("{}"), []byte("1"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(frame[prefix:])
	f.Add([]byte{0xff, 0xff, 0xff, 0xff})
	f.Add([]byte{0, 0})
	f.Add([]byte("\x00\x00\x00\x01{"))
	f.Add([]byte("\x00\x00\x00\x10{\"Arguments\":-1}"))
	f.Fuzz(func(t *testing.T, payload []byte) {
		o, arguments, caller, err := decodeRequest(payload)
		if err == nil && (len(arguments) != o.Arguments || len(caller) != o.Caller) {
			t.Errorf("%+v: %d and %d bytes", o, len(arguments), len(caller))
		}
	})
}

func TestFramesThatEndEarlyAreErrors(t *testing.T) {
	if _, _, err := readPrefix(strings.NewReader("r\x00")); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("error %v", err)
	}
	if _, err := encodeRequest(order{}, make([]byte, maxRequest), nil); err == nil {
		t.Error("a request beyond the bound was encoded")
	}
	for _, size := range []int{0, 4096, 4097, 1 << 20} {
		var b bytes.Buffer
		if err := writeFrame(&b, frameResult, make([]byte, size)); err != nil || b.Len() != prefix+size {
			t.Errorf("%d bytes: %d, %v", size, b.Len(), err)
		}
	}
}
