package oidc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
)

// maxResponseBytes bounds a provider's response. Large key sets take some 50 KiB.
const maxResponseBytes = 512 << 10

// fetcher reads from providers: bounded in size, and only from a configured or published URL.
type fetcher struct{ client *http.Client }

func newFetcher(client *http.Client) fetcher {
	if client == nil {
		transport := http.DefaultTransport
		if own, ok := transport.(*http.Transport); ok {
			own = own.Clone()
			own.MaxResponseHeaderBytes = 64 << 10
			transport = own
		}
		client = &http.Client{Transport: transport}
	}
	own := *client
	own.Jar = nil
	// A redirect would lead to a place that nobody configured, or out of https.
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return fetcher{&own}
}

// status is an answer other than 200.
type status int

func (s status) Error() string { return fmt.Sprintf("answered %d", int(s)) }

// get returns the JSON object at a URL.
func (f fetcher) get(ctx context.Context, from string) (map[string]any, []byte, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, from, nil)
	if err != nil {
		return nil, nil, errors.New("is not a URL")
	}
	return f.do(r)
}

// post sends a form (RFC 7662, section 2.1) and returns the JSON object of the answer.
func (f fetcher) post(ctx context.Context, to string, form url.Values, id, secret string) (
	map[string]any, error,
) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, to, strings.NewReader(form.Encode()))
	if err != nil {
		return nil, errors.New("is not a URL")
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if id != "" {
		r.SetBasicAuth(url.QueryEscape(id), url.QueryEscape(secret)) // RFC 6749, section 2.3.1
	}
	answer, _, err := f.do(r)
	return answer, err
}

func (f fetcher) do(r *http.Request) (map[string]any, []byte, error) {
	r.Header.Set("Accept", "application/json")
	response, err := f.client.Do(r)
	if err != nil {
		// Without the URL, which the caller adds; the cause may be the caller's to look at.
		var failed *url.Error
		if errors.As(err, &failed) {
			err = failed.Err
		}
		return nil, nil, err
	}
	defer func() { _ = response.Body.Close() }() // nothing more is read
	if response.StatusCode != http.StatusOK {
		return nil, nil, status(response.StatusCode)
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, maxResponseBytes+1))
	if err != nil {
		return nil, nil, err
	}
	if len(body) > maxResponseBytes {
		return nil, nil, fmt.Errorf("returned more than %d bytes", maxResponseBytes)
	}
	o, err := object(body)
	if err != nil {
		return nil, nil, fmt.Errorf("returned a body that is %w", err)
	}
	return o, body, nil
}
