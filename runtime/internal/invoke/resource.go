package invoke

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/internal/uritemplate"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/decode"
	"github.com/mcpgen/mcpgen/runtime/internal/request"
	"github.com/mcpgen/mcpgen/runtime/internal/wire"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// Resource is one resource of a server, or a template of resources. Its Timeout is set, unless
// NonBlocking is.
type Resource struct {
	toolset.Resource
	Exact   bool // one URI, and no template
	Adopted bool // the adopted server itself serves it

	template    uritemplate.Template
	match       func(uri string) bool
	completable []toolset.Argument // the variables
}

// NewResource checks a resource.
func NewResource(r toolset.Resource) (*Resource, error) {
	template, err := uritemplate.Parse(r.URI)
	if err != nil {
		return nil, fmt.Errorf("its URI is malformed: %w; run go generate", err)
	}
	built := &Resource{Resource: r, Exact: len(r.Variables) == 0}
	names, kinds := []string{}, map[string]uritemplate.Kind{}
	for _, v := range r.Variables {
		names = append(names, v.Name)
		kinds[v.Name] = uritemplate.Kind(v.Type) // both have the same values
		built.completable = append(built.completable,
			toolset.Argument{Name: v.Name, Values: v.Values, Complete: v.Complete})
	}
	built.template = template.Typed(kinds)
	built.match = built.template.Matches
	return built, errors.Join(
		errorIf(r.Read == nil, unhandled),
		errorIf(r.Name == "", "it has no name: run go generate"),
		errorIf(!slices.Equal(names, template.Variables()), "its URI has the variables %v, "+
			"and its parameters are %v: run go generate", template.Variables(), names),
		setTimeout(&built.Timeout, r.NonBlocking),
		onlyComputes(r.NonBlocking, map[string]bool{"Elicits": r.Elicits}))
}

// NewAdoptedResource returns a resource of an adopted server: a template with a pattern, or an
// exact one if that is nil. The bound is that of templates of toolsets: each is tried for each URI.
func NewAdoptedResource(uri string, pattern *regexp.Regexp) *Resource {
	match := func(uri string) bool {
		return len(uri) <= uritemplate.MaxLength && pattern.MatchString(uri)
	}
	return &Resource{
		Resource: toolset.Resource{URI: uri}, Exact: pattern == nil, Adopted: true, match: match}
}

// Resources are the resources of a server. A URI means the resource with exactly that URI, or the
// first template that matches: those of toolsets before adopted ones, each in the order of text.
type Resources struct {
	named     map[string]*Resource // by URI or template
	templates []*Resource
}

// CheckOverlaps refuses resources that one URI may mean and that have different rules: the order of
// their text would decide on access, and a hidden one would conceal one that the caller may read.
func (rs *Resources) CheckOverlaps(table access.Table) error {
	var errs []error
	rules := table.Of(access.Resources)
	rs.neighbours(func(a, b *Resource) {
		first, second := a, b
		if b.before(a) {
			first, second = b, a
		}
		one, _ := rules.Tool(first.URI)
		other, ruled := rules.Tool(second.URI) // without a rule it is nobody's
		if ruled && !one.Same(other) && a.overlaps(b) {
			errs = append(errs, fmt.Errorf("%s and %s match the same URI, but have different "+
				"access: give both equal rules, or change the URI of one", a.URI, b.URI))
		}
	})
	return errors.Join(errs...)
}

// neighbours calls f with each two resources that may match the same URI by their beginnings.
func (rs *Resources) neighbours(f func(a, b *Resource)) {
	sorted := slices.SortedFunc(maps.Values(rs.named), func(a, b *Resource) int {
		return cmp.Or(cmp.Compare(a.begin(), b.begin()), cmp.Compare(a.URI, b.URI))
	})
	for i, a := range sorted {
		for _, b := range sorted[i+1:] {
			if !strings.HasPrefix(b.begin(), a.begin()) {
				break // nor does that of a later one begin so
			}
			f(a, b)
		}
	}
}

// Shadowed returns the resources of an adopted server that match URIs which other ones of it
// answer, and these others. The server itself finds what answers a URI, for each caller alike.
func (rs *Resources) Shadowed() map[string][]string {
	direct := map[*Resource][]*Resource{}
	rs.neighbours(func(a, b *Resource) {
		if !a.Adopted || !b.Adopted || !a.overlaps(b) {
			return
		}
		if a.before(b) {
			a, b = b, a
		}
		direct[a] = append(direct[a], b)
	})
	all := map[string][]string{}
	for r := range direct {
		todo := slices.Clone(direct[r]) // and those that answer URIs of these
		for seen := map[*Resource]bool{}; len(todo) > 0; {
			other := todo[0]
			if todo = todo[1:]; !seen[other] {
				seen[other] = true
				todo = append(todo, direct[other]...)
				all[r.URI] = append(all[r.URI], other.URI)
			}
		}
		slices.Sort(all[r.URI])
	}
	return all
}

// begin returns the literal text before the first variable.
func (r *Resource) begin() string {
	if r.Exact {
		return r.URI
	}
	begin, _, _ := strings.Cut(r.URI, "{")
	return begin
}

// before reports whether a URI that both match means r.
func (r *Resource) before(other *Resource) bool {
	return r.Exact || !other.Exact && cmp.Compare(r.rank(), other.rank()) < 0
}

// rank orders templates: those of toolsets, and then those of adopted servers.
func (r *Resource) rank() string { return fmt.Sprint(r.Adopted, r.URI) } // false before true

// overlaps reports whether one URI may mean both resources. Of a template of an adopted server it
// compares the literal text at both ends alone, so that it may report two without a common URI.
func (r *Resource) overlaps(other *Resource) bool {
	end := func(uri string) string { return uri[strings.LastIndexByte(uri, '}')+1:] }
	switch a, b := r, other; {
	case a.Exact && b.Exact:
		return false
	case a.Exact:
		return b.match(a.URI)
	case b.Exact:
		return a.match(b.URI)
	case !a.Adopted && !b.Adopted:
		return uritemplate.Overlap(a.template, b.template)
	default:
		return strings.HasPrefix(b.begin(), a.begin()) && (strings.HasSuffix(end(a.URI), end(b.URI)) ||
			strings.HasSuffix(end(b.URI), end(a.URI)))
	}
}

// Add adds a resource.
func (rs *Resources) Add(r *Resource) {
	if rs.named == nil {
		rs.named = map[string]*Resource{}
	}
	rs.named[r.URI] = r
	if r.Exact {
		return
	}
	at, _ := slices.BinarySearchFunc(rs.templates, r, func(a, b *Resource) int {
		return cmp.Compare(a.rank(), b.rank())
	})
	rs.templates = slices.Insert(rs.templates, at, r)
}

// Find returns the resource that a URI means for a caller; nil for an unknown URI. exists reports
// whether the resource with a URI or template exists for the caller: another one that matches the
// URI answers in its place. If no resource that matches exists, Find returns the first. It tries
// every template for every URI, so that a hidden resource takes as long as an unknown one.
func (rs *Resources) Find(uri string, exists func(name string) bool) *Resource {
	var first, found *Resource
	try := func(r *Resource, name string) {
		is, matches := exists(name), r != nil && (r.Exact || r.match(uri))
		if matches && first == nil {
			first = r
		}
		if matches && is && found == nil {
			found = r
		}
	}
	exact := rs.named[uri]
	if exact != nil && !exact.Exact {
		exact = nil
	}
	try(exact, uri)
	for _, r := range rs.templates {
		try(r, r.URI)
	}
	return cmp.Or(found, first)
}

// Values returns the variables of a URI that a template matches; nil for an exact resource. An
// adopted template has the whole URI as its variable.
func (r *Resource) Values(uri string) map[string]string {
	switch {
	case r.Exact:
		return nil
	case r.Adopted:
		return map[string]string{"uri": uri}
	}
	values, _ := r.template.Match(uri)
	return values
}

// SomeElicit reports whether a resource may ask its client. rs may be nil.
func (rs *Resources) SomeElicit() bool {
	if rs == nil {
		return false
	}
	for _, r := range rs.named {
		if r.Elicits {
			return true
		}
	}
	return false
}

// Named returns the resource with a URI or template, nil for none.
func (rs *Resources) Named(uri string) *Resource { return rs.named[uri] }

// Resource runs the handler of a resource of a toolset.
func (r *Runner) Resource(ctx context.Context, info *request.Info, res *Resource,
	params *mcp.ReadResourceParams) (*mcp.ReadResourceResult, Report, error) {
	j := &job{Runner: r, info: info, mayAsk: res.Elicits,
		label: "resource", kind: access.Resources, name: res.URI, timeout: res.Timeout,
		nonBlocking: res.NonBlocking}
	uri := params.URI
	unknown := wire.UnknownResource(uri)
	return serve(ctx, j, params, unknown, func(ctx context.Context) (*mcp.ReadResourceResult, error) {
		raw, err := res.arguments(uri)
		if err != nil {
			return nil, err
		}
		made, err := res.Read(ctx, toolset.NewCall(raw, nil))
		if errors.As(err, new(*decode.Error)) {
			err = unknown // a number out of range, or a value that is not in the enum
		}
		if err != nil {
			return nil, err
		}
		result, err := res.result(uri, made)
		return result, j.crash(ctx, notSendable, err)
	})
}

// arguments returns the variables of a URI as a JSON object.
func (r *Resource) arguments(uri string) (json.RawMessage, error) {
	arguments := map[string]any{}
	values := r.Values(uri)
	for _, v := range r.Variables {
		arguments[v.Name] = json.RawMessage(values[v.Name]) // by match
		if v.Type == toolset.TextVariable {
			arguments[v.Name] = values[v.Name]
		}
	}
	return wire.Marshal(arguments)
}

// result makes a copy on the worker: go-sdk writes into it, and _meta marshals itself.
func (r *Resource) result(uri string,
	made toolset.ResourceResult) (*mcp.ReadResourceResult, error) {
	if !made.Native {
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{
			{URI: uri, MIMEType: r.MIMEType, Text: made.Text, Blob: made.Blob}}}, nil
	}
	own, _ := made.Result.(*mcp.ReadResourceResult)
	if own == nil {
		return nil, wire.ErrNilResult
	}
	res := *own
	if res.InputRequests != nil {
		return nil, errNativeInput
	}
	res.Contents = make([]*mcp.ResourceContents, len(own.Contents))
	for i, c := range own.Contents {
		if c == nil {
			return nil, errors.New("a nil content: remove it")
		}
		content := *c
		content.URI = cmp.Or(content.URI, uri)
		content.MIMEType = cmp.Or(content.MIMEType, r.MIMEType)
		res.Contents[i] = &content
	}
	_, err := wire.EncodeResult(&res)
	return &res, err
}
