package audit

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"sync"

	"github.com/mcpgen/mcpgen/internal/escape"
)

// Encoded is an event with its text. The text is that of [Event.Encode], so that a sink need not
// encode the event again. A sink changes neither.
type Encoded struct {
	Event *Event
	Text  []byte
}

// EncodedSink is a [BatchSink] that takes events with their texts.
type EncodedSink interface {
	BatchSink
	// RecordEncoded records events as RecordBatch does.
	RecordEncoded(ctx context.Context, events []Encoded) error
}

// encoders have buffers for texts that grow.
var encoders = sync.Pool{New: func() any { return new([]byte) }}

// MarshalJSON implements [json.Marshaler]. It returns the text of [Event.Encode].
func (e Event) MarshalJSON() ([]byte, error) { return e.Encode(0) }

// Encode returns the event's JSON text, with room for so many bytes more. Characters that hide or
// reorder text, such as bidirectional controls, are escapes in it.
func (e *Event) Encode(room int) ([]byte, error) {
	buffer := encoders.Get().(*[]byte)
	defer encoders.Put(buffer)
	text, err := e.append((*buffer)[:0])
	if err != nil {
		return nil, fmt.Errorf("audit: encode the event: %w", err)
	}
	if cap(text) <= 64<<10 {
		*buffer = text
	}
	return append(slices.Grow([]byte(nil), len(text)+room), text...), nil
}

func (e *Event) append(b []byte) ([]byte, error) {
	b = append(b, `{"timestamp":"`...)
	b, err := e.Time.AppendText(b)
	if err != nil {
		return nil, err
	}
	b = appendText(b, `","event_type":`, string(e.Type))
	b = appendText(b, `,"request_id":`, e.RequestID)
	b = appendSome(b, `,"trace_id":`, e.TraceID)
	b = appendSome(b, `,"issuer":`, e.Issuer)
	b = appendSome(b, `,"principal":`, e.Principal)
	b = appendSome(b, `,"client_id":`, e.Client)
	if a := e.Actor; a != nil {
		b = append(b, `,"actor":{`...)
		if a.Issuer != "" {
			b = append(appendText(b, `"issuer":`, a.Issuer), ',')
		}
		b = append(appendText(b, `"subject":`, a.Subject), '}')
	}
	b = appendAll(b, `,"roles":[`, e.Roles, func(b []byte, role *string) []byte {
		return appendText(b, "", *role)
	})
	b = appendSome(b, `,"tool_name":`, e.Tool)
	b = appendSome(b, `,"prompt":`, e.Prompt)
	b = appendSome(b, `,"resource":`, e.Resource)
	b = appendSome(b, `,"action":`, e.Action)
	b = appendSome(b, `,"object":`, e.Object)
	b = appendAll(b, `,"arguments":[`, e.Arguments, func(b []byte, a *Argument) []byte {
		b = appendText(b, `{"name":`, a.Name)
		b = strconv.AppendInt(append(b, `,"bytes":`...), int64(a.Bytes), 10)
		b, _ = a.Digest.AppendText(append(b, `,"digest":"`...)) // never fails
		return append(b, `"}`...)
	})
	b = appendText(b, `,"status":`, string(e.Status))
	b = appendSome(b, `,"failure":`, string(e.Failure))
	if e.Intended {
		b = append(b, `,"intended":true`...)
	}
	b = appendSome(b, `,"axis":`, e.Axis)
	b = appendSome(b, `,"missing":`, e.Missing)
	b = appendAll(b, `,"grants":[`, e.Grants, func(b []byte, u *Use) []byte {
		b = appendText(b, `{"argument":`, u.Argument)
		b = appendText(b, `,"kind":`, u.Kind)
		return append(appendText(b, `,"grant":`, u.Grant), '}')
	})
	b = appendSome(b, `,"catalog":`, e.Catalog)
	if e.Visible != 0 {
		b = strconv.AppendInt(append(b, `,"visible":`...), int64(e.Visible), 10)
	}
	if e.Total != 0 {
		b = strconv.AppendInt(append(b, `,"total":`...), int64(e.Total), 10)
	}
	if b, err = appendNumber(append(b, `,"execution_time_ms":`...), e.Milliseconds); err != nil {
		return nil, err
	}
	b = appendAll(b, `,"cut":[`, e.Cut, func(b []byte, l *Link) []byte { return l.Append(b) })
	if e.Chain != nil {
		b = e.Chain.Append(append(b, `,"chain":`...))
	}
	return append(b, '}'), nil
}

// Append appends the link's JSON text, the same bytes as those of [json.Marshal]. It ends with the
// digits of the MAC and `"}`.
func (l *Link) Append(b []byte) []byte {
	b = appendText(b, `{"id":`, l.ID)
	b = strconv.AppendInt(append(b, `,"seq":`...), l.Seq, 10)
	if l.Previous != nil {
		b = l.Previous.Append(append(b, `,"previous":`...))
	}
	b = hex.AppendEncode(append(b, `,"mac":"`...), l.MAC[:])
	return append(b, `"}`...)
}

// appendAll appends a member for a list, unless it is empty.
func appendAll[T any](b []byte, opening string, all []T, one func([]byte, *T) []byte) []byte {
	if len(all) == 0 {
		return b
	}
	b = append(b, opening...)
	for i := range all {
		if i > 0 {
			b = append(b, ',')
		}
		b = one(b, &all[i])
	}
	return append(b, ']')
}

// appendSome appends a member, unless its text is empty.
func appendSome(b []byte, name, text string) []byte {
	if text == "" {
		return b
	}
	return appendText(b, name, text)
}

// appendText appends a member. Texts that need an escape are rare.
func appendText(b []byte, name, text string) []byte {
	b = append(b, name...)
	for i := range len(text) {
		switch c := text[i]; {
		case c < ' ', c >= 0x7f, c == '"', c == '\\', c == '<', c == '>', c == '&':
			escaped, _ := json.Marshal(text) // never fails
			return append(b, escape.JSON(string(escaped))...)
		}
	}
	b = append(b, '"')
	b = append(b, text...)
	return append(b, '"')
}

func appendNumber(b []byte, f float64) ([]byte, error) {
	if f == 0 && !math.Signbit(f) || f >= 1e-6 && f < 1e21 {
		return strconv.AppendFloat(b, f, 'f', -1, 64), nil
	}
	text, err := json.Marshal(f) // has an exponent, is negative, or is no number
	return append(b, text...), err
}
