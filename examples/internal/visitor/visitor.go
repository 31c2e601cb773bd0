// Package visitor starts the server of an example, uses it as its callers do, and prints the
// results.
package visitor

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Main runs a program with its arguments, of which the first is required.
func Main(name, first string, run func(context.Context, io.Writer, []string) error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	if len(os.Args) < 2 {
		fmt.Fprintf(os.Stderr, "usage: %s %s\n", name, first)
		os.Exit(2)
	}
	if err := run(ctx, os.Stdout, os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
}

// Server is a running server.
type Server struct {
	URL string // of the MCP endpoint
	cmd *exec.Cmd
	log *bytes.Buffer
}

// Start runs a program that serves HTTP at a free port. Its first line is "serving URL".
func Start(ctx context.Context, program string, args ...string) (*Server, error) {
	args = append([]string{"-addr", "127.0.0.1:0"}, args...)
	s := &Server{cmd: exec.CommandContext(ctx, program, args...), log: new(bytes.Buffer)}
	s.cmd.Stderr = s.log
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	var found bool
	if s.URL, found = strings.CutPrefix(strings.TrimSpace(line), "serving "); !found {
		return nil, errors.Join(fmt.Errorf("%s does not start: %q", program, line), err, s.Stop())
	}
	return s, nil
}

// Stop shuts the server down. Its error contains the log.
func (s *Server) Stop() error {
	if err := s.cmd.Process.Signal(os.Interrupt); err != nil {
		return err
	}
	if err := s.cmd.Wait(); err != nil {
		return fmt.Errorf("%s: %w; its log:\n%s", s.cmd.Path, err, s.log)
	}
	return nil
}

// Bearer is a transport that sends a token with each request, unless it is empty.
type Bearer string

// RoundTrip implements [http.RoundTripper].
func (b Bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	if b != "" {
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer "+string(b))
	}
	return http.DefaultTransport.RoundTrip(r)
}

// HTTP is the transport of a client with a token.
func HTTP(url, token string) *mcp.StreamableClientTransport {
	return &mcp.StreamableClientTransport{Endpoint: url,
		HTTPClient: &http.Client{Transport: Bearer(token)}}
}

// Connect connects a client.
func Connect(ctx context.Context, transport mcp.Transport, options *mcp.ClientOptions) (
	*mcp.ClientSession, error) {
	client := mcp.NewClient(&mcp.Implementation{Name: "visitor", Version: "1"}, options)
	return client.Connect(ctx, transport, nil)
}

// Listen connects a client with handlers of changed lists, in a version of the protocol, or in the
// newest if it is empty. It returns once the server notifies the client.
func Listen(ctx context.Context, over *mcp.StreamableClientTransport, version string,
	options *mcp.ClientOptions) (*mcp.ClientSession, error) {
	open := make(chan struct{}, 1)
	opened := func() {
		select {
		case open <- struct{}{}:
		default:
		}
	}
	over.HTTPClient = &http.Client{Transport: streams{over.HTTPClient.Transport, opened}}
	client := mcp.NewClient(&mcp.Implementation{Name: "visitor", Version: "1"}, options)
	client.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
			if method == "notifications/subscriptions/acknowledged" {
				opened()
			}
			return next(ctx, method, r)
		}
	})
	session, err := client.Connect(ctx, over, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		return nil, err
	}
	select {
	case <-open:
		return session, nil
	case <-ctx.Done():
		return nil, errors.Join(ctx.Err(), session.Close())
	}
}

// streams calls opened when the server has opened the stream of a session. Versions with sessions
// have no acknowledgement.
type streams struct {
	http.RoundTripper
	opened func()
}

func (s streams) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := s.RoundTripper.RoundTrip(r)
	if err == nil && r.Method == http.MethodGet && res.StatusCode == http.StatusOK {
		s.opened()
	}
	return res, err
}

// Admin sends a request to the admin API of a server. result gets the decoded response, or the
// bytes of the response if it is a *[]byte. It may be nil.
func Admin(ctx context.Context, server, token, method, path string, body, result any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	url := strings.TrimSuffix(server, "/mcp") + "/api/v1/admin" + path
	req, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(text))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := (&http.Client{Transport: Bearer(token)}).Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	text, err = io.ReadAll(res.Body)
	switch raw, isRaw := result.(*[]byte); {
	case err != nil:
		return err
	case res.StatusCode >= 300:
		return fmt.Errorf("%s %s: %s %s", method, path, res.Status, text)
	case isRaw:
		*raw = text
	case result != nil:
		return json.Unmarshal(text, result)
	}
	return nil
}

// Tools returns the names of the tools that a session lists, separated by commas.
func Tools(ctx context.Context, session *mcp.ClientSession) (string, error) {
	var names []string
	for tool, err := range session.Tools(ctx, nil) {
		if err != nil {
			return "", err
		}
		names = append(names, tool.Name)
	}
	return cmp.Or(strings.Join(names, ", "), "none"), nil
}

// PrintLists prints the names of all tools, prompts, resources and templates that a session lists.
func PrintLists(ctx context.Context, w io.Writer, session *mcp.ClientSession) error {
	tools, err := Tools(ctx, session)
	if err != nil {
		return err
	}
	var prompts, resources []string
	for prompt, err := range session.Prompts(ctx, nil) {
		if err != nil {
			return err
		}
		prompts = append(prompts, prompt.Name)
	}
	for resource, err := range session.Resources(ctx, nil) {
		if err != nil {
			return err
		}
		resources = append(resources, resource.URI)
	}
	for template, err := range session.ResourceTemplates(ctx, nil) {
		if err != nil {
			return err
		}
		resources = append(resources, template.URITemplate)
	}
	Printf(w, "  tools      %s", tools)
	Printf(w, "  prompts    %s", cmp.Or(strings.Join(prompts, ", "), "none"))
	Printf(w, "  resources  %s", cmp.Or(strings.Join(resources, ", "), "none"))
	return nil
}

// Call calls a tool and returns its result, or its error, on one line.
func Call(ctx context.Context, session *mcp.ClientSession, tool string, args any) string {
	if args == nil {
		args = struct{}{}
	}
	res, err := session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		return Error(err)
	}
	for _, content := range res.Content {
		if text, ok := content.(*mcp.TextContent); ok {
			return text.Text
		}
	}
	return "done"
}

// Error returns the code and the message of a JSON-RPC error, and the text of any other error.
func Error(err error) string {
	var wire *jsonrpc.Error
	if errors.As(err, &wire) {
		return fmt.Sprintf("error %d: %s", wire.Code, wire.Message)
	}
	return err.Error()
}

// columns is the length of the longest line.
const columns = 100

// Printf prints lines, and breaks those that are longer than 100 columns at spaces.
func Printf(w io.Writer, format string, args ...any) {
	for line := range strings.SplitSeq(fmt.Sprintf(format, args...), "\n") {
		indent := line[:len(line)-len(strings.TrimLeft(line, " "))] + "  "
		for len(line) > columns {
			at := strings.LastIndexByte(line[:columns+1], ' ')
			if at <= len(indent) {
				break
			}
			fmt.Fprintln(w, line[:at])
			line = indent + line[at+1:]
		}
		fmt.Fprintln(w, line)
	}
}

// WriteFiles writes files below a folder.
func WriteFiles(dir string, files map[string]string) error {
	for name, text := range files {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}
