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

// macOf vouches for a record after another one. The digest is of the record's text up to where the MAC
// stands, the record's place included.
func macOf(key []byte, previous audit.MAC, digest [sha256.Size]byte) (mac audit.MAC) {
	h := hmac.New(sha256.New, key)
	h.Write(previous[:])
	h.Write(digest[:])
	h.Sum(mac[:0])
	return mac
}

// ending is what a record's text has after its MAC.
const ending = `"}}`

// read is what is to know of a record's text: its place, nil where it has none, and the last records of what a retention cut
// took away.
func read(text []byte) (*audit.Link, []audit.Link, error) {
	var record struct {
		Cut   []audit.Link `json:"cut"`
		Chain *audit.Link  `json:"chain"`
	}
	if err := json.Unmarshal(text, &record); err != nil {
		return nil, nil, fmt.Errorf("it is no record: %w", err)
	}
	link := record.Chain
	if link == nil {
		return nil, nil, nil
	}
	if link.ID == "" || link.Seq < 1 || !bytes.HasSuffix(text, append(hex.AppendEncode(nil, link.MAC[:]), ending...)) {
		return nil, nil, errors.New("its place in the chain is not as a chain writes it")
	}
	return link, record.Cut, nil
}

// digestOf is the digest of what the MAC of a record's text, which [read] has read, vouches for.
func digestOf(text []byte) [sha256.Size]byte {
	return sha256.Sum256(text[:len(text)-len(ending)-hex.EncodedLen(sha256.Size)])
}
