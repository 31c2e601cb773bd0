package chain

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/mcpgen/mcpgen/runtime/audit"
)

// place is where a chain is: its last record, or its beginning.
type place struct {
	id       string
	seq      int64
	mac      audit.MAC
	previous *audit.Link // for the first record
}

// seal gives an event the next place.
func (p *place) seal(key []byte, e entry) audit.Event {
	p.seq++
	link := &audit.Link{ID: p.id, Seq: p.seq}
	if p.seq == 1 {
		link.Previous = p.previous
	}
	place, _ := json.Marshal(link) // never fails
	text := append(e.text[:len(e.text)-1:len(e.text)-1], `,"chain":`...)
	text = append(text, place[:len(place)-len(`"}`)-hex.EncodedLen(sha256.Size)]...)
	link.MAC = macOf(key, p.mac, sha256.Sum256(text))
	p.mac = link.MAC
	e.event.Chain = link
	return e.event
}

// macOf is the MAC of a record after another one. The digest is of the record's text before the
// MAC, the record's place included.
func macOf(key []byte, previous audit.MAC, digest [sha256.Size]byte) (mac audit.MAC) {
	h := hmac.New(sha256.New, key)
	h.Write(previous[:])
	h.Write(digest[:])
	h.Sum(mac[:0])
	return mac
}

// ending is the text of a record after its MAC.
const ending = `"}}`

// record has the parsed fields of a record's text.
type record struct {
	Chain *audit.Link  `json:"chain"` // nil for a record without a place
	Cut   []audit.Link `json:"cut"`   // the last records of what a retention cut took away

	RequestID string       `json:"request_id"`
	Tool      string       `json:"tool_name"`
	Status    audit.Status `json:"status"`
	Intended  bool         `json:"intended"`
}

func read(text []byte) (r record, err error) {
	if err := json.Unmarshal(text, &r); err != nil {
		return record{}, fmt.Errorf("it is not a record: %w", err)
	}
	link := r.Chain
	if link != nil && (link.ID == "" || link.Seq < 1 ||
		!bytes.HasSuffix(text, append(hex.AppendEncode(nil, link.MAC[:]), ending...))) {
		return record{}, errors.New("its position in the chain is malformed")
	}
	return r, nil
}

// digestOf is the digest of the text before the MAC of a record, which [read] has read.
func digestOf(text []byte) [sha256.Size]byte {
	return sha256.Sum256(text[:len(text)-len(ending)-hex.EncodedLen(sha256.Size)])
}
