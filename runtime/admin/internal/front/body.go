// Package front contains the request handling that the admin API and the console share: time
// limits, messages for outages, audit events of refused requests, exports of the audit trail, and
// the names of declared catalogs.
package front

import (
	"bytes"
	"io"
	"net/http"
	"time"
)

const (
	// Patience is the time limit for the body of a request.
	Patience = 10 * time.Second
	// Timeout is the time limit for a request, including waits for the store.
	Timeout = 30 * time.Second
)

// Await sets a deadline for the body of a request, if it has one. Call it first: net/http reads
// the rest of a body before it sends the response, however long that takes.
func Await(w http.ResponseWriter, r *http.Request, patience time.Duration) {
	if r.Body != nil && r.Body != http.NoBody {
		// Not all writers have a deadline; the bound is then the http.Server's.
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(patience))
	}
}

// Body reads the body of a request and puts it back. Its error is a *http.MaxBytesError for more
// than limit bytes. The deadline of [Await] stays: net/http clears it after a complete body, and
// does not wait for the rest of another one.
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
