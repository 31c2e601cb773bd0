package runtime

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// headerBinding is an argument that clients of protocol 2026-07-28 repeat in an HTTP header,
// so that what stands in front of the server can route on it (SEP-2243, x-mcp-header).
//
// go-sdk checks these before any middleware, which would tell a hidden tool from an unknown
// one; so it is given a schema without them and they are checked here, after the decision.
type headerBinding struct {
	path   []string // of the property, from the arguments object
	header string   // without the prefix
}

const paramHeaderPrefix = "Mcp-Param-"

type headerSchema struct {
	Header     json.RawMessage         `json:"x-mcp-header"`
	Properties map[string]headerSchema `json:"properties"`
}

// headerBindings finds the annotated properties of an input schema.
func headerBindings(schema string) ([]headerBinding, error) {
	if !strings.Contains(schema, "x-mcp-header") {
		return nil, nil
	}
	var root headerSchema
	if err := json.Unmarshal([]byte(schema), &root); err != nil {
		return nil, fmt.Errorf("its input schema has an x-mcp-header that cannot be read (%w): write it as a string", err)
	}
	var found []headerBinding
	var walk func(s headerSchema, path []string) error
	walk = func(s headerSchema, path []string) error {
		for name, sub := range s.Properties {
			at := append(slices.Clone(path), name)
			if len(sub.Header) > 0 {
				var header string
				if err := json.Unmarshal(sub.Header, &header); err != nil || header == "" || !isToken(header) {
					return fmt.Errorf("its input schema has an x-mcp-header at %s that is no header name: use letters, digits and -", strings.Join(at, "."))
				}
				found = append(found, headerBinding{path: at, header: header})
			}
			if err := walk(sub, at); err != nil {
				return err
			}
		}
		return nil
	}
	if err := walk(root, nil); err != nil {
		return nil, err
	}
	slices.SortFunc(found, func(a, b headerBinding) int { return strings.Compare(a.header, b.header) })
	for i := 1; i < len(found); i++ {
		if strings.EqualFold(found[i].header, found[i-1].header) {
			return nil, fmt.Errorf("its input schema binds two properties to the header %s: rename one", found[i].header)
		}
	}
	return found, nil
}

// isToken reports whether s is a token of RFC 9110, section 5.6.2.
func isToken(s string) bool {
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c <= ' ' || c >= 0x7f || strings.IndexByte("\"(),/:;<=>?@[\\]{}", c) >= 0 {
			return false
		}
	}
	return s != ""
}

// checkHeaders compares the headers of an allowed call with its arguments. The error is for the
// caller.
func checkHeaders(bindings []headerBinding, header http.Header, arguments json.RawMessage) error {
	for _, b := range bindings {
		name := paramHeaderPrefix + b.header
		if len(header.Values(name)) > 1 {
			return fmt.Errorf("header mismatch: %s is sent more than once", name)
		}
		sent := header.Get(name)
		value, ok := argumentAt(arguments, b.path)
		switch {
		case !ok && sent == "":
			continue
		case !ok:
			return fmt.Errorf("header mismatch: %s is sent, and the argument %s is not", name, strings.Join(b.path, "."))
		case sent == "":
			return fmt.Errorf("header mismatch: the argument %s is sent without the header %s", strings.Join(b.path, "."), name)
		}
		if !sameValue(sent, value) {
			return fmt.Errorf("header mismatch: %s is not what the argument %s says", name, strings.Join(b.path, "."))
		}
	}
	return nil
}

// argumentAt returns a value inside the arguments; null counts as absent, as SEP-2243 says.
func argumentAt(raw json.RawMessage, path []string) (json.RawMessage, bool) {
	for _, step := range path {
		var object map[string]json.RawMessage
		if json.Unmarshal(raw, &object) != nil {
			return nil, false
		}
		var ok bool
		if raw, ok = object[step]; !ok {
			return nil, false
		}
	}
	return raw, string(raw) != "null"
}

// sameValue compares a header with a string, boolean or integer of the arguments.
func sameValue(sent string, value json.RawMessage) bool {
	if inner, ok := strings.CutPrefix(sent, "=?base64?"); ok && strings.HasSuffix(inner, "?=") {
		decoded, err := base64.StdEncoding.DecodeString(strings.TrimSuffix(inner, "?="))
		if err != nil || !utf8.Valid(decoded) {
			return false
		}
		sent = string(decoded)
	}
	var v any
	if json.Unmarshal(value, &v) != nil {
		return false
	}
	switch v := v.(type) {
	case string:
		return v == sent
	case bool:
		return strconv.FormatBool(v) == sent
	case float64:
		// JSON's spelling of numbers: ParseFloat alone would read 0x10, 1_0 and Inf as well.
		if sent == "" || sent[0] != '-' && (sent[0] < '0' || sent[0] > '9') || !json.Valid([]byte(sent)) || strings.TrimSpace(sent) != sent {
			return false
		}
		n, err := strconv.ParseFloat(sent, 64)
		const safe = 1<<53 - 1 // beyond it, JSON readers may disagree about the number
		return err == nil && n == v && v == float64(int64(v)) && v >= -safe && v <= safe
	}
	return false
}
