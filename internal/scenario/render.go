package scenario

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// object is a JSON object of a message.
type object = map[string]any

func decode(text []byte) (v any, ok bool) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	return v, d.Decode(&v) == nil && !d.More()
}

// compact is JSON with the members of objects in the order of their names.
func compact(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return err.Error()
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// oneLine is a text without line ends.
func oneLine(text string) string {
	return strings.NewReplacer("\n", `\n`, "\r", `\r`).Replace(text)
}

// meta are the members of _meta that the protocol has in each message of its last version.
var meta = []string{"io.modelcontextprotocol/serverInfo"}

// withoutMeta removes them.
func withoutMeta(o object, also ...string) {
	m, _ := o["_meta"].(object)
	for _, name := range append(also, meta...) {
		delete(m, name)
	}
	if m != nil && len(m) == 0 {
		delete(o, "_meta")
	}
}

const subscription = "io.modelcontextprotocol/subscriptionId"

// noted is a notification or a question.
func (x *exchange) noted(prefix string, m message) string {
	v, _ := decode(m.Params)
	params, _ := v.(object)
	if sent, _ := params["_meta"].(object); sent != nil && compact(sent[subscription]) == x.id {
		withoutMeta(params, subscription)
	} else if params != nil {
		withoutMeta(params)
	}
	if data, ok := params["data"].(object); ok { // of a log message
		delete(data, "request_id")
		delete(data, "time")
	}
	if len(params) == 0 {
		return prefix + m.Method
	}
	return prefix + m.Method + " " + compact(params)
}

// answered is the answer to a request, in lines without their prefix.
func (x *exchange) answered(m message, v variant) string {
	if m.Error != nil {
		e, _ := decode(m.Error)
		o, _ := e.(object)
		text := fmt.Sprintf("error %v %v", o["code"], o["message"])
		if o["data"] != nil {
			text += " " + compact(o["data"])
		}
		return oneLine(text)
	}
	r, _ := decode(m.Result)
	result, ok := r.(object)
	if !ok || x.full {
		return compact(r)
	}
	if v.sessions() == (result["resultType"] != nil) {
		return "the resultType of another version: " + compact(r)
	}
	if result["resultType"] == "complete" {
		delete(result, "resultType")
	}
	withoutMeta(result)
	if result["taskId"] != nil {
		for _, member := range []string{"taskId", "createdAt", "lastUpdatedAt", "pollIntervalMs"} {
			delete(result, member)
		}
		return "task: " + compact(result)
	}
	if result["requestState"] != nil {
		result["requestState"] = "…"
	}
	if _, area, ok := listOf(x.method, result); ok {
		return area
	}
	if text, ok := short(result, x.target); ok {
		return oneLine(text)
	}
	return compact(result)
}

// listOf is a list by the names of its items.
func listOf(method string, result object) (kind, text string, ok bool) {
	for list, by := range map[string][2]string{
		"tools/list": {"tools", "name"}, "prompts/list": {"prompts", "name"},
		"resources/list":           {"resources", "uri"},
		"resources/templates/list": {"resourceTemplates", "uriTemplate"}} {
		items, isList := result[by[0]].([]any)
		if method != list || !isList {
			continue
		}
		text = by[0] + ":"
		for _, item := range items {
			o, _ := item.(object)
			text += fmt.Sprint(" ", o[by[1]])
		}
		if result["nextCursor"] != nil {
			text += " (more)"
		}
		if m, _ := result["_meta"].(object); m != nil {
			text += " " + compact(m)
		}
		return by[0], text, true
	}
	return "", "", false
}

// short is the short form of a result, if it loses nothing. The content of a resource has the URI
// that was read.
func short(result object, uri string) (string, bool) {
	only := func(names ...string) bool {
		for name := range result {
			if !slices.Contains(names, name) {
				return false
			}
		}
		return true
	}
	text := func(v any, member string) (string, bool) {
		list, _ := v.([]any)
		if len(list) != 1 {
			return "", false
		}
		o, _ := list[0].(object)
		if member != "" {
			o, _ = o[member].(object)
		}
		s, ok := o["text"].(string)
		return s, ok && (o["uri"] == nil || o["uri"] == uri) && o["_meta"] == nil
	}
	switch {
	case result["content"] != nil && only("content", "isError", "structuredContent"):
		s, ok := text(result["content"], "")
		if structured, has := result["structuredContent"]; ok && has {
			v, isJSON := decode([]byte(s))
			return compact(structured), isJSON && compact(v) == compact(structured)
		}
		if result["isError"] == true {
			return "isError " + s, ok
		}
		return "text: " + s, ok
	case result["messages"] != nil && only("messages"):
		s, ok := text(result["messages"], "content")
		return "text: " + s, ok
	case result["contents"] != nil && only("contents", "ttlMs", "cacheScope"):
		s, ok := text(result["contents"], "")
		return "text: " + s, ok && (result["cacheScope"] == nil || result["cacheScope"] == "private")
	case result["completion"] != nil && only("completion"):
		completion, _ := result["completion"].(object)
		values, ok := completion["values"].([]any)
		s := "values:"
		for _, v := range values {
			s += fmt.Sprint(" ", v)
		}
		return s, ok
	}
	return "", false
}

// headers are shown in each answer that has them.
var headers = []string{"Www-Authenticate", "Retry-After", "Allow"}

// matches reports whether a line is what was expected, where … stands for any text.
func matches(expected, got string) bool {
	parts := strings.Split(expected, "…")
	for i := range parts {
		parts[i] = regexp.QuoteMeta(parts[i])
	}
	return regexp.MustCompile(`^(?s:` + strings.Join(parts, ".*") + `)$`).MatchString(got)
}
