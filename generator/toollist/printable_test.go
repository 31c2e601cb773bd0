package toollist

import (
	"errors"
	"testing"
)

// The text of a server's error does not reach a terminal as it is.
func TestErrorsOfServersArePrintable(t *testing.T) {
	err := errors.New("no \"tool\": \x1b[2J\u202e")
	got := cause(t.Context(), err)
	if want := `no "tool": \x1b[2J\u202e`; got.Error() != want || !errors.Is(got, err) {
		t.Errorf("%s, want %s", got, want)
	}
}
