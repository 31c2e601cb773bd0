package chain

import (
	"bufio"
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/mcpgen/mcpgen/runtime/audit"
)

// Checkpoint is the position of a chain at a time. Its JSON form is one line of a checkpoint file.
type Checkpoint struct {
	Chain string    `json:"chain"`
	Seq   int64     `json:"seq"` // of the checkpoint's record: the number of records so far
	MAC   audit.MAC `json:"mac"`
	Time  time.Time `json:"time"`
	// Seal is the MAC of the other fields, made with the chain's key.
	Seal audit.MAC `json:"seal"`
}

// sealCheckpoint fills in the seal. Its text differs from that of each record's MAC, which has a
// fixed length.
func sealCheckpoint(key []byte, p Checkpoint) Checkpoint {
	h := hmac.New(sha256.New, key)
	fmt.Fprintf(h, "checkpoint of an audit trail\n%q %d %s %s",
		p.Chain, p.Seq, p.MAC, p.Time.UTC().Format(time.RFC3339Nano))
	h.Sum(p.Seal[:0])
	return p
}

// Sealed reports whether a chain with this key made the checkpoint and it was not changed.
func (p Checkpoint) Sealed(key []byte) bool {
	want := sealCheckpoint(key, p).Seal
	return hmac.Equal(want[:], p.Seal[:])
}

// CheckpointFile returns a function for [Options.Checkpoints] that appends to a file and syncs
// it. Put the file where administrators of the trail cannot change it, such as an append-only
// mount.
func CheckpointFile(path string) func(context.Context, Checkpoint) error {
	var mu sync.Mutex
	return func(_ context.Context, p Checkpoint) error {
		mu.Lock()
		defer mu.Unlock()
		line, err := json.Marshal(p)
		if err != nil {
			return fmt.Errorf("chain: encode a checkpoint: %w", err)
		}
		file, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
		if err != nil {
			return fmt.Errorf("chain: write a checkpoint: %w", err)
		}
		_, err = file.Write(append(line, '\n'))
		if err := errors.Join(err, file.Sync(), file.Close()); err != nil {
			return fmt.Errorf("chain: write a checkpoint: %w", err)
		}
		return nil
	}
}

// ReadCheckpoints reads a file of checkpoints, one a line. It ignores a last line that a crash
// cut.
func ReadCheckpoints(r io.Reader) ([]Checkpoint, error) {
	var all []Checkpoint
	lines := bufio.NewReader(r)
	for n := 1; ; n++ {
		line, err := lines.ReadBytes('\n')
		if err != nil && err != io.EOF {
			return nil, err
		}
		var p Checkpoint
		bad := json.Unmarshal(line, &p)
		switch {
		case err == io.EOF && bad != nil:
			return all, nil
		case bad != nil && len(bytes.TrimSpace(line)) > 0:
			return nil, fmt.Errorf("line %d is not a checkpoint:  %w", n, bad)
		case bad == nil:
			all = append(all, p)
		}
		if err == io.EOF {
			return all, nil
		}
	}
}

// ReadKey reads a key from a file, for [Options] and [VerifyOptions]. It drops the white space at
// the end, as in the output of openssl rand -hex 32.
func ReadKey(path string) ([]byte, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("chain: read the key: %w", err)
	}
	key := bytes.TrimRight(text, " \t\r\n")
	if len(key) < MinKey {
		return nil, fmt.Errorf("chain: the key in %s has %d bytes: make one with openssl rand -hex %d",
			path, len(key), MinKey)
	}
	return key, nil
}
