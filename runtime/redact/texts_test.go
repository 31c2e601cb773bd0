package redact_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"testing"

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
