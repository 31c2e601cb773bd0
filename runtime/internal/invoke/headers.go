package invoke

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/http"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/decode"
	"github.com/mcpgen/mcpgen/runtime/internal/request"
	"github.com/mcpgen/mcpgen/runtime/internal/wire"
)

// headerBinding is an argument that clients repeat in an HTTP header (SEP-2243, x-mcp-header). The
// server checks it after the decision, as go-sdk would tell a hidden tool from an unknown one.
type headerBinding struct {
	path   []string // of the property, from the arguments object
	header string   // without the prefix
}

type headerSchema struct {
	Header     json.RawMessage         `json:"x-mcp-header"`
	Properties map[string]headerSchema `json:"properties"`
}

// parseInput checks an input schema and returns its bindings, ordered by header.
func parseInput(schema string) (Headers, error) {
	var input struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal([]byte(schema), &input); err != nil {
		return nil, fmt.Errorf("its input schema is not JSON (%w): run go generate", err)
	}
	if input.Type != "object" {
		return nil, errors.New(`its input schema is not of type "object": run go generate`)
	}
	if !strings.Contains(schema, "x-mcp-header") {
		return nil, nil
	}
	var root headerSchema
	if err := json.Unmarshal([]byte(schema), &root); err != nil {
		return nil, fmt.Errorf("its input schema has a malformed x-mcp-header (%w): write it as a string",
			err)
	}
	found := map[string]headerBinding{}
	if err := root.bind(found, nil); err != nil {
		return nil, err
	}
	byHeader := func(a, b headerBinding) int { return strings.Compare(a.header, b.header) }
	return slices.SortedFunc(maps.Values(found), byHeader), nil
}

// bind adds the bindings below path, by header.
func (s headerSchema) bind(found map[string]headerBinding, path []string) error {
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		property, at := s.Properties[name], append(slices.Clone(path), name)
		if len(property.Header) > 0 {
			var header string
			if json.Unmarshal(property.Header, &header) != nil || !isToken(header) {
				return fmt.Errorf("its input schema has an x-mcp-header at %s that is not a header name: "+
					"use letters, digits and -", strings.Join(at, "."))
			}
			if _, twice := found[strings.ToLower(header)]; twice {
				return fmt.Errorf("its input schema binds two properties to the header %s: "+
					"rename one", header)
			}
			found[strings.ToLower(header)] = headerBinding{at, header}
		}
		if err := property.bind(found, at); err != nil {
			return err
		}
	}
	return nil
}

// isToken reports whether s is a token of RFC 9110, section 5.6.2.
func isToken(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(c rune) bool {
		return c <= ' ' || c >= 0x7f || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, c)
	})
}

// Headers are the headers that a tool binds to arguments.
type Headers []headerBinding

// HeadersOf returns the headers that an adopted server's tool binds, as it lists the tool.
func HeadersOf(t *mcp.Tool) (Headers, error) {
	schema, err := json.Marshal(t.InputSchema)
	if err != nil {
		return nil, err
	}
	return parseInput(string(schema))
}

// Check compares the bound headers of an allowed call with its arguments, if its protocol version
// and transport have them. The error is for the caller.
func (h Headers) Check(info *request.Info, arguments json.RawMessage) error {
	if len(h) == 0 || info.HTTP == nil || info.HasSessions() {
		return nil
	}
	arguments = bytes.TrimSpace(arguments)
	for _, b := range h {
		if problem := b.check(info.HTTP.Header(), decode.Value(arguments)); problem != "" {
			return &jsonrpc.Error{Code: mcp.CodeHeaderMismatch, Message: "header mismatch: " + problem}
		}
	}
	return nil
}

// check returns the problem of a bound header, empty for none. SEP-2243 counts null as absent.
func (b headerBinding) check(headers http.Header, value decode.Value) string {
	for _, name := range b.path {
		value = value.Member(name)
	}
	header, argument := "Mcp-Param-"+b.header, strings.Join(b.path, ".")
	sent, absent := headers.Get(header), len(value) == 0 || value.Type() == "null"
	switch all := headers.Values(header); {
	case len(all) > 1:
		return header + " is sent more than once"
	case absent && sent == "":
	case absent:
		return header + " is sent without the argument " + argument
	case len(all) == 0: // an empty text is an empty header
		return "the argument " + argument + " is sent without the header " + header
	case !sameValue(sent, value):
		return header + " does not match the argument " + argument
	}
	return ""
}

// sameValue compares a header with a string, boolean or integer of the arguments. Characters that
// clients have to send in base64 are refused, because proxies may change them.
func sameValue(sent string, value decode.Value) bool {
	raw := strings.ContainsFunc(sent, func(c rune) bool { return c != '\t' && (c < ' ' || c > '~') })
	sent, ok := wire.DecodeHeader(sent)
	if !ok || raw {
		return false
	}
	switch value.Type() {
	case "string":
		return string(value.Text()) == sent
	case "boolean":
		return string(value) == sent
	case "number":
		const safe = 1<<53 - 1 // beyond it, JSON readers may disagree about the number
		var n, v float64
		isNumber := decode.Value(sent).Type() == "number" && strings.TrimSpace(sent) == sent &&
			json.Unmarshal([]byte(sent), &n) == nil && json.Unmarshal(value, &v) == nil
		return isNumber && n == v && v == math.Trunc(v) && math.Abs(v) <= safe
	}
	return false
}
