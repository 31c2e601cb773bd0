package audit

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
)

// Digest is the SHA-256 of the JSON text of a value, as it was sent. Its text, also in JSON, is
// "sha256:" and hexadecimal digits. An event contains the bytes, so that a sink without digests
// does not format them.
type Digest [sha256.Size]byte

const digestPrefix = "sha256:"

// DigestOf is the digest of a value's text.
func DigestOf(text []byte) Digest { return sha256.Sum256(text) }

// String is the digest's text.
func (d Digest) String() string {
	text, _ := d.AppendText(make([]byte, 0, len(digestPrefix)+hex.EncodedLen(len(d)))) // never fails
	return string(text)
}

// AppendText implements [encoding.TextAppender]. Its error is nil.
func (d Digest) AppendText(text []byte) ([]byte, error) {
	return hex.AppendEncode(append(text, digestPrefix...), d[:]), nil
}

// MarshalText implements [encoding.TextMarshaler]. Its error is nil.
func (d Digest) MarshalText() ([]byte, error) { return d.AppendText(nil) }

// UnmarshalText implements [encoding.TextUnmarshaler]. It reads the output of String, and leaves
// the digest unchanged if the text is not valid.
func (d *Digest) UnmarshalText(text []byte) error {
	digits, ok := strings.CutPrefix(string(text), digestPrefix)
	sum, err := hex.DecodeString(digits)
	if !ok || err != nil || len(sum) != len(d) {
		return fmt.Errorf("%.100q is not a digest: write %q and %d hexadecimal digits", text,
			digestPrefix, hex.EncodedLen(len(d)))
	}
	copy(d[:], sum)
	return nil
}
