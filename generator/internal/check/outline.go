package check

import "github.com/mcpgen/mcpgen/generator/internal/model"

// Outline is the part of a service that decides whether Servers has a finding about it and another
// service, and whether a warning about it holds. It lacks handlers, and positions except those of
// the rules of fields: only messages contain them.
type Outline struct {
	Package   string
	Server    string            `json:",omitempty"` // empty without name=: a server of its own
	Roles     [][]string        `json:",omitempty"` // chains
	Scopes    [][]string        `json:",omitempty"` // lines
	Tools     []string          `json:",omitempty"` // names
	Prompts   []string          `json:",omitempty"` // names
	Resources []OutlineResource `json:",omitempty"`
	Fields    []model.Field     `json:",omitempty"`
	Foreign   map[string]bool   `json:",omitempty"` // fields of other modules; true with a rule
}

// OutlineResource is one resource of an Outline.
type OutlineResource struct {
	URI       string
	Variables map[string]string `json:",omitempty"` // types by name
	Access    model.Access
	Denial    string `json:",omitempty"`
}

// OutlineOf returns the outline of a service.
func OutlineOf(s model.Service) Outline {
	o := Outline{Package: s.Package, Fields: s.Fields}
	if !s.Server.Named {
		return o
	}
	o.Server = s.Server.Name
	if s.Roles.Own {
		o.Roles = s.Roles.Chains
	}
	o.Scopes, o.Foreign = s.Scopes.Lines, s.Foreign
	for _, t := range s.Tools {
		o.Tools = append(o.Tools, t.Name)
	}
	for _, p := range s.Prompts {
		o.Prompts = append(o.Prompts, p.Name)
	}
	for _, r := range s.Resources {
		out := OutlineResource{URI: r.URI, Access: r.Access, Denial: r.Denial}
		out.Variables = map[string]string{}
		for _, v := range r.Variables {
			out.Variables[v.Name] = v.Type
		}
		o.Resources = append(o.Resources, out)
	}
	return o
}

// Service returns a service of which Servers finds what it finds of the original.
func (o Outline) Service() model.Service {
	s := model.Service{Package: o.Package, Fields: o.Fields, Foreign: o.Foreign}
	s.Server = model.Server{Name: o.Server, Named: o.Server != ""}
	s.Roles = model.Roles{Chains: o.Roles, Own: len(o.Roles) > 0}
	s.Scopes.Lines = o.Scopes
	for _, name := range o.Tools {
		s.Tools = append(s.Tools, model.Tool{Name: name})
	}
	for _, name := range o.Prompts {
		s.Prompts = append(s.Prompts, model.Prompt{Tool: model.Tool{Name: name}})
	}
	for _, r := range o.Resources {
		out := model.Resource{URI: r.URI, Tool: model.Tool{Access: r.Access, Denial: r.Denial}}
		for name, kind := range r.Variables {
			out.Variables = append(out.Variables, model.Argument{Name: name, Type: kind})
		}
		s.Resources = append(s.Resources, out)
	}
	return s
}
