package audit_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/runtime/audit"
)

// abc is the digest of "abc" (FIPS 180-4, the example of SHA-256 for one block).
const abc = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"

func TestDigestIsTextWhereverItIsShown(t *testing.T) {
	d := audit.DigestOf([]byte("abc"))
	list := []audit.Argument{{Name: "id", Bytes: 3, Digest: d}}
	if got := d.String(); got != abc {
		t.Errorf("String: %s", got)
	}
	if got := fmt.Sprintf("%v", list); got != "[{id 3 "+abc+"}]" {
		t.Errorf("fmt: %s", got)
	}
	if got, err := json.Marshal(list); err != nil || string(got) != `[{"name":"id","bytes":3,"digest":"`+abc+`"}]` {
		t.Errorf("json: %s, %v", got, err)
	}
	for name, handler := range map[string]func(*bytes.Buffer) slog.Handler{
		"text": func(out *bytes.Buffer) slog.Handler { return slog.NewTextHandler(out, nil) },
		"json": func(out *bytes.Buffer) slog.Handler { return slog.NewJSONHandler(out, nil) },
	} {
		var out bytes.Buffer
		e := event()
		e.Arguments = list
		if err := audit.Slog(slog.New(handler(&out))).Record(context.Background(), e); err != nil || !strings.Contains(out.String(), abc) {
			t.Errorf("slog as %s: %s, %v", name, out.String(), err)
		}
	}
}

func TestDigestReadsItsOwnTextAlone(t *testing.T) {
	for _, text := range []string{
		"", "sha256:", "sha256:00", abc[7:], abc + "00", abc[:len(abc)-1] + "g", "SHA256:" + abc[7:], " " + abc,
	} {
		d := audit.DigestOf([]byte("before"))
		if err := d.UnmarshalText([]byte(text)); err == nil || d != audit.DigestOf([]byte("before")) {
			t.Errorf("%q is read as %s, %v", text, d, err)
		}
	}
	var d audit.Digest
	if err := d.UnmarshalText([]byte(abc)); err != nil || d.String() != abc {
		t.Errorf("%s, %v", d, err)
	}
}

func TestMACReadsItsOwnTextAlone(t *testing.T) {
	mac := audit.MAC(audit.DigestOf([]byte("abc")))
	if got := mac.String(); got != abc[7:] {
		t.Error(got)
	}
	var read audit.MAC
	if err := read.UnmarshalText([]byte(abc[7:])); err != nil || read != mac {
		t.Errorf("%s, %v", read, err)
	}
	for _, text := range []string{"", "00", abc, abc[7:] + "00", abc[7:len(abc)-1] + "g"} {
		got := mac
		if err := got.UnmarshalText([]byte(text)); err == nil || got != mac {
			t.Errorf("%q is read as %s", text, got)
		}
	}
}
