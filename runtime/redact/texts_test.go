package redact_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/mcpgen/mcpgen/runtime/redact"
)

func TestTextsAreMaskedWhereverTheyStand(t *testing.T) {
	const text = `a+b/"c"\d e~fgh`
	m := redact.Masker{Texts: func() []string { return []string{text, "", "abc"} }}
	quoted, _ := json.Marshal(text)
	for _, shown := range []string{text, string(quoted), fmt.Sprintf("%q", text),
		url.QueryEscape(text), url.PathEscape(text), text + text, "x" + text + "y",
		"cut: " + text[:10]} {
		got := m.Text("it is " + shown + "")
		if strings.Contains(got, text[4:9]) || strings.Contains(got, "fgh") ||
			!strings.Contains(got, redact.Mask) {
			t.Errorf("%s: %s", shown, got)
		}
	}
	for _, plain := range []string{"abc", "of no text", text[:7], text[:10] + " and more"} {
		if got := m.Text(plain); got != plain {
			t.Errorf("%s: %s", plain, got)
		}
	}
	more := m.WithTexts(func() []string { return []string{"of another"} })
	if got := more.Text("of another, " + text); strings.Contains(got, "other") ||
		strings.Contains(got, "fgh") {
		t.Error(got)
	}
	if got := m.Text("of another"); got != "of another" {
		t.Errorf("the first masker has changed: %s", got)
	}
}

// encoders are the ways in which programs write a text, beside others.
var encoders = map[string]func(string) string{
	"plain":              func(text string) string { return text },
	"hexadecimal":        func(text string) string { return hex.EncodeToString([]byte(text)) },
	"hexadecimal, upper": func(text string) string { return fmt.Sprintf("%X", text) },
	"base64":             encoding(base64.StdEncoding),
	"base64, no padding": encoding(base64.RawStdEncoding),
	"base64url":          encoding(base64.URLEncoding),
	"base64url, raw":     encoding(base64.RawURLEncoding),
	"query":              url.QueryEscape,
	"path":               url.PathEscape,
	"query, lower": func(text string) string {
		return strings.NewReplacer("%2B", "%2b", "%2F", "%2f", "%3C", "%3c", "%5C", "%5c",
			"%C3", "%c3", "%BC", "%bc").
			Replace(url.QueryEscape(text))
	},
	"JSON": func(text string) string {
		quoted, _ := json.Marshal(text)
		return string(quoted)
	},
	"JSON without HTML": func(text string) string {
		var out bytes.Buffer
		encoder := json.NewEncoder(&out)
		encoder.SetEscapeHTML(false)
		_ = encoder.Encode(text) // a string
		return out.String()
	},
	"Go": func(text string) string { return fmt.Sprintf("%q", text) },
}

func encoding(of *base64.Encoding) func(string) string {
	return func(text string) string { return of.EncodeToString([]byte(text)) }
}

// A text is found in what an encoder makes of it and of its neighbours, wherever in a group of
// base64 it begins, and also if the result was cut.
func TestTextsAreMaskedInEachForm(t *testing.T) {
	secret := rapid.StringOfN(rapid.SampledFrom([]rune(`ABCabcxyz0189-._~+/<"\ü`)), 10, 40, -1)
	beside := rapid.StringOfN(rapid.SampledFrom([]rune(`defDEF245 :,=%`)), 0, 7, -1)
	for name, encode := range encoders {
		t.Run(name, rapid.MakeCheck(func(t *rapid.T) {
			text, before, after := secret.Draw(t, "secret"), beside.Draw(t, "before"),
				beside.Draw(t, "after")
			m := redact.Masker{Texts: func() []string { return []string{text} }}
			shown := "it is " + encode(before+text+after)
			got := m.Text(shown + " then")
			begin := strings.Index(got, redact.Mask)
			if begin < 0 {
				t.Fatalf("%q is not masked in %q", text, shown)
			}
			for from := 0; from+9 <= len(text); from++ {
				part := text[from : from+9]
				for _, way := range encoders {
					if form := strings.Trim(way(part), "\"=\n"); strings.Contains(got, form) {
						t.Fatalf("%q shows %q of %q", got, form, text)
					}
				}
			}
			// A cut leaves so much of the beginning that it is found, or less than 8 characters.
			cut := rapid.IntRange(begin, len(shown)).Draw(t, "cut")
			if got := m.Text(shown[:cut]); !strings.Contains(got, redact.Mask) && cut > begin+9 {
				t.Fatalf("%q is not masked in %q", text, shown[:cut])
			}
			if other := encode(before + after + before); m.Text(other) != other &&
				!strings.Contains(other, text) {
				t.Fatalf("%q is masked without %q", other, text)
			}
		}))
	}
}

func TestHandlerMasksTheTextsOfAContext(t *testing.T) {
	texts := []string{"first-of-them"}
	ctx := redact.WithTexts(context.Background(), func() []string { return texts })
	var out bytes.Buffer
	log := slog.New(redact.Handler(slog.NewTextHandler(&out, nil)))
	texts = append(texts, "later-one")
	log.InfoContext(ctx, "it is first-of-them", "error", errors.New("later-one fails"),
		slog.Group("in", "a", []string{"first-of-them"}))
	if got := out.String(); strings.Contains(got, "of-them") || strings.Contains(got, "later") ||
		strings.Count(got, redact.Mask) != 3 {
		t.Error(got)
	}
	log.Info("first-of-them")
	if !strings.Contains(out.String(), "first-of-them") {
		t.Error("other contexts are masked too")
	}
}
