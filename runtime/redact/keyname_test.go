package redact

import (
	"strings"
	"testing"
)

// A key is masked also if a part of it, such as PWD, makes it the name of the value behind it.
func TestKeyThatIsTheNameOfAValueIsMasked(t *testing.T) {
	for _, word := range []string{"PWD", "Secret", "TOKEN", "ApiKey", "Password"} {
		key := "ghp_E4AvW5Q3Z4wt" + word + "YOriVAGR9RgJw0ZmpAAA"
		for _, text := range []string{"KEY: x", "it fails: KEY: x unknown", `{"KEY":"x"}`, "KEY=x",
			"/KEY: unknown", "KEY: KEY"} {
			got := Text(strings.ReplaceAll(text, "KEY", key))
			if strings.Contains(got, key[:20]) || strings.Contains(got, key[20:]) {
				t.Errorf("%s in %s: %s", word, text, got)
			}
		}
	}
}
