// Package prove compares the capabilities that handlers reach with those that their directives
// declare, and keeps the result in a record beside the source. The analysis is in package reach of
// cmd/mcpgen-prove, a module of its own.
package prove

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/generator/internal/diag"
	"github.com/mcpgen/mcpgen/generator/internal/model"
)

// Judge reports handlers that reach more than capabilities= declares, handlers that reach the
// network without egress in facts=, and handlers of tools with readonly that write files or start
// programs. dirs are the directories of the author's packages: a finding is at the last call on the
// way that is in them.
func Judge(tools []model.Tool, proven []model.Proven, dirs []string) diag.List {
	var found diag.List
	for i, tool := range tools {
		row, declared := proven[i], tool.Limits.Capabilities
		for _, r := range row.Reaches {
			if declared == nil || r.Capability == model.Writes ||
				slices.Contains(declared, r.Capability) {
				continue
			}
			declaration := "capabilities= lists " + strings.Join(declared, ", ")
			at, code := place(tool, r, dirs), diag.MoreThanDeclared
			fix := "add " + r.Capability + " to capabilities=, or remove " + last(r)
			if slices.Equal(declared, []string{"none"}) {
				declaration = "capabilities= is none"
				fix = "write capabilities=" + r.Capability + ", or remove " + last(r)
			}
			what := reaching[r.Capability]
			if r.Capability == model.Unknown {
				code = diag.Unprovable
				what = "reaches " + r.Why + ", which cannot be analysed"
				fix = "remove it, or remove capabilities=: mcpgen then records the capabilities and " +
					"reports none"
			}
			found.Add(code, at, fix, "%s %s, and %s: %s", tool.Handler, what, declaration, way(r))
		}
		stays := tool.Hints.OpenWorld != nil && !*tool.Hints.OpenWorld
		if r, reaches := row.Reach(model.Network); reaches && !tool.HasFact(model.Egress) && !stays {
			found.Add(diag.MoreThanDeclared, place(tool, r, dirs),
				"add egress to facts=, or openworld=false if it connects to systems of the service alone, "+
					"or remove "+last(r),
				"%s reaches the network, and facts= has no egress: %s", tool.Handler, way(r))
		}
		if readOnly := tool.Hints.ReadOnly; readOnly == nil || !*readOnly {
			continue
		}
		for _, c := range []string{model.Exec, model.Writes} {
			if r, reaches := row.Reach(c); reaches {
				found.Add(diag.WritesReadOnly, place(tool, r, dirs),
					"remove readonly, or remove "+last(r),
					"%s %s, and is readonly: %s", tool.Handler, reaching[c], way(r))
			}
		}
	}
	found.Sort()
	return found
}

var reaching = map[string]string{
	model.Files: "reaches files", model.Network: "reaches the network",
	model.Exec: "starts programs", model.Writes: "may write files",
}

// place is the last call of the way that the author has written, or else the handler.
func place(tool model.Tool, r model.Reach, dirs []string) model.Position {
	for _, step := range slices.Backward(r.Path) {
		if slices.Contains(dirs, filepath.Dir(step.At.File)) {
			return step.At
		}
	}
	return tool.Handler.Pos
}

// Unknown explains why it is unknown what a handler reaches: the last call that the author has
// written, and the cause with the way to it. ok is false for a handler whose reach is known.
func Unknown(tool model.Tool, row model.Proven, dirs []string) (
	at model.Position, why string, ok bool) {
	r, ok := row.Reach(model.Unknown)
	return place(tool, r, dirs), r.Why + ": " + way(r), ok
}

var directories = regexp.MustCompile(`[^()*\[\], ]+/`)

// short is a func's name as its author would write it.
func short(name string) string { return directories.ReplaceAllString(name, "") }

func last(r model.Reach) string {
	if len(r.Path) == 0 {
		return "it"
	}
	return short(r.Path[len(r.Path)-1].Func)
}

func way(r model.Reach) string {
	var names []string
	for _, step := range r.Path {
		names = append(names, short(step.Func))
	}
	return strings.Join(names, " → ")
}
