package transport

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"os"
	"sync"
)

// KeyPair is a TLS certificate in files, which are read again when they have changed. It is safe
// for concurrent use.
type KeyPair struct {
	CertFile, KeyFile string
	Log               *slog.Logger

	mu     sync.Mutex
	used   *tls.Certificate
	loaded string // the state of the files that were read last
}

// Certificate is for [tls.Config.GetCertificate]. Only the first call can fail: later ones return
// the last pair that could be read.
func (p *KeyPair) Certificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	state := stateOf(p.CertFile) + stateOf(p.KeyFile)
	if p.used != nil && state == p.loaded {
		return p.used, nil
	}
	p.loaded = state // before the read: a later change differs from it
	pair, err := tls.LoadX509KeyPair(p.CertFile, p.KeyFile)
	switch {
	case err == nil:
		if p.used != nil {
			p.Log.Info("the TLS certificate was read again", "file", p.CertFile)
		}
		p.used = &pair
	case p.used == nil:
		return nil, err
	default:
		p.Log.Error("the changed TLS certificate cannot be used; the server keeps the old one",
			"file", p.CertFile, "key_file", p.KeyFile, "error", err)
	}
	return p.used, nil
}

// stateOf changes with a file, also if its name is a link to another file.
func stateOf(name string) string {
	info, err := os.Stat(name)
	if err != nil {
		return "missing;"
	}
	return fmt.Sprint(info.ModTime().UnixNano(), info.Size(), ";")
}
