package runtime

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/grant"
)

// maxGrantSets bounds the clients whose grants are kept compiled.
const maxGrantSets = 4096

// grants are what clients may use of resources: what everybody may, and what the source says. What a source says is asked
// for with each call, so that what is revoked is gone with the next one; what is kept is no more than its compiled form.
type grants struct {
	source   grant.Source // nil for none
	defaults []grant.Grant
	nobody   *grant.Set // of the defaults alone

	mu   sync.RWMutex
	sets map[Client]compiledGrants
}

// compiledGrants are the grants of one client as of a revision.
type compiledGrants struct {
	revision uint64
	set      *grant.Set
}

// newGrants returns nil where tools need none.
func newGrants(o Options) (*grants, error) {
	if o.Grants == nil && len(o.GrantDefaults) == 0 {
		return nil, nil
	}
	g := &grants{source: o.Grants, defaults: grant.Default(o.GrantDefaults...), sets: map[Client]compiledGrants{}}
	var err error
	if g.nobody, err = grant.NewSet(g.defaults...); err != nil {
		return nil, fmt.Errorf("Options.GrantDefaults: %w", err)
	}
	roots := o.Roots.Names()
	for _, p := range o.GrantDefaults {
		if name := grant.Missing(p, roots); name != "" {
			return nil, fmt.Errorf("Options.GrantDefaults: %s: there is no root %q; the roots are %s", p, name, strings.Join(roots, ", "))
		}
	}
	return g, nil
}

// warnOfUntaken tells the log of defaults of a kind that no tool takes, which is a slip most of the time. Those of the
// runtime's own kinds are none: they are what everybody would have if there was such a tool.
func (s *Server) warnOfUntaken() {
	var taken []string
	for _, t := range s.tools {
		for _, a := range t.Allow {
			taken = append(taken, a.Kind)
		}
	}
	slices.Sort(taken)
	for _, p := range s.opts.GrantDefaults {
		if grant.FamilyOf(p.Type) != grant.Custom || slices.Contains(taken, p.Type) {
			continue
		}
		text := "Options.GrantDefaults: no tool takes " + p.Type
		if near := nearest(p.Type, taken, 2); near != "" {
			text += "; did you mean " + near + "?"
		}
		s.log.Warn(text)
	}
}

// of returns what a caller may use. ctx bounds how long the source may take.
func (g *grants) of(ctx context.Context, p *access.Principal) (*grant.Set, error) {
	c := clientOf(p)
	if g.source == nil || c == (Client{}) {
		return g.nobody, nil
	}
	held, revision, err := g.source.Grants(ctx, c.Issuer, c.ID)
	if err != nil {
		return nil, err
	}
	g.mu.RLock()
	kept, ok := g.sets[c]
	g.mu.RUnlock()
	if ok && kept.revision == revision {
		return kept.set, nil
	}
	all := make([]grant.Grant, 0, len(g.defaults)+len(held))
	set, err := grant.NewSet(append(append(all, g.defaults...), held...)...)
	if err != nil {
		return nil, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if !ok && len(g.sets) >= maxGrantSets {
		for other := range g.sets {
			delete(g.sets, other)
			break
		}
	}
	g.sets[c] = compiledGrants{revision, set}
	return set, nil
}

// clientOf is whose grants, limits and workspace a caller has.
func clientOf(p *access.Principal) Client {
	if p.Anonymous() {
		return Client{}
	}
	return Client{Issuer: p.Issuer, ID: p.ClientID()}
}

// Grants is Options.Grants: nil where there is none.
func (s *Server) Grants() grant.Source { return s.opts.Grants }

// Allows are the permissions that calls of a tool need on what their arguments name, none where there is no such tool.
func (s *Server) Allows(tool string) []Allow {
	if t := s.tools[tool]; t != nil {
		return slices.Clone(t.Allow)
	}
	return nil
}

// Roots are the names of the folders that Options.Roots opens, in order: what the resources of file permissions begin with.
func (s *Server) Roots() []string { return s.opts.Roots.Names() }

// GrantDefaults are the grants that everybody has, by Options.GrantDefaults.
func (s *Server) GrantDefaults() []grant.Grant {
	if s.grants == nil {
		return nil
	}
	return s.grants.nobody.Grants()
}
