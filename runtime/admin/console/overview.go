package console

import (
	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/store"
)

// summary is the first page.
type summary struct {
	Places []place // that the caller manages, who is no admin

	Roles                     []string
	Tools, Prompts, Resources int
	Off                       []string
	Catalogs, Orgs            count
	Declared                  int
	Waiting                   *count // requests; nil where there are no grants
	Caller                    access.Principal
}

// count is a number that is not counted beyond a page.
type count struct {
	N    int
	More bool
}

// home leads to the first page.
func (v *visit) home() error {
	v.seeOther(runtime.PathConsole)
	return nil
}

func (v *visit) overview() error {
	s := summary{Caller: v.caller}
	known := names{}
	for _, in := range v.managed {
		p, err := known.of(v, in)
		if err != nil {
			return err
		}
		s.Places = append(s.Places, p)
	}
	if v.admin {
		if err := v.summarize(&s); err != nil {
			return err
		}
	}
	return v.show("overview", page{Title: "Overview", Here: "overview", Data: s})
}

func (v *visit) summarize(s *summary) (err error) {
	table := v.server.Table()
	s.Roles = table.Hierarchy()
	s.Tools, s.Prompts, s.Resources = len(table.Rules), len(table.Prompts), len(table.Resources)
	s.Declared = len(v.server.DeclaredCatalogs())
	if s.Off, err = v.store.ToolsOff(v.ctx); err != nil {
		return err
	}
	if s.Waiting, err = v.openPermissionRequests(); err != nil {
		return err
	}
	catalogs, more, err := v.store.Catalogs(v.ctx, store.Anywhere, store.Page[int64]{Limit: pageSize})
	if err != nil {
		return err
	}
	s.Catalogs = count{len(catalogs), more}
	orgs, more, err := v.store.Orgs(v.ctx, store.Page[int64]{Limit: pageSize})
	s.Orgs = count{len(orgs), more}
	return err
}
