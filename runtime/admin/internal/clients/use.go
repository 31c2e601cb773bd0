package clients

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcpgen/mcpgen/internal/boundaryitem"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/boundary"
	"github.com/mcpgen/mcpgen/runtime/store"
)

// MaxDays is the longest part of the audit trail that [Clients.Use] reads, in days.
const MaxDays = 366

// Pages of the trail that one call of [Clients.Use] reads. With these, it reads at most 20,000
// events.
const (
	usePages = 20
	usePage  = 1000
)

// Use is what a client has used of a server, by the audit trail.
type Use struct {
	// Since is the start of the part of the trail that was read.
	Since time.Time
	// Complete reports that all events of the requested time were read. Otherwise the client has
	// more of them, before Since.
	Complete bool
	// Tools is the number of used tools, and Of the number of all tools of the server.
	Tools, Of int
	// Used are the items that the client has used, and Refused those that its boundary has refused:
	// tools, prompts and resources, each in the order of their names.
	Used, Refused []Count
	// Boundary allows the used items, and no more. It has the lowest roles that their rules need.
	// For a tool with rules for values, which the trail does not have, it has the roles of its
	// callers.
	Boundary boundary.Boundary
}

// Count is an item, in the form of boundary.Boundary.Items, with the number of requests for it.
type Count struct {
	Item  string
	Count int
	Last  time.Time
}

// subject is a tool, prompt or resource with a rule.
type subject struct {
	kind access.Kind
	name string
}

// subjectOf returns the subject of an event about one item.
func subjectOf(e audit.Event) (s subject, ok bool) {
	switch e.Type {
	case audit.ToolCalled, audit.PromptGet, audit.ResourceRead, audit.Subscription,
		audit.Completion:
	default:
		return s, false
	}
	switch {
	case e.Tool != "":
		return subject{access.Tools, e.Tool}, true
	case e.Prompt != "":
		return subject{access.Prompts, e.Prompt}, true
	}
	return subject{access.Resources, e.Resource}, e.Resource != ""
}

// item returns the subject as an item of a boundary.
func (s subject) item() string {
	kind := map[access.Kind]boundaryitem.Kind{
		access.Tools: boundaryitem.Tool, access.Prompts: boundaryitem.Prompt,
		access.Resources: boundaryitem.Resource,
	}[s.kind]
	if kind == boundaryitem.Resource && strings.HasPrefix(s.name, "skill://") {
		kind = boundaryitem.Skill
	}
	return boundaryitem.Item{Kind: kind, Name: s.name}.String()
}

// Use reads what a client has used, and was refused by its boundary, since a time. It reads the
// newest events of the client, at most 20,000. An item counts as used if a request for it was
// allowed, whatever its outcome, and the server still has the item.
func (c *Clients) Use(ctx context.Context, issuer, client string, since time.Time) (Use, error) {
	table := c.server.Table()
	use := Use{Of: len(table.Rules), Since: since}
	used, refused := map[subject]*Count{}, map[subject]*Count{}
	roles := map[string]bool{}
	var at store.EventPlace
	for range usePages {
		found, next, err := c.store.SearchEvents(ctx,
			store.EventFilter{Client: client, From: since},
			store.EventPage{After: at, Limit: usePage})
		if err != nil {
			return Use{}, err
		}
		for _, e := range found {
			s, ok := subjectOf(e.Event)
			if !ok || e.Issuer != issuer || e.Client != client {
				continue
			}
			part := table.Of(s.kind)
			rule, ok := part.Tool(s.name)
			switch {
			case !ok:
			case e.Failure != audit.Denied:
				count(used, s, e.Time)
				need(roles, part, rule, e.Roles)
			case e.Axis == string(access.AxisBoundary):
				count(refused, s, e.Time)
			}
		}
		if at = next; next == (store.EventPlace{}) {
			use.Complete = true
			break
		}
		use.Since = next.Time
	}
	if use.Complete {
		use.Since = since
	}
	use.Used, use.Refused = sorted(used), sorted(refused)
	for s := range used {
		if s.kind == access.Tools {
			use.Tools++
		}
	}
	for _, one := range use.Used {
		use.Boundary.Items = append(use.Boundary.Items, one.Item)
	}
	use.Boundary.Roles = highest(table, roles)
	return use, nil
}

// count adds a request for an item. The newest event comes first.
func count(all map[subject]*Count, s subject, at time.Time) {
	one := all[s]
	if one == nil {
		one = &Count{Item: s.item(), Last: at}
		all[s] = one
	}
	one.Count++
}

// sorted returns counts by kind and name.
func sorted(all map[subject]*Count) (list []Count) {
	subjects := make([]subject, 0, len(all))
	for s := range all {
		subjects = append(subjects, s)
	}
	slices.SortFunc(subjects, func(a, b subject) int {
		return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.name, b.name))
	})
	for _, s := range subjects {
		list = append(list, *all[s])
	}
	return list
}

// need adds the roles by which a caller with roles fulfils a rule.
func need(roles map[string]bool, table access.Table, rule access.Rule, held []string) {
	caller := access.Principal{Subject: "somebody", Roles: held}
	byValue := slices.ContainsFunc(table.Values, func(v access.Rule) bool {
		return v.Tool == rule.Tool
	})
	for _, role := range table.Hierarchy() {
		if byValue && slices.Contains(held, role) ||
			slices.Contains(rule.MinRole, role) && table.Holds(caller, role) {
			roles[role] = true
		}
	}
}

// highest returns the roles that no other one of them includes, in the order of the hierarchy.
func highest(table access.Table, roles map[string]bool) (list []string) {
	for _, role := range table.Hierarchy() {
		included := false
		for other := range roles {
			included = included || other != role &&
				table.Holds(access.Principal{Subject: "somebody", Roles: []string{other}}, role)
		}
		if roles[role] && !included {
			list = append(list, role)
		}
	}
	return list
}

// Entry returns an entry of a file of boundary/static, as YAML.
func Entry(party boundary.Party, b boundary.Boundary) string {
	var out strings.Builder
	key := func(before, name, value string) { out.WriteString(before + name + ": " + value + "\n") }
	list := func(name string, values []string) {
		if boundaryitem.IsAll(values) {
			key("    ", name, strconv.Quote(boundaryitem.All))
			return
		}
		if len(values) == 0 {
			key("    ", name, "[]")
			return
		}
		out.WriteString("    " + name + ":\n")
		for _, v := range values {
			out.WriteString("      - " + strconv.QuoteToASCII(v) + "\n")
		}
	}
	out.WriteString("boundaries:\n")
	key("  - ", "issuer", strconv.QuoteToASCII(party.Issuer))
	for _, field := range []struct{ name, value string }{
		{"client", party.Client}, {"subject", party.Subject}, {"actor", party.Actor},
	} {
		if field.value != "" {
			key("    ", field.name, strconv.QuoteToASCII(field.value))
		}
	}
	list("roles", b.Roles)
	list("items", b.Items)
	if b.ReadOnly {
		key("    ", "readonly", "true")
	}
	if !b.Until.IsZero() {
		key("    ", "until", b.Until.UTC().Format(time.RFC3339))
	}
	if b.Blocked {
		key("    ", "blocked", "true")
	}
	return out.String()
}
