// Package keypair reads a TLS certificate from files that may change.
package keypair

import (
	"crypto/tls"
	"log/slog"
	"os"
	"sync"
)

// Files are a certificate and its key in PEM, which are read again when they have changed. They are
// safe for concurrent use.
type Files struct {
	CertFile, KeyFile string
	Log               *slog.Logger

	mu     sync.Mutex
	used   *tls.Certificate
	loaded [2]os.FileInfo // of the files that were read last; nil for a missing one
}

// Certificate is for [tls.Config.GetCertificate]. Only the first call can fail: later ones return
// the last pair that could be read.
func (p *Files) Certificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var files [2]os.FileInfo // before the read: a later change differs from it
	for i, name := range []string{p.CertFile, p.KeyFile} {
		files[i], _ = os.Stat(name) // the read below returns the error
	}
	if p.used != nil && same(files[0], p.loaded[0]) && same(files[1], p.loaded[1]) {
		return p.used, nil
	}
	p.loaded = files
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
			"files", []string{p.CertFile, p.KeyFile}, "error", err)
	}
	return p.used, nil
}

// same reports whether a file is as it was. A file that replaced another one is not the same.
func same(a, b os.FileInfo) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return os.SameFile(a, b) && a.ModTime().Equal(b.ModTime()) && a.Size() == b.Size()
}
