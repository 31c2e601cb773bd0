package console

import (
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/admin/front"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/store"
)

// field is what a form says under a name. What stands in the address is not looked at.
func (v *visit) field(name string) string {
	// A form's line ends are CR LF (HTML standard, 4.10.22.4); what is kept has LF.
	return strings.ReplaceAll(v.r.PostFormValue(name), "\r\n", "\n")
}

// errBadForm: a form is not written as browsers write it.
var errBadForm = errors.New("the form is malformed")

// parsed reads the form that was sent, if any, or says why it cannot be read.
func (v *visit) parsed() error {
	if v.r.Method != http.MethodPost {
		return nil // what an address asks is read leniently
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

// version is the version that the form was made of, or one that nothing has.
func (v *visit) version() int64 {
	n, err := strconv.ParseInt(v.field("version"), 10, 64)
	if err != nil || n < 1 {
		return -1
	}
	return n
}

// id is the number in the address. One that is no number is of nothing.
func (v *visit) id() (int64, error) {
	n, err := strconv.ParseInt(v.r.PathValue("id"), 10, 64)
	if err != nil || n < 1 || v.r.PathValue("id") != strconv.FormatInt(n, 10) {
		return 0, store.ErrNotFound
	}
	return n, nil
}

// by is who changes something, for the audit, with the fields of the form by name, size and digest.
func (v *visit) by() audit.Event {
	e := audit.Event{Issuer: v.caller.Issuer, Principal: v.caller.Subject,
		Client: v.caller.ClientID(), Role: v.caller.Role, RequestID: runtime.RequestID(v.ctx)}
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

// formFields are what forms have that the audit tells of. Others are not looked at.
var formFields = []string{
	"active", "client", "description", "issuer", "lasts", "module", "name", "note", "off", "reason",
	"resource", "scope", "standing", "subject", "tool", "type", "unrestricted", "until", "version",
}

// conflict is what somebody else has saved since the form was made, beside what was typed into it.
type conflict struct {
	Noun string
	Rows []difference
}

// difference is one field.
type difference struct{ Label, Stored, Typed string }

// Differs reports whether what is stored is not what was typed.
func (d difference) Differs() bool { return d.Stored != d.Typed }

// onOff says whether something is, in a word.
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

// refused shows a form again with all that was typed, and why it was not taken. rule is what a
// valid form looks like, and taken what it means that something is there already. Other errors are
// passed on.
func (v *visit) refused(err error, name string, p page, rule, taken string) error {
	status := http.StatusUnprocessableEntity
	switch {
	case errors.Is(err, store.ErrInvalid):
		p.Problem = rule
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

// pageSize is how many rows a list has.
const pageSize = 100

// after is where a list continues, as its address says.
func (v *visit) after(name string) int64 {
	n, err := strconv.ParseInt(v.r.URL.Query().Get(name), 10, 64)
	if err != nil || n < 0 {
		return 0
	}
	return n
}

// The rules of what is typed, for people.
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
