// Package front is what the admin API and the console do alike with a request, whatever it asks for: how long it may take
// to come and to be answered, what is said where the database does not answer, what is recorded of who was refused, and
// which names of catalogs are the code's.
package front

import (
	"bytes"
	"io"
	"net/http"
	"time"
)

const (
	// Patience is how long the body of a request may take to come.
	Patience = 10 * time.Second
	// Timeout bounds what one request may take, waiting for the store included.
	Timeout = 30 * time.Second
)

// Await gives the body of a request a time until which it is there, if there is one. It is to be called before anything
// else: net/http reads what a handler has left of a body before it answers, for as long as that takes.
func Await(w http.ResponseWriter, r *http.Request, patience time.Duration) {
	if r.Body != nil && r.Body != http.NoBody {
		// Not all writers have a deadline; the bound is then the http.Server's.
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(patience))
	}
}

// Body reads the body of a request and puts it back. Its error is a *http.MaxBytesError where there are more than limit
// bytes. The deadline of [Await] stays: net/http ends it with a body that is there, as it listens for the client's leaving
// then, and what is left of one that is not is not waited for.
func Body(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, error) {
	if r.Body == nil || r.Body == http.NoBody {
		return nil, nil
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	if err != nil {
		return nil, err
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	return body, nil
}
