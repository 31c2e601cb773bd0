package decode

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"testing"

	"pgregory.net/rapid"
)

// sameBytes compares Bytes and BytesOf with encoding/json, on the string as JSON writes it.
func sameBytes(t interface{ Fatalf(string, ...any) }, text string) {
	doc, err := json.Marshal(text)
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	var want []byte
	refused := json.Unmarshal(doc, &want)
	got, err := Arguments(doc, func(r *Reader, v *[]byte) { Bytes(r, v) })
	if (err == nil) != (refused == nil) || err == nil && (!bytes.Equal(got, want) || got == nil) {
		t.Fatalf("%s: %q, %v; encoding/json makes %q, %v", doc, got, err, want, refused)
	}
	type octet byte
	var named []octet
	refused = json.Unmarshal(doc, &named)
	own, err := Arguments(doc, func(r *Reader, v *[]octet) { BytesOf(r, v) })
	if (err == nil) != (refused == nil) || err == nil && len(own) != len(named) {
		t.Fatalf("%s: %v, %v; encoding/json makes %v, %v", doc, own, err, named, refused)
	}
}

// base64Texts are texts near the edges of the grammar: line breaks, trailing bits, padding.
var base64Texts = []string{
	"", "YQ==", "YR==", "YWI=", "YWJ=", "YWJj", "YW\nJj", "YW\r\nJj\r\n", "\nYQ==", "YQ=\n=",
	"YQ==\n", "\n",
	"YQ", "YQ=", "YQ===", "=", "Y===", "YQ==YQ==", "Y Q==", "YQ\t==", "_-8=", "+/8=", "YQ\u2028==",
	"Ω===",
}

func TestBytesAreWhatEncodingJSONReads(t *testing.T) {
	for _, text := range base64Texts {
		sameBytes(t, text)
	}
	rapid.Check(t, func(t *rapid.T) {
		text := base64.StdEncoding.EncodeToString(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes"))
		for range rapid.IntRange(0, 3).Draw(t, "edits") {
			at := rapid.IntRange(0, len(text)).Draw(t, "at")
			piece := rapid.SampledFrom([]string{"\n", "\r\n", "=", "/", "A", " ", "-", ""}).Draw(t,
				"piece")
			text = text[:at] + piece + text[min(len(text), at+rapid.IntRange(0, 1).Draw(t, "cut")):]
		}
		sameBytes(t, text)
	})
}

func FuzzBytesAreWhatEncodingJSONReads(f *testing.F) {
	for _, text := range base64Texts {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) { sameBytes(t, text) })
}
