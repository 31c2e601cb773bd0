package stubs

import (
	"fmt"
	"mime"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/mcpgen/mcpgen/generator/extension"
)

var (
	plainPath   = regexp.MustCompile(`^/[A-Za-z0-9._~!$&'()*+,;=:@/{}-]*$`)
	dots        = regexp.MustCompile(`/\.\.?(/|$)`)
	placeholder = regexp.MustCompile(`\{([^{}/]*)\}`)
)

// operation is one operation with what its handler needs.
type operation struct {
	*openapi3.Operation
	goName, method, path string
	parameters           []*openapi3.Parameter
	body                 *openapi3.RequestBody
	bodyType             string // media type of the body, or empty
	bodySchema           *openapi3.SchemaRef
	result               *openapi3.SchemaRef
	text                 bool   // the result is text
	missing              string // why the handler cannot call the API, or empty
}

// schemas are those that the handler has types for.
func (op *operation) schemas() []*openapi3.SchemaRef {
	list := []*openapi3.SchemaRef{op.bodySchema, op.result}
	for _, p := range op.parameters {
		list = append(list, p.Schema)
	}
	return slices.DeleteFunc(list, func(ref *openapi3.SchemaRef) bool { return ref == nil })
}

// read chooses what of an operation the handler has.
func (w *writer) read(
	goName, method, path string, item *openapi3.PathItem, o *openapi3.Operation,
) *operation {
	op := &operation{Operation: o, goName: goName, method: method, path: path}
	known := map[string]bool{}
	for _, ref := range slices.Concat(o.Parameters, item.Parameters) {
		if ref == nil || ref.Value == nil || known[ref.Value.In+":"+ref.Value.Name] {
			continue
		}
		p := ref.Value
		known[p.In+":"+p.Name] = true
		why := w.refused(op, p)
		switch {
		case why == "":
			op.parameters = append(op.parameters, p)
			if secretName.MatchString(p.Name) && !pageName.MatchString(p.Name) {
				w.note("%s: the parameter %+q may be a credential, which a model would choose: remove it "+
					"from the input, and let API.Client add it", goName, p.Name)
			}
		case p.In == "path" && strings.Contains(path, "{"+p.Name+"}"),
			p.Required && p.In != "cookie" && why != credential && why != ofClient:
			op.missing = fmt.Sprintf("the parameter %+q", p.Name)
		}
		if why != "" {
			w.note("%s: the parameter %+q is left out: %s", goName, p.Name, why)
		}
	}
	for _, m := range placeholder.FindAllStringSubmatch(path, -1) {
		if !known["path:"+m[1]] {
			known["path:"+m[1]] = true
			op.parameters = append(op.parameters, &openapi3.Parameter{Name: m[1], In: "path",
				Required: true, Schema: openapi3.NewStringSchema().NewRef()})
		}
	}
	if o.RequestBody != nil && o.RequestBody.Value != nil && len(o.RequestBody.Value.Content) > 0 {
		op.body = o.RequestBody.Value
		op.bodyType, op.bodySchema = jsonOf(op.body.Content)
		if op.bodyType == "" {
			w.note("%s: its body is left out, since it is not JSON", goName)
			if op.body.Required {
				op.missing = "a body that is not JSON"
			}
			op.body = nil
		}
	}
	w.response(op)
	return op
}

// response chooses the result: the JSON of 200, 201 or another success.
func (w *writer) response(op *operation) {
	if op.Responses == nil || op.method == http.MethodHead {
		return
	}
	responses := op.Responses.Map()
	codes := slices.DeleteFunc(append([]string{"200", "201"}, sortedKeys(responses)...),
		func(code string) bool { return !strings.HasPrefix(code, "2") || responses[code] == nil })
	if len(codes) == 0 && responses["default"] != nil {
		codes = []string{"default"}
	}
	other := false
	for _, code := range codes {
		r := responses[code].Value
		if r == nil || len(r.Content) == 0 {
			continue
		}
		if mediaType, schema := jsonOf(r.Content); mediaType != "" {
			if op.result = schema; schema == nil {
				op.result = openapi3.NewSchemaRef("", &openapi3.Schema{})
			}
			return
		}
		for mediaType := range r.Content {
			op.text = op.text || strings.HasPrefix(mediaType, "text/")
		}
		other = !op.text
	}
	if other && !op.text {
		op.missing = "a response that is neither JSON nor text"
	}
}

// jsonOf is the JSON media type of a body: application/json, or the first other.
func jsonOf(content openapi3.Content) (mediaType string, schema *openapi3.SchemaRef) {
	for _, name := range sortedKeys(content) {
		base, _, err := mime.ParseMediaType(name)
		if err != nil || content[name] == nil ||
			base != "application/json" && !strings.HasSuffix(base, "+json") {
			continue
		}
		if mediaType == "" || base == "application/json" {
			mediaType, schema = base, content[name].Schema
		}
	}
	return mediaType, schema
}

// Why a handler need not send a parameter.
const (
	credential = "it is a credential, which API.Client adds"
	ofClient   = "the HTTP client sets this header"
)

// refused is why a handler has no argument for a parameter, or empty.
func (w *writer) refused(op *operation, p *openapi3.Parameter) string {
	switch name := strings.ToLower(p.Name); {
	case p.In == "cookie":
		return "it is a cookie"
	case p.In == "header" && (name == "authorization" || name == "proxy-authorization" ||
		name == "cookie"), w.credentials()[p.In+":"+name]:
		return credential
	case p.In == "header" && (hopHeaders[name] || !headerName.MatchString(p.Name)):
		return ofClient
	case p.In == "header" && proxyHeader.MatchString(p.Name):
		return "servers trust this header of a proxy"
	case p.In == "path" && !strings.Contains(op.path, "{"+p.Name+"}"):
		return "the path does not have it"
	case p.In != "path" && p.In != "query" && p.In != "header":
		return "its place is unknown"
	case p.Schema == nil:
		return "it has no schema"
	}
	method, err := p.SerializationMethod()
	if err != nil || method.Style != "simple" && p.In != "query" || p.In == "query" &&
		!slices.Contains([]string{"form", "spaceDelimited", "pipeDelimited"}, method.Style) {
		return "its style is not supported"
	}
	schema := w.schema(p.Schema)
	for schema != nil && schema.Type.Is("array") && schema.Items != nil {
		schema = w.schema(schema.Items)
		if schema != nil && schema.Type.Is("array") {
			return "it is a list of lists"
		}
	}
	if schema == nil || schema.Type.Includes("object") || len(schema.Properties) > 0 ||
		len(schema.AllOf) > 1 {
		return "it is an object"
	}
	return ""
}

var (
	// secretName matches the names of credentials, and pageName those of places in a list.
	secretName = regexp.MustCompile(`(?i)(api[-_]?key|token|secret|password)$`)
	pageName   = regexp.MustCompile(`(?i)(page|next|continuation|sync)[-_]?token$`)
	// proxyHeader matches headers that change the address or the method of a request.
	proxyHeader = regexp.MustCompile(
		`(?i)^(forwarded|x-forwarded-.*|x-real-ip|x-(.*-)?method-override|x-http-method)$`)
)

var headerName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,100}$`)

// hopHeaders are those that OpenAPI has elsewhere, or that belong to the connection.
var hopHeaders = map[string]bool{"accept": true, "content-type": true, "content-length": true,
	"host": true, "connection": true, "transfer-encoding": true, "te": true, "trailer": true,
	"upgrade": true, "keep-alive": true, "expect": true, "accept-encoding": true}

// credentials are the parameters that security schemes name.
func (w *writer) credentials() map[string]bool {
	if len(w.secret) == 0 {
		w.secret[""] = true
		if w.doc.Components != nil {
			for _, ref := range w.doc.Components.SecuritySchemes {
				if ref != nil && ref.Value != nil && ref.Value.Type == "apiKey" {
					w.secret[ref.Value.In+":"+strings.ToLower(ref.Value.Name)] = true
				}
			}
		}
	}
	return w.secret
}

// operation writes the input type and the handler.
func (w *writer) operation(op *operation) {
	var fields, lines strings.Builder
	names, properties := map[string]bool{}, map[string]bool{}
	for _, p := range op.parameters {
		property := p.Name
		if !tagName.MatchString(property) || property == "-" {
			property = strings.Trim(notTag.ReplaceAllString(property, "_"), "_")
		}
		if len(property) > 80 || property == "" {
			property = "parameter"
		}
		if properties[strings.ToLower(property)] {
			property = p.In + "_" + property
		}
		property = extension.Unique(property, func(name string) bool {
			return properties[strings.ToLower(name)]
		})
		properties[strings.ToLower(property)] = true
		field := extension.Unique(extension.Identifier(property, "Field"),
			func(name string) bool { return names[name] })
		names[field] = true
		in := w.shape(p.Schema, op.goName+field, request, 0)
		if !plainType.MatchString(in.goType) { // alternatives, as text
			in = shape{goType: "string", value: true}
		}
		in.nullable = false
		s := *p.Schema.Value
		if p.Description != "" {
			s.Description = p.Description
		}
		s.Deprecated = s.Deprecated || p.Deprecated
		required := p.Required || p.In == "path"
		fields.WriteString(w.field(field, property, &s, in, required, false))
		lines.WriteString(call(p, "in."+field))
	}
	if op.body != nil {
		w.body(op, names, properties, &fields, &lines)
	}
	w.write(op, fields.String(), lines.String())
}

// plainType are the types that a parameter can have.
var plainType = regexp.MustCompile(`^(\[\]\*?)?(string|bool|int32|int64|float64)$`)

var notTag = regexp.MustCompile(`[^A-Za-z0-9_.-]+`)

// call is the statement that adds a parameter to the request.
func call(p *openapi3.Parameter, value string) string {
	name := strconv.QuoteToASCII(p.Name)
	switch p.In {
	case "path":
		return fmt.Sprintf("r.path(%s, %s)\n", name, value)
	case "header":
		return fmt.Sprintf("r.head(%s, %s)\n", name, value)
	}
	method, _ := p.SerializationMethod() // refused has checked it
	separator := map[string]string{"form": ",", "spaceDelimited": " ", "pipeDelimited": "|"}
	if !method.Explode {
		return fmt.Sprintf("r.joined(%s, %q, %s)\n", name, separator[method.Style], value)
	}
	return fmt.Sprintf("r.query(%s, %s)\n", name, value)
}

// body adds the JSON body: the properties of a required object beside the parameters, or one
// argument.
func (w *writer) body(
	op *operation, names, properties map[string]bool, fields, lines *strings.Builder,
) {
	in := shape{goType: raw}
	if op.bodySchema != nil {
		in = w.shape(op.bodySchema, op.goName+"Body", request, 0)
	}
	alone := in.value && in.fields != nil && op.body.Required && !in.nullable &&
		!names[in.goType]
	for property, field := range in.fields {
		alone = alone && !properties[strings.ToLower(property)] && !names[field]
	}
	mediaType := strconv.QuoteToASCII(op.bodyType)
	if alone {
		fmt.Fprintf(fields, "%s\n", in.goType)
		fmt.Fprintf(lines, "r.body(%s, in.%s)\n", mediaType, in.goType)
		return
	}
	property := extension.Unique("body", func(name string) bool { return properties[name] })
	field := extension.Unique("Body", func(name string) bool { return names[name] })
	s := &openapi3.Schema{Description: op.body.Description}
	in.nullable = false // an absent body and null are one
	fields.WriteString(w.field(field, property, s, in, op.body.Required, false))
	fmt.Fprintf(lines, "r.body(%s, in.%s)\n", mediaType, field)
}

// write writes the handler.
func (w *writer) write(op *operation, fields, lines string) {
	b := &w.tools
	parameter := ""
	if fields != "" && op.missing == "" {
		parameter = ", in " + op.goName + "Input"
		fmt.Fprintf(b, "\n// %s has the arguments.\ntype %[1]s struct {\n%s}\n",
			op.goName+"Input", fields)
	}
	fmt.Fprintf(b, "\n%s", extension.Comment(fmt.Sprintf("%s calls %s %s. The API requires %s.",
		op.goName, op.method, op.path, w.security(op))))
	directives := "//mcp:tool minrole=" + extension.FillIn
	switch op.method {
	case http.MethodGet, http.MethodHead:
		directives += " readonly"
	case http.MethodPut:
		directives += " idempotent"
	case http.MethodDelete:
		directives += " destructive idempotent"
	}
	doc, declaration := extension.Doc(op.goName+"Description", w.description(op))
	if declaration != "" {
		b.WriteString("\n" + declaration)
		directives = strings.Replace(directives, " minrole=",
			" description=@"+op.goName+"Description minrole=", 1)
	} else {
		b.WriteString("\n" + doc + "//\n")
	}
	result, end := "error", "_, err := a.send(ctx, r)\nreturn err\n"
	switch {
	case op.missing != "":
		fmt.Fprintf(b, "%s\nfunc (a *API) %s(ctx context.Context) error {\nreturn errors.New(%s)\n}\n",
			directives, op.goName, strconv.QuoteToASCII(op.goName+
				" is not implemented: the operation has "+op.missing))
		w.note("%s returns an error until you write its body: the operation has %s", op.goName,
			op.missing)
		return
	case op.result != nil:
		out := w.shape(op.result, op.goName+"Result", result_, 0)
		goType := out.goType
		if out.nullable && out.value {
			goType = "*" + goType
		}
		result, end = "("+goType+", error)", "return receive["+goType+"](ctx, a, r)\n"
	case op.text:
		directives += " output=none"
		result = "(string, error)"
		end = "text, err := a.send(ctx, r)\nreturn string(text), err\n"
	}
	fmt.Fprintf(b, "%s\nfunc (a *API) %s(ctx context.Context%s) %s {\n", directives, op.goName,
		parameter, result)
	fmt.Fprintf(b, "r := newUpstream(%q, %q)\n%s%s}\n", op.method, op.path, lines, end)
}

// result_ is the direction of results, where a variable has its name.
const result_ = result

// description is the text for models.
func (w *writer) description(op *operation) string {
	text := strings.TrimSpace(op.Summary)
	if more := strings.TrimSpace(op.Description); more != "" && more != text {
		text = strings.TrimSpace(text + "\n\n" + more)
	}
	if extension.Visible(text) == "" {
		text = "Calls " + op.method + " " + op.path + "."
	}
	text = w.bounded(op.goName, text)
	if op.Deprecated {
		text += "\n\nDeprecated: the API has deprecated this operation."
	}
	return text
}

// security is what the API requires of a caller, for the author of the access rule.
func (w *writer) security(op *operation) string {
	list := w.doc.Security
	if op.Security != nil {
		list = *op.Security
	}
	var ways []string
	for i, requirement := range list {
		if i == 10 {
			break
		}
		var parts []string
		for _, name := range sortedKeys(requirement) {
			part := extension.Visible(name)
			if scopes := requirement[name]; len(scopes) > 0 {
				part += " with the scopes " + extension.Visible(strings.Join(scopes, ", "))
			}
			parts = append(parts, part)
		}
		if len(parts) == 0 {
			parts = []string{"no credential"}
		}
		ways = append(ways, strings.Join(parts, " and "))
	}
	if len(ways) == 0 {
		return "no credential"
	}
	text := strings.Join(ways, "; or ")
	if len(text) > 500 {
		text = strings.ToValidUTF8(text[:500], "") + " …"
	}
	return text
}
