package redact

import (
	"encoding/json"
	"testing"
)

func TestJSONIsMaskedByNameAndForm(t *testing.T) {
	const secret = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"
	for doc, want := range map[string]string{
		``:         ``,
		`{"a": 1}`: `{"a": 1}`, // as it is
		`{"a": [12345678901234567890, "<` + secret + `>"]}`: `{"a":[12345678901234567890,"<` +
			Mask + `>"]}`,
		`{"token": "x1", "n": 7}`: `{"n":7,"token":"` + Mask + `"}`,
		`{"args": ["x", "--password", "y", 1]}`: `{"args":["x","--password","` + Mask +
			`",1]}`,
		`{`: `"` + Mask + `"`,
	} {
		if got := string(Masker{}.JSON(json.RawMessage(doc))); got != want {
			t.Errorf("%s: %s, want %s", doc, got, want)
		}
	}
}
