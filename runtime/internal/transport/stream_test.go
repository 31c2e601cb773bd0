package transport

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/mcpgen/mcpgen/runtime/internal/request"
	"github.com/mcpgen/mcpgen/runtime/internal/resume"
	"github.com/mcpgen/mcpgen/runtime/internal/worker"
)

// An event that was kept and never sent leaves no missing id. One that was sent before keeps its
// id, and so do the events after it.
func TestARefusedEventLeavesNoMissingID(t *testing.T) {
	kept := resume.NewStore()
	kept.Open("s", "", request.User{}, nil)
	s := &stream{lock: &sync.Mutex{}, kept: kept, quiet: worker.NewDeadlines(KeepAlive),
		sessionID: "s"}
	written := regexp.MustCompile(`id: _(\d+)\ndata: (.*)`)
	low := func(event []byte) bool { return !strings.HasPrefix(string(event), "hidden") }
	resumed := func(index int, may func([]byte) bool) string {
		t.Helper()
		w := httptest.NewRecorder()
		if s.take(w, index, filter{may: may}) == nil || w.Code != http.StatusOK {
			t.Fatal("not resumed")
		}
		var got []string
		for _, m := range written.FindAllStringSubmatch(w.Body.String(), -1) {
			got = append(got, m[1]+" "+m[2])
		}
		s.leave(w)
		return strings.Join(got, ", ")
	}
	send := func(events ...string) {
		t.Helper()
		for _, e := range events {
			if err := s.send([]byte(e)); err != nil {
				t.Fatal(err)
			}
		}
	}
	check := func(got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	send("hidden a", "b", "hidden c", "d")
	check(resumed(-1, low), "0 b, 1 d")
	send("hidden e", "f")
	check(resumed(0, nil), "1 d, 2 hidden e, 3 f")
	send("hidden g", "h")
	check(resumed(0, low), "1 d, 3 f, 4 h") // e was sent
	check(resumed(0, nil), "1 d, 2 hidden e, 3 f, 4 h")
}
