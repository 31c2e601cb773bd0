package runtime_test

import (
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/runtime"
)

// A URI that matches nothing may contain values: neither the log nor the event has it. The line of
// the log has a text in its place, so that a hidden resource does not take longer.
func TestUnknownURIsAreNotLogged(t *testing.T) {
	for _, era := range eras {
		var log journal
		var sink keeper
		c := newRaw(t, serve(t, newServer(t, runtime.Options{Logger: log.logger(), Audit: &sink},
			vault(true, false))), tokens["Viewer"], era)
		for uri, want := range map[string]string{
			"meat://jane/doe":   `resource="" `,
			"hmeet://jane/doe":  `resource=hmeet://{from}/{to} `,
			"ui://vault/happ":   `resource=ui://vault/happ `,
			"ui://vault/nobody": `resource="" `,
		} {
			sink.taken()
			before := len(log.String())
			got := c.ask(t, "resources/read", `"uri":"`+uri+`"`, map[string]string{"Mcp-Name": uri})
			if !strings.Contains(got.body, "Resource not found") {
				t.Errorf("%s, %s: %s", era, uri, got)
			}
			line := log.String()[before:]
			unknown := strings.Contains(want, `""`)
			if !strings.Contains(line, want) || strings.Contains(line, "jane") ||
				strings.Contains(line, `missing="it does not exist"`) != unknown ||
				strings.Contains(line, `missing=""`) {
				t.Errorf("%s, %s: the log has %s", era, uri, line)
			}
			events := sink.taken()
			if len(events) != 1 || (events[0].Resource == "") != unknown ||
				len(events[0].Arguments) != 1 || events[0].Missing != "" == unknown {
				t.Errorf("%s, %s: %+v", era, uri, events)
			}
		}
	}
}
