package chain

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"

	"github.com/mcpgen/mcpgen/runtime/audit"
)

// place is where a chain is: its last record, or its beginning.
type place struct {
	id       string
	seq      int64
	mac      audit.MAC
	previous *audit.Link // for the first record
}

// room is enough for the text of most places.
const room = 256

// seal gives an event the next place.
func (p *place) seal(m *macs, e *audit.Encoded) {
	p.seq++
	link := &audit.Link{ID: p.id, Seq: p.seq}
	if p.seq == 1 {
		link.Previous = p.previous
	}
	text := append(e.Text[:len(e.Text)-1], `,"chain":`...)
	text = append(link.Append(text), '}')
	at := len(text) - len(ending) - hex.EncodedLen(sha256.Size)
	link.MAC = m.of(p.mac, sha256.Sum256(text[:at]))
	hex.Encode(text[at:], link.MAC[:])
	p.mac = link.MAC
	e.Event.Chain, e.Text = link, text
}

// macs makes the MACs of one key. It is not safe for concurrent use.
type macs struct {
	hash hash.Hash
	text []byte
}

func newMACs(key []byte) *macs { return &macs{hash: hmac.New(sha256.New, key)} }

// of is the MAC of a record after another one. The digest is of the record's text before the MAC,
// the record's place included.
func (m *macs) of(previous audit.MAC, digest [sha256.Size]byte) audit.MAC {
	m.hash.Reset()
	m.text = append(append(m.text[:0], previous[:]...), digest[:]...)
	m.hash.Write(m.text)
	m.text = m.hash.Sum(m.text[:0])
	return audit.MAC(m.text)
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
