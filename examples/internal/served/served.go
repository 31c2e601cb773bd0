// Package served runs the server of an example for the program that visits it.
package served

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
)

// Start runs a server and returns the URL that its first line of output names.
func Start(ctx context.Context, server string, args []string) (url string, stop func() error, err error) {
	cmd := exec.CommandContext(ctx, server, args...)
	var log strings.Builder
	cmd.Stderr = &log
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", nil, err
	}
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	stop = func() error {
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			return err
		}
		if err := cmd.Wait(); err != nil {
			lines := strings.Split(strings.TrimSpace(log.String()), "\n")
			return fmt.Errorf("the server: %w; it said last: %s", err, lines[len(lines)-1])
		}
		return nil
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	url, found := strings.CutPrefix(strings.TrimSpace(line), "serving ")
	if !found {
		return "", nil, errors.Join(fmt.Errorf("the server said %q; its log:\n%s", line, log.String()), err, stop())
	}
	return url, stop, nil
}

// Bearer is a transport that sends a token along, none where it is empty.
type Bearer string

// RoundTrip implements [http.RoundTripper].
func (b Bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	if b != "" {
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer "+string(b))
	}
	return http.DefaultTransport.RoundTrip(r)
}
