package isolate

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/mcpgen/mcpgen/internal/guardedtype"
	"github.com/mcpgen/mcpgen/runtime/grant"
)

// refusedMark is the prefix of an error text that holds a [grant.Denied] as JSON. No text for
// people begins with it.
const refusedMark = "\x00denied\x00"

// Encoded returns the result of an isolated handler as its process sends it to the server: the
// output as JSON, or the error of [Refused]. Generated code calls it.
func Encoded(out any, err error) ([]byte, error) {
	if err != nil {
		return nil, Refused(err)
	}
	text, err := json.Marshal(out)
	if err != nil {
		return nil, fmt.Errorf("the result is not JSON: %w", err)
	}
	if err := guardedtype.CheckChild(out); err != nil {
		return nil, err
	}
	return text, nil
}

// Refused returns the error of an isolated handler as its process sends it to the server. Only the
// text of an error crosses to the server's process. If err is a [*grant.Denied], its text becomes
// JSON with a mark, from which [ParseRefused] restores it. Other errors stay as they are.
//
// Generated code calls it for handlers that return an error only.
func Refused(err error) error {
	var denied *grant.Denied
	if !errors.As(err, &denied) {
		return err
	}
	text, failed := json.Marshal(denied)
	if failed != nil {
		return err
	}
	return errors.New(refusedMark + string(text))
}

// ParseRefused is the inverse of [Refused]: words is the text of an isolated handler's error.
// denied is nil if words is no marked refusal. text is words without the mark.
//
// The handler's process is not trusted and can write the mark itself. The server has to check that
// the tool can be refused this way.
func ParseRefused(words string) (denied *grant.Denied, text string) {
	text, marked := strings.CutPrefix(words, refusedMark)
	if !marked {
		return nil, words
	}
	if err := json.Unmarshal([]byte(text), &denied); err != nil {
		return nil, text
	}
	return denied, text
}
