package discovery

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
)

// A writer of the program that panics ends neither the process nor the notifications of its client.
func TestNotificationThatPanicsIsLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		runs := 0
		s := newSubscriber(t.Context(), nil, slog.New(slog.NewTextHandler(&log, nil)), func() {
			runs++
			panic("the writer")
		})
		s.start()
		for range 2 {
			s.wake()
			synctest.Wait()
		}
		if runs != 2 || strings.Count(log.String(), "the writer") < 2 {
			t.Errorf("%d runs, %s", runs, &log)
		}
		s.end()
	})
}
