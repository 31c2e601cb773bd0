package format

import "testing"

func TestEveryFormatShowsAnExampleOfItself(t *testing.T) {
	for _, name := range Names() {
		if example := Example(name); example != "" && !Is(name, example) {
			t.Errorf("%s is no %s", example, name)
		}
	}
}
