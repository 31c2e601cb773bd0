package document

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"slices"
	"strings"

	"github.com/invopop/jsonschema"

	"github.com/mcpgen/mcpgen/generator/internal/model"
	"github.com/mcpgen/mcpgen/internal/roleorder"
	"github.com/mcpgen/mcpgen/internal/scopeorder"
)

var (
	//go:embed page.html
	pageHTML     string
	pageTemplate = template.Must(template.New("page").Parse(pageHTML))
	//go:embed page.css
	style string
	//go:embed page.js
	script string
)

// page is what page.html prints. html/template escapes every text in it.
type page struct {
	Title    string
	Policy   string // of the page itself: its style and script alone
	Style    template.CSS
	Script   template.JS
	Callers  []string // of all services
	Services []pageService
}

type pageService struct {
	Title, Package, Roles string
	Scopes                string
	Callers               []string
	Tables                []pageTable
	Catalogs              []model.Catalog
	Radius                []radiusRow
	Sections              []pageSection
}

// pageTable is the matrix of one kind: tools, prompts or resources.
type pageTable struct {
	Kind         string
	Also, Proven bool // it has these columns
	Rows         []pageRow
}

type pageRow struct {
	Section string // its ID
	Callers string // who may use it, as JSON
	Name    string
	May     []bool
	Also    []span
	Proven  string
}

// pageSection describes a tool, prompt, resource or field.
type pageSection struct {
	ID, Callers, Kind, Name, Title, Description string

	Facts     [][]span
	Arguments []pageArgument
	Notes     [][]span
}

type pageArgument struct {
	Name        string
	Type        []span
	Required    bool
	Description string
	Default     []span
}

// span is a part of a text.
type span struct {
	Text string
	Code bool
}

// Page returns the documentation of services as one HTML page without other resources.
func Page(services []model.Service) ([]byte, error) {
	p := page{
		Style: template.CSS(style), Script: template.JS(script),
		Policy: fmt.Sprintf("default-src 'none'; style-src '%s'; script-src '%s'; "+
			"base-uri 'none'; form-action 'none'", sourceHash(style), sourceHash(script)),
	}
	lowest := map[string]bool{} // roles that are the lowest one or above it, wherever they are known
	for _, s := range services {
		m := matrixOf(s)
		for column, caller := range m.callers {
			above := m.caller(column).held&m.order.Bit(m.order.Lowest()) != 0
			if slices.Contains(p.Callers, caller) {
				lowest[caller] = lowest[caller] && above
				continue
			}
			p.Callers, lowest[caller] = append(p.Callers, caller), above
		}
	}
	var titles []string
	for i, s := range services {
		service := pageServiceOf(s, fmt.Sprintf("%d-", i+1), p.Callers, lowest)
		p.Services = append(p.Services, service)
		if !slices.Contains(titles, service.Title) {
			titles = append(titles, service.Title)
		}
	}
	p.Title = "Tools of " + strings.Join(titles, ", ")
	var b bytes.Buffer
	err := pageTemplate.Execute(&b, p)
	return b.Bytes(), err
}

// sourceHash is the hash by which a policy allows an inline style or script (CSP Level 3, 6.7.3).
func sourceHash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

// pageServiceOf describes a service for the callers of the page, some of whom have the lowest role
// of any service or a role above it.
func pageServiceOf(s model.Service, prefix string, all []string,
	lowest map[string]bool) pageService {
	m := matrixOf(s)
	p := pageService{
		Title:   cmp.Or(s.Server.Title, s.Server.Name),
		Package: s.Package, Callers: m.callers, Catalogs: s.Catalogs(), Radius: radiusOf(s),
	}
	if s.Roles.Own {
		p.Roles = roleorder.Text(s.Roles.Chains)
	}
	if len(s.Scopes.Lines) > 0 {
		p.Scopes = scopeorder.Text(s.Scopes.Lines)
	}
	id := func(kind, name string) string { return prefix + kind + "-" + name }
	callers := map[string]string{} // by the ID of a section
	proven := map[string]string{}
	for _, row := range m.rows {
		names := []string{}
		for _, caller := range all {
			if row.may[m.column(caller, !s.Roles.Own && lowest[caller])] {
				names = append(names, caller)
			}
		}
		who, _ := json.Marshal(names) // strings have no error
		if n := len(p.Tables); n == 0 || p.Tables[n-1].Kind != row.kind {
			p.Tables = append(p.Tables, pageTable{Kind: row.kind})
		}
		t := &p.Tables[len(p.Tables)-1]
		r := pageRow{
			Section: id(row.kind, row.id), Callers: string(who), Name: row.name, May: row.may,
			Also: spans(strings.Join(row.needs(), ", ")), Proven: row.proven,
		}
		t.Also, t.Proven = t.Also || len(r.Also) > 0, t.Proven || r.Proven != ""
		t.Rows = append(t.Rows, r)
		if _, value := callers[r.Section]; !value {
			callers[r.Section], proven[r.Section] = r.Callers, r.Proven
		}
	}
	for _, e := range entriesOf(s) {
		one := pageSection{
			ID: id(e.Kind, e.ID), Kind: e.Kind, Name: e.name, Title: e.Title,
			Description: strings.TrimSpace(e.Description),
		}
		one.Callers = callers[one.ID]
		reaches := proven[one.ID]
		e.facts.add(reaches != "", "Proven capabilities: "+reaches+".")
		for _, fact := range e.facts {
			one.Facts = append(one.Facts, spans(fact))
		}
		if e.table {
			each(e.Input.Schema, func(name string, required bool, of *jsonschema.Schema) {
				a := pageArgument{
					Name: name, Type: spans(typeWords(of)), Required: required,
					Description: guardedWords(of.Description, of, e.fields),
				}
				if of.Default != nil {
					a.Default = spans(value(of.Default))
				}
				one.Arguments = append(one.Arguments, a)
			})
		}
		for _, note := range append([]string{e.file}, e.notes...) {
			if note != "" {
				one.Notes = append(one.Notes, spans(note))
			}
		}
		p.Sections = append(p.Sections, one)
	}
	return p
}

// spans reads a text of ours with code in backquotes, as code writes it.
func spans(text string) (list []span) {
	add := func(text string, code bool) {
		if text != "" {
			list = append(list, span{text, code})
		}
	}
	for {
		start := strings.IndexByte(text, '`')
		if start < 0 {
			add(text, false)
			return list
		}
		rest := strings.TrimLeft(text[start:], "`")
		fence := text[start : len(text)-len(rest)]
		end := 0
		for end < len(rest) {
			run := rest[end:]
			ticks := len(run) - len(strings.TrimLeft(run, "`"))
			if ticks == len(fence) {
				break
			}
			end += max(ticks, 1)
		}
		if end == len(rest) { // a fence without an end is text
			add(text, false)
			return list
		}
		add(text[:start], false)
		within := rest[:end]
		if len(fence) > 1 {
			within = strings.TrimSuffix(strings.TrimPrefix(within, " "), " ")
		}
		add(within, true)
		text = rest[end+len(fence):]
	}
}
