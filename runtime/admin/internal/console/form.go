package console

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcpgen/mcpgen/internal/hiddentext"
	"github.com/mcpgen/mcpgen/internal/pattern"
	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/admin/internal/console/internal/visible"
	"github.com/mcpgen/mcpgen/runtime/admin/internal/front"
	"github.com/mcpgen/mcpgen/runtime/admin/internal/ids"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/grant"
	"github.com/mcpgen/mcpgen/runtime/store"
)

// maxForm bounds a form: a token or a description at their largest, every byte written as three.
const maxForm = 64 << 10

// field is a form's value of a name. The address is not read.
func (v *visit) field(name string) string {
	// A form's line ends are CR LF (HTML standard, 4.10.22.4); stored texts have LF.
	return strings.ReplaceAll(v.r.PostFormValue(name), "\r\n", "\n")
}

// errBadForm: a form is not written as browsers write it.
var errBadForm = errors.New("the form is malformed")

// parsed reads the form of the request, if any.
func (v *visit) parsed() error {
	if v.r.Method != http.MethodPost {
		return nil // addresses are read leniently
	}
	_, err := front.Body(v.w, v.r, maxForm)
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return err
	case err != nil, v.r.ParseForm() != nil:
		return errBadForm // and not what stands in it
	}
	return nil
}

// version is the version that the form was made of, or an impossible one.
func (v *visit) version() int64 {
	n, err := strconv.ParseInt(v.field("version"), 10, 64)
	if err != nil || n < 1 {
		return -1
	}
	return n
}

// id is the number in the address, or 0, which no item has.
func (v *visit) id() int64 { return ids.Of(v.r.PathValue("id")) }

// by is who changes something, for the audit, with the fields of the form by name, size and digest.
func (v *visit) by() audit.Event {
	e := front.By(v.caller, runtime.RequestID(v.ctx))
	for _, name := range slices.Sorted(maps.Keys(v.r.PostForm)) {
		if !slices.Contains(formFields, name) {
			continue
		}
		text, err := json.Marshal(v.field(name))
		if err == nil { // as always with a string
			e.Arguments = append(e.Arguments,
				audit.Argument{Name: name, Bytes: len(text), Digest: audit.DigestOf(text)})
		}
	}
	return e
}

// formFields are the fields of forms that the audit records. Others are ignored.
var formFields = []string{
	"active", "actor", "blocked", "client", "description", "issuer", "items", "lasts", "module",
	"name", "note", "off", "readonly", "reason", "resource", "roles", "scope", "standing", "subject",
	"tool", "type", "unrestricted", "until", "version",
}

// conflict has the values that others have saved since the form was made, and the typed ones.
type conflict struct {
	Noun string
	Rows []difference
}

// difference is one field.
type difference struct{ Label, Stored, Typed string }

// onOff is a word for whether something is active.
func onOff(is bool) string {
	if is {
		return "active"
	}
	return "not active"
}

// retyped reports whether a form is shown again because of an error. Other errors are shown at
// once, without a further query of the store, so that the page is about the change that failed.
func retyped(err error) bool {
	return errors.Is(err, store.ErrInvalid) || errors.Is(err, store.ErrExists) ||
		errors.Is(err, store.ErrConflict) || errors.Is(err, store.ErrLimit)
}

// refused shows a form again with the typed values and the reason of the refusal. rule is the rule
// for valid forms, and taken the message for an existing thing. Other errors are returned.
func (v *visit) refused(err error, name string, p page, rule, taken string) error {
	status := http.StatusUnprocessableEntity
	var declared front.Declared
	switch {
	case errors.Is(err, store.ErrInvalid):
		p.Problem = rule
	case errors.As(err, &declared):
		p.Problem, status = sentence(string(declared)), http.StatusConflict
	case errors.Is(err, store.ErrExists):
		p.Problem, status = taken, http.StatusConflict
	case errors.Is(err, store.ErrConflict):
		status = http.StatusConflict
	case errors.Is(err, store.ErrLimit):
		p.Problem, status = ruleLimit, http.StatusConflict
	default:
		return err
	}
	return v.showAs(status, name, p)
}

// again shows a form again, on a page that read makes; see refused.
func (v *visit) again(err error, name string, read func() (page, error), rule, taken string) error {
	if !retyped(err) {
		return err
	}
	p, pageErr := read()
	if pageErr != nil {
		return pageErr
	}
	return v.refused(err, name, p, rule, taken)
}

// forms are a page with forms that change its item.
type forms[T, D any] struct {
	name string // of the template
	read func(*visit) (T, error)
	page func(*visit, T) (page, D, error)
}

// show shows the page.
func (f forms[T, D]) show(v *visit) error {
	now, err := f.read(v)
	if err != nil {
		return err
	}
	p, d, err := f.page(v, now)
	if err != nil {
		return err
	}
	p.Data = d
	return v.show(f.name, p)
}

// change performs the action of a form. If that is refused, it shows the page again, with the
// stored values and those that again adds.
func (f forms[T, D]) change(v *visit, do func(T) (to, done string, err error),
	again func(d *D, p *page, err error) (rule, taken string)) error {
	now, err := f.read(v)
	if err != nil {
		return err
	}
	to, done, err := do(now)
	if err == nil {
		return v.back(to, done)
	}
	if !retyped(err) {
		return err
	}
	now, pageErr := f.read(v)
	if pageErr != nil {
		return pageErr
	}
	p, d, pageErr := f.page(v, now)
	if pageErr != nil {
		return pageErr
	}
	rule, taken := again(&d, &p, err)
	p.Data = d
	return v.refused(err, f.name, p, rule, taken)
}

// deletion is the page that confirms a deletion.
type deletion struct {
	Noun, Name, With string
	Version          int64
	Action, Back     string
}

// removal is a deletion, and the page after it.
type removal struct {
	page
	do       func(version int64) error
	to, done string
}

// asks returns a page that confirms a deletion.
func asks(of func(*visit) (removal, error)) func(*visit) error {
	return func(v *visit) error {
		r, err := of(v)
		if err != nil {
			return err
		}
		return v.show("delete", r.page)
	}
}

// deletes returns the action of that page. It shows the confirmation again if the thing has changed
// since the first one.
func deletes(of func(*visit) (removal, error)) func(*visit) error {
	return func(v *visit) error {
		r, err := of(v)
		if err != nil {
			return err
		}
		if err = r.do(v.version()); err == nil {
			return v.back(r.to, r.done)
		}
		if errors.Is(err, store.ErrConflict) {
			r.Problem = "It was changed since you opened this page. The page shows the current " +
				"state. Delete it anyway?"
		}
		return v.refused(err, "delete", r.page, ruleVersion, "")
	}
}

// ruleOr is the rule for a form, or for the version that it lacks.
func (v *visit) ruleOr(rule string) string {
	if v.version() < 1 {
		return ruleVersion
	}
	return rule
}

// The rules of the fields, for people.
const (
	ruleName = "Write a name of at most 256 bytes, with visible characters, and without a space " +
		"at its start or end."
	ruleCatalog = ruleName + " A description has at most 4,096 bytes."
	ruleTool    = "Write a tool's name: 1 to 128 of the letters A to Z and a to z, digits, dot, " +
		"underscore and hyphen. A module has at most 256 bytes."
	ruleMember = "Write a subject, and an issuer if tokens have one, each of at most 512 bytes of " +
		"visible characters. Choose a standing."
	ruleLimit   = "The maximum number is reached. Remove one that you no longer need, and try again."
	ruleVersion = "This form lacks the version of its data. Open the page again."
)

// problemBelow is on top of a page whose form has faults.
const problemBelow = "Nothing was changed. See the messages at the fields below."

// faults are the faults of a form, by the names of its fields.
type faults map[string]*fault

// fault is the fault of a field, and its position.
type fault struct {
	Field string
	// the typed text before the position of the fault, and from there on; empty without a position
	Good, Rest string
	Text       string
}

func (f faults) add(field, text string) { f[field] = &fault{Field: field, Text: text} }

// pattern notes the fault of a permission: of the pattern of its resource, which an error may point
// into, or else of the form's field.
func (f faults) pattern(field string, err error) {
	var wrong *pattern.Error
	if !errors.As(err, &wrong) {
		f.add(field, errorText(err))
		return
	}
	at := min(max(wrong.Offset, 0), len(wrong.Pattern))
	f["resource"] = &fault{"resource", visible.Text(wrong.Pattern[:at]),
		visible.Text(wrong.Pattern[at:]), sentence(fmt.Sprintf("at byte %d: %s; %s",
			wrong.Offset, wrong.Problem, wrong.Cure))}
}

// seen notes the invisible characters of a resource, and shows them as escapes.
func (f faults) seen(text string) {
	if hidden := hiddentext.First(text); hidden != nil {
		f["resource"] = &fault{"resource", text[:hidden.Offset], visible.Text(text[hidden.Offset:]),
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
		if err := hiddentext.Prose(text); err != nil {
			f.add(field, errorText(err))
		}
	}
}

// name checks an issuer or a client.
func (f faults) name(field, text string, needed bool) {
	switch {
	case needed && text == "":
		f.add(field, "Choose the owner.")
	case visible.Hides(text):
		f.add(field, errorText(hiddentext.First(text)))
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

// terms are the choices. Zero is for ever.
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

// lasting reads the duration of a grant from a form. The zero time is for ever.
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
