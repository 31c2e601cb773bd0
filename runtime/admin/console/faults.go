package console

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/mcpgen/mcpgen/runtime/grant"
	"github.com/mcpgen/mcpgen/runtime/grant/pattern"
)

// problemBelow is on top of a page whose form has faults.
const problemBelow = "Nothing was changed. See the messages at the fields below."

// faults are what is wrong with a form, by the names of its fields.
type faults map[string]*fault

// fault is what is wrong with a field, and where in it.
type fault struct {
	Field string
	// what was typed, before the place where it is wrong, and from there on; empty where there is
	// no such place
	Good, Rest string
	Text       string
}

// Of is what is wrong with a field, or nil.
func (f faults) Of(field string) *fault { return f[field] }

func (f faults) add(field, text string) { f[field] = &fault{Field: field, Text: text} }

// pattern notes what is wrong with a permission: with the pattern of its resource, which an error
// may point into, or else with what the form calls field.
func (f faults) pattern(field string, err error) {
	var wrong *pattern.Error
	if !errors.As(err, &wrong) {
		f.add(field, errorText(err))
		return
	}
	at := min(max(wrong.Offset, 0), len(wrong.Pattern))
	f["resource"] = &fault{"resource", visible(wrong.Pattern[:at]), visible(wrong.Pattern[at:]),
		sentence(fmt.Sprintf("at byte %d: %s; %s", wrong.Offset, wrong.Problem, wrong.Cure))}
}

// seen notes what of a resource cannot be seen, and shows it as an escape.
func (f faults) seen(text string) {
	if hidden := grant.Hidden(text); hidden != nil {
		f["resource"] = &fault{"resource", text[:hidden.Offset], visible(text[hidden.Offset:]),
			sentence(hidden.Error())}
	}
}

// layouts are how a time can be typed: as people write it, as records do, and as browsers do (HTML
// standard, 2.3.5.5).
var layouts = []string{"2006-01-02 15:04", "2006-01-02 15:04:05", "2006-01-02", time.RFC3339,
	"2006-01-02T15:04", "2006-01-02T15:04:05"}

// moment reads a time in UTC. Empty is none.
func (f faults) moment(field, text string) time.Time {
	text = strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(text), "UTC"))
	if text == "" {
		return time.Time{}
	}
	for _, layout := range layouts {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UTC()
		}
	}
	f.add(field, "This is not a time. Write it in UTC, for example 2026-05-04 16:00.")
	return time.Time{}
}

// replaced notes a search for a word of earlier versions.
func (f faults) replaced(field, replacement string) {
	if name, word, old := strings.Cut(replacement, "="); old {
		f.add(field, fmt.Sprintf("This is a value of earlier versions. Search for the %s %s, which "+
			"also finds their records.", name, word))
	}
}

// words checks a reason or a note.
func (f faults) words(field, text string, needed bool) {
	switch {
	case needed && strings.TrimSpace(text) == "":
		f.add(field, "Write a reason for readers of the audit trail.")
	default:
		if err := grant.Prose(text); err != nil {
			f.add(field, errorText(err))
		}
	}
}

// name checks an issuer or a client.
func (f faults) name(field, text string, needed bool) {
	switch {
	case needed && text == "":
		f.add(field, "Choose the owner.")
	case hides(text):
		f.add(field, errorText(grant.Hidden(text)))
	case len(text) > grant.MaxIdentity, strings.TrimSpace(text) != text:
		f.add(
			field,
			fmt.Sprintf(
				"Write at most %d bytes of visible characters, without a space at the start or end.",
				grant.MaxIdentity))
	}
}

// term is how long something is granted.
type term struct {
	Value, Name string
	length      time.Duration
}

// terms are what there is to choose from. Zero is for ever.
var terms = []term{
	{"1h", "for an hour", time.Hour}, {"8h", "for 8 hours", 8 * time.Hour},
	{"1d", "for a day", 24 * time.Hour}, {"7d", "for a week", 7 * 24 * time.Hour},
	{"30d", "for 30 days", 30 * 24 * time.Hour}, {"90d", "for 90 days", 90 * 24 * time.Hour},
	{"ever", "for ever", 0},
}

// usual is the term that a form begins with: long enough for a task, and over by itself.
const usual = "7d"

// lasting is how long something is granted, as it is typed: one of the terms, or until a time.
type lasting struct{ Lasts, Until string }

// Terms are what there is to choose from.
func (lasting) Terms() []term { return terms }

// lasting reads the part of a form that says how long something is granted. The zero time is for
// ever.
func (v *visit) lasting(f faults) (l lasting, end time.Time) {
	l, now := lasting{v.field("lasts"), v.field("until")}, time.Now()
	if l.Until != "" {
		if end = f.moment("until", l.Until); f["until"] == nil && !now.Before(end) {
			f.add("until", "This time has passed. It is "+now.UTC().Format("2006-01-02 15:04")+
				" UTC.")
		}
		return l, end
	}
	for _, t := range terms {
		switch {
		case t.Value != l.Lasts:
		case t.length == 0:
			return l, time.Time{}
		default:
			return l, now.Add(t.length).UTC().Truncate(time.Second)
		}
	}
	f.add("lasts", "Choose the duration of the grant.")
	l.Lasts = usual
	return l, time.Time{}
}
