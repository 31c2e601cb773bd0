package runtime

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/internal/uritemplate"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/decode"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// resource is one resource or template as the server keeps it.
type resource struct {
	Resource
	template uritemplate.Template
	// match says whether a URI is one of the resource's and what its variables are.
	match   func(uri string) (map[string]string, bool)
	exact   bool // one URI and no template
	adopted bool // answered by the adopted server itself
}

func newResource(r Resource) (*resource, error) {
	var errs []error
	template, err := uritemplate.Parse(r.URI)
	if err != nil {
		return nil, fmt.Errorf("its URI is not one: %w; run go generate", err)
	}
	if r.Read == nil {
		errs = append(errs, errors.New("nothing answers for it: run go generate"))
	}
	if r.Name == "" {
		errs = append(errs, errors.New("it has no name: run go generate"))
	}
	names, kinds := []string{}, map[string]uritemplate.Kind{}
	for _, v := range r.Variables {
		names = append(names, v.Name)
		switch v.Type {
		case IntegerVariable:
			kinds[v.Name] = uritemplate.Integer
		case BooleanVariable:
			kinds[v.Name] = uritemplate.Boolean
		}
	}
	if !slices.Equal(names, template.Variables()) {
		errs = append(errs, fmt.Errorf("its URI has the variables %v, and its parameters are %v: run go generate", template.Variables(), names))
	}
	timeout, err := timeoutOf(r.Timeout)
	errs = append(errs, err)
	built := &resource{Resource: r, template: template.Typed(kinds)}
	built.Timeout = timeout
	built.match = built.template.Match
	built.exact = len(r.Variables) == 0
	return built, errors.Join(errs...)
}

// resources finds the resource that a URI means: exactly, then by template in the order of the
// templates' text, those of toolsets before those of an adopted server.
type resources struct {
	fixed     map[string]*resource
	templates []*resource
}

func (rs *resources) add(r *resource) {
	if r.exact {
		if rs.fixed == nil {
			rs.fixed = map[string]*resource{}
		}
		rs.fixed[r.URI] = r
		return
	}
	rs.templates = append(rs.templates, r)
	slices.SortFunc(rs.templates, func(a, b *resource) int {
		if a.adopted != b.adopted {
			if b.adopted {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.URI, b.URI)
	})
}

// find returns nil for a URI that is no resource's.
func (rs *resources) find(uri string) (*resource, map[string]string) {
	if r := rs.fixed[uri]; r != nil {
		return r, nil
	}
	for _, r := range rs.templates {
		if values, ok := r.match(uri); ok {
			return r, values
		}
	}
	return nil, nil
}

// named returns the resource whose URI or template is written so, or nil.
func (rs *resources) named(uri string) *resource {
	if r := rs.fixed[uri]; r != nil {
		return r
	}
	for _, r := range rs.templates {
		if r.URI == uri {
			return r
		}
	}
	return nil
}

// readResource decides one resources/read.
func (g guard) readResource(ctx context.Context, req *mcp.ReadResourceRequest, rec *record) (mcp.Result, error) {
	uri := req.Params.URI
	r, values := g.resources.find(uri)
	what := item{access.Resources, ""}
	event := g.event(rec, audit.ResourceRead)
	if r != nil {
		what.name = r.URI
		event.Resource, event.Arguments = r.URI, g.texts(values)
	} else {
		event.Arguments = g.texts(map[string]string{"uri": uri})
	}
	return g.decided(ctx, rec, event, what, unknownResource(uri), func() (mcp.Result, audit.Status, error) {
		// Without answers to questions: those are made up, as no resource asks any.
		params := &mcp.ReadResourceParams{Meta: req.Params.Meta, URI: uri}
		res, err := g.inner(ctx, "resources/read", &mcp.ReadResourceRequest{Session: req.Session, Params: params, Extra: req.Extra})
		if r, ok := res.(*mcp.ReadResourceResult); ok && r != nil && r.InputRequests != nil {
			res, err = nil, errAsksForInput
		}
		return g.finished(rec, what, !r.adopted, res, err)
	})
}

// dispatchURI is the one resource that go-sdk knows of toolsets. go-sdk takes the first
// template in the order of text that matches, by rules of its own; which resource a URI means is
// settled here instead. No table has it, so that it is unknown to every caller.
const dispatchURI = "io.github.mcpgen:read"

type uriKey struct{}

// readable is the request as go-sdk gets it, with the URI that was asked for in the context.
func (s *Server) readable(ctx context.Context, req *mcp.ReadResourceRequest) (context.Context, *mcp.ReadResourceRequest) {
	if req.Params == nil {
		return ctx, req
	}
	r, _ := s.resources.find(req.Params.URI)
	if r == nil || r.adopted {
		return ctx, req
	}
	params := *req.Params
	params.URI = dispatchURI
	return context.WithValue(ctx, uriKey{}, req.Params.URI), &mcp.ReadResourceRequest{Session: req.Session, Params: &params, Extra: req.Extra}
}

// dispatchResource is the closure that go-sdk calls for every resource of toolsets. It decides
// again.
func (s *Server) dispatchResource(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	uri, _ := ctx.Value(uriKey{}).(string)
	r, values := s.resources.find(uri)
	if req == nil || r == nil || r.adopted {
		return nil, unknownResource(uri)
	}
	rec, err := s.again(ctx, req.Extra, item{access.Resources, r.URI}, unknownResource(uri))
	if err != nil {
		return nil, err
	}
	raw, err := r.arguments(values)
	if err != nil {
		return nil, err
	}
	ctx = s.constrained(ctx, rec, access.Resources, r.URI)
	return ran(ctx, s, work{"resource", r.URI, r.Timeout}, rec, func(ctx context.Context) (*mcp.ReadResourceResult, error, error) {
		made, err := r.Read(ctx, toolset.NewCall(raw, nil))
		var malformed *decode.Error
		switch {
		case errors.As(err, &malformed):
			return nil, unknownResource(uri), nil // a number out of range, a value that is none of an enum's
		case err != nil:
			return nil, err, nil
		}
		res, err := r.result(uri, made)
		return res, nil, err
	})
}

// arguments is the JSON object of a template's values.
func (r *resource) arguments(values map[string]string) (json.RawMessage, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, v := range r.Variables {
		if i > 0 {
			b.WriteByte(',')
		}
		name, err := marshal(v.Name)
		if err != nil {
			return nil, err
		}
		value := []byte(values[v.Name]) // matching has seen to it that numbers and booleans are JSON
		if v.Type == TextVariable {
			if value, err = marshal(values[v.Name]); err != nil {
				return nil, err
			}
		}
		b.Write(name)
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// result makes the result of a resource: one of its own, contents included, since go-sdk writes
// into them and what the handler returned may be shared.
//
// It must run under recover: _meta marshals itself.
func (r *resource) result(uri string, made ResourceAnswer) (*mcp.ReadResourceResult, error) {
	if !made.Native {
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{
			{URI: uri, MIMEType: r.MIMEType, Text: made.Text, Blob: made.Blob},
		}}, nil
	}
	if made.Result == nil {
		return nil, errNilResult
	}
	res := *made.Result
	if res.InputRequests != nil {
		return nil, errAsksForInput
	}
	contents := make([]*mcp.ResourceContents, len(res.Contents))
	for i, c := range res.Contents {
		if c == nil {
			return nil, errors.New("a nil content: leave it out")
		}
		content := *c
		content.URI = cmp.Or(content.URI, uri)
		content.MIMEType = cmp.Or(content.MIMEType, r.MIMEType)
		contents[i] = &content
	}
	res.Contents = contents
	_, err := finish(&res)
	return &res, err
}
