package command

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcpgen/mcpgen/generator/internal/toollist"
)

func newDoctor() *cobra.Command {
	var tokenEnv string
	var remote remote
	command := &cobra.Command{
		Use:   "doctor URL",
		Short: "Print what the holder of a token reaches on a server, and why",
		Long: `doctor connects to a server of mcpgen, and prints the identity of the holder of the token,
with the roles that count within the boundary of its client. The identity is from the admin API at
/api/v1, if the server has one. Then doctor prints each tool, prompt and resource that the server
lists to the holder, as an item of a file of boundaries. With the admin API, a tool with rules for
values has an item for each value that the holder may send. An item has a note if callers without a
token see it too, or if its use needs more than the holder has.

doctor prints a warning if the holder administers the server. It also prints one for each issuer of
the server whose metadata lets clients register, unless boundaries are required or the server has
none. Such a client can get a new id, which has no boundary.

Exit codes: 0 no warning; 1 warnings; 2 usage error or failure.`,
		Example: `  mcpgen doctor https://mcp.example/mcp --token-env AGENT_TOKEN
  mcpgen doctor http://127.0.0.1:8080/mcp --header "Authorization: Bearer $TOKEN"`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			headers, err := remote.withToken(tokenEnv)
			if err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), remote.timeout)
			defer cancel()
			warnings, err := doctor{cmd, args[0], headers}.print(ctx)
			if err == nil && warnings > 0 {
				err = errFindings
			}
			return err
		},
	}
	command.Flags().StringVar(&tokenEnv, "token-env", "",
		"send the token in the environment variable `NAME` as Authorization: Bearer")
	remote.flags(command)
	return command
}

// doctor is one run of the command.
type doctor struct {
	cmd     *cobra.Command
	url     string
	headers http.Header
}

// holder is the caller, as the admin API has it.
type holder struct {
	Issuer, Subject, Client string
	Roles, Scopes           []string
	Boundaries              string // none, optional or required
	Admin                   bool
}

func (h holder) String() string {
	text := h.Subject
	for _, field := range []struct{ name, value string }{
		{"issuer", h.Issuer}, {"client", h.Client}, {"roles", strings.Join(h.Roles, " ")},
		{"scopes", strings.Join(h.Scopes, " ")}, {"boundaries", h.Boundaries},
	} {
		text += ", " + field.name + " " + cmp.Or(field.value, "none")
	}
	return text
}

func (d doctor) print(ctx context.Context) (warnings int, err error) {
	items, err := d.items(ctx, d.headers)
	if err != nil {
		return 0, err
	}
	var public []string
	if len(d.headers) > 0 {
		public, _ = d.items(ctx, nil) // an error is that of a server without anonymous callers
	}
	at, _ := url.Parse(d.url) // the session was opened with it
	origin := at.Scheme + "://" + at.Host
	out := d.cmd.OutOrStdout()
	var who holder
	if err := d.get(ctx, origin+"/api/v1/whoami", d.headers, &who); err == nil {
		fmt.Fprintln(out, toollist.Line(who.String()))
	} else {
		fmt.Fprintln(d.cmd.ErrOrStderr(), "note: the identity of the holder is not known:", err)
	}
	var tools struct {
		Items []struct {
			Name, Missing string
			Choices       []struct {
				Argument string
				Values   []string
			}
		}
	}
	_ = d.get(ctx, origin+"/api/v1/mcp/tools", d.headers, &tools) // only for notes and values
	for _, item := range items {
		var values []string
		note := ""
		for _, tool := range tools.Items {
			if item != "tool:"+tool.Name {
				continue
			}
			if tool.Missing != "" {
				note += " (its use " + tool.Missing + ")"
			}
			for _, of := range tool.Choices {
				for _, value := range of.Values {
					values = append(values, item+" "+of.Argument+"="+value)
				}
			}
		}
		if slices.Contains(public, item) {
			note += " (without a token too)"
		}
		if len(values) == 0 {
			values = []string{item}
		}
		for _, one := range values {
			fmt.Fprintln(out, "  "+toollist.Line(one+note))
		}
	}
	var warned []string
	if who.Admin {
		warned = append(warned, "the holder administers the server: if it is an agent, set "+
			"Options.Access.Boundaries, and remove its client from admin.Options.Clients")
	}
	var issuers []string
	if who.Boundaries == "" || who.Boundaries == "optional" {
		issuers = d.issuers(ctx, origin, at.EscapedPath())
	}
	for _, issuer := range issuers {
		if field := d.registration(ctx, issuer); field != "" {
			warned = append(warned, fmt.Sprintf("%s lets clients register (%s): a client that registers "+
				"again has no boundary, unless Options.Access.BoundariesOptional is false", issuer, field))
		}
	}
	for _, warning := range warned {
		fmt.Fprintln(out, "warning:", toollist.Line(warning))
	}
	return len(warned), nil
}

func (d doctor) items(ctx context.Context, headers http.Header) ([]string, error) {
	session, err := toollist.Dial(ctx, d.url, headers)
	if err != nil {
		return nil, err
	}
	defer session.Close()
	return session.Items(ctx)
}

// issuers are the authorization servers in the metadata of the server (RFC 9728, section 3).
func (d doctor) issuers(ctx context.Context, origin, path string) []string {
	var metadata struct {
		Servers []string `json:"authorization_servers"`
	}
	const wellKnown = "/.well-known/oauth-protected-resource"
	if d.get(ctx, origin+wellKnown+strings.TrimSuffix(path, "/"), nil, &metadata) != nil {
		return nil // it has no issuers
	}
	return metadata.Servers
}

// registration returns the field by which the metadata of an issuer lets clients register, or "".
func (d doctor) registration(ctx context.Context, issuer string) string {
	var metadata struct {
		Endpoint  string `json:"registration_endpoint"`
		Documents bool   `json:"client_id_metadata_document_supported"`
	}
	at, err := url.Parse(issuer)
	if err == nil {
		err = d.get(ctx, strings.TrimSuffix(issuer, "/")+"/.well-known/openid-configuration", nil,
			&metadata)
		if err != nil {
			err = d.get(ctx, at.Scheme+"://"+at.Host+"/.well-known/oauth-authorization-server"+
				strings.TrimSuffix(at.EscapedPath(), "/"), nil, &metadata)
		}
	}
	switch {
	case err != nil:
		fmt.Fprintf(d.cmd.ErrOrStderr(), "note: the metadata of %s could not be read: %v\n",
			toollist.Line(issuer), err)
	case metadata.Endpoint != "":
		return "registration_endpoint"
	case metadata.Documents:
		return "client_id_metadata_document_supported"
	}
	return ""
}

// get reads a JSON document.
func (d doctor) get(ctx context.Context, from string, headers http.Header, into any) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, from, nil)
	if err != nil {
		return errors.New("its URL is malformed")
	}
	for name, values := range headers {
		r.Header[name] = slices.Clone(values)
	}
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse // the headers are for this server
	}}
	res, err := client.Do(r)
	if err != nil {
		return toollist.NetworkError(ctx, err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("%s responds with %d", toollist.Line(from), res.StatusCode)
	}
	text, err := io.ReadAll(io.LimitReader(res.Body, 8<<20))
	if err == nil && json.Unmarshal(text, into) != nil {
		err = fmt.Errorf("%s does not respond with a JSON document of the expected form",
			toollist.Line(from))
	}
	return err
}
