package audit

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// Link is a record's place in a chain: package chain makes and reads it.
type Link struct {
	// ID is the chain's: the name of the replica, and a random part.
	ID string `json:"id"`
	// Seq numbers the records of a chain from 1 on, without a gap.
	Seq int64 `json:"seq"`
	// Previous is the last known record of the chain before this one. Only the first record of a
	// chain has it.
	Previous *Link `json:"previous,omitempty"`
	// MAC authenticates the record, and all of the chain before it, in hexadecimal digits.
	MAC MAC `json:"mac"`
}

// MAC is an HMAC-SHA-256. As text, and so in JSON, it is hexadecimal digits.
type MAC [sha256.Size]byte

// String is the MAC's text.
func (m MAC) String() string { return hex.EncodeToString(m[:]) }

// MarshalText implements [encoding.TextMarshaler]. Its error is nil.
func (m MAC) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, m[:]), nil }

// UnmarshalText implements [encoding.TextUnmarshaler]. It reads the output of String, and leaves
// the MAC unchanged if the text is not valid.
func (m *MAC) UnmarshalText(text []byte) error {
	sum, err := hex.DecodeString(string(text))
	if err != nil || len(sum) != len(m) {
		return fmt.Errorf("%.100q is not a MAC: write %d hexadecimal digits", text,
			hex.EncodedLen(len(m)))
	}
	copy(m[:], sum)
	return nil
}
