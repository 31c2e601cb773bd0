package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcpgen/mcpgen/generator/internal/commandline"
	"github.com/mcpgen/mcpgen/generator/internal/policydiff"
	"github.com/mcpgen/mcpgen/generator/internal/report"
	"github.com/mcpgen/mcpgen/generator/internal/toollist"
)

// policy are the flags of diff for manifests.
type policy struct {
	base, head, allow         string
	failOn, boundaries, roles []string
	format                    report.Format
}

// markdown is a format that diff has beside those of all reports.
const markdown report.Format = "markdown"

func newDiff() *cobra.Command {
	var lists bool
	var remote remote
	p := policy{format: report.Text}
	command := &cobra.Command{
		Use:   "diff [--base REF|FILE.json] [--head REF|FILE.json] [packages] | diff --lists OLD NEW",
		Short: "Show how authority changes between commits, or compare the tools of two servers",
		Long: `diff compares the mcp.manifest.json files of two git commits, of two files, or of a commit
and the working tree. It prints a line for each change, which begins with its kind:

  - widened: callers may do more, also under a new name beside one that is gone; or may see a field
    that a rule hid, or omit of //mcp:param
  - added: a tool, prompt or resource is new, or a value of an argument with rules
  - narrowed: callers may do less, or see fewer fields
  - removed: a tool, prompt, resource or value no longer exists
  - changed: all else, for example a description, limit, schema or alias, and each added or removed
    rule of a field
  - together: an agent reaches private data, texts of outsiders and egress, and did not reach all
    three before. Only --fail-on=radius prints these lines

diff evaluates the rules of both sides for each role, so it reports what callers gain and lose, and
not how a rule is written. Some tools need several roles for their arguments: "Auditor + Manager"
is a caller with both. The roles of both hierarchies count: callers with a role that only one
hierarchy has gain or lose what that role may use. A role that is above another one now is widened.
A line ends with "breaks callers" or "breaks readers" if the change may break clients that call, or
clients that read results.

Packages are folders, as in ./tools or ./..., which is the default. As with the go command, ./...
leaves out folders such as testdata, nested modules and git worktrees. diff reads a package in
testdata nevertheless if a main package imports it, since the program serves its tools. It reads
the manifests as they are on disk: run mcpgen first.

--boundaries FILE compares a file of boundaries too, between the same commits: what each client and
actor may use, with the tools, catalogs and roles of each side. A widened boundary is widened. If
--base and --head are manifests, write both files: --boundaries OLD,NEW.

--fail-on=widen fails if a change is widened. add also fails on added things, and break on changes
that break clients. radius fails if all three facts of mcpgen radius come together for a role, a
boundary of --boundaries or a set of --roles for which they did not. --allow names a file with the
changes that you accept. Each line has a change as diff prints it, then # and the reason.

diff --lists compares two results of tools/list, as clients see them: added and removed tools,
titles, descriptions and hints. For each property of a schema it compares the type, required, the
description and the limits. The last line has the numbers of tools and of bytes. OLD and NEW are
files, - for the standard input, or URLs. After --, NEW is a program that is a stdio server. It
ignores the order of tools and properties.

Exit codes: 0 no change that --fail-on names, and with --lists no difference; 1 such changes, and
with --lists differences; 2 usage error or failure.`,
		Example: `  mcpgen diff                                    the working tree against HEAD
  mcpgen diff --base origin/main --fail-on=widen,add --allow authority.allow ./...
  mcpgen diff --base origin/main --fail-on=radius --boundaries boundaries.yaml ./...
  mcpgen diff --base v1.2.0 --head v1.3.0 --format=markdown
  mcpgen diff --base old.manifest.json --head mcp.manifest.json
  mcpgen diff --base origin/main --boundaries boundaries.yaml --fail-on=widen
  mcpgen diff --lists before.json after.json
  mcpgen diff --lists tools.json -- go run .
  mcpgen diff --lists tools.json http://localhost:8080/mcp`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if !lists {
				return p.run(cmd, args)
			}
			for _, flag := range []string{"base", "head", "allow", "fail-on", "boundaries", "roles"} {
				if cmd.Flags().Changed(flag) {
					return fmt.Errorf("--%s is for manifests: remove it, or --lists", flag)
				}
			}
			return diffLists(cmd, &remote, p.format, args)
		},
	}
	flags := command.Flags()
	flags.BoolVar(&lists, "lists", false, "compare two results of tools/list")
	flags.StringVar(&p.base, "base", "HEAD", "compare from this git ref or manifest file")
	flags.StringVar(&p.head, "head", "",
		"compare to this git ref or manifest file (default: the working tree)")
	flags.StringSliceVar(&p.failOn, "fail-on", nil, "fail on these changes: widen, add, break, radius")
	flags.StringVar(&p.allow, "allow", "", "file with changes that are accepted, each with a reason")
	flags.StringSliceVar(&p.boundaries, "boundaries", nil,
		"compare this file of boundaries too, or two files")
	rolesFlag(command, &p.roles)
	formats := slices.Insert(slices.Clone(report.All), 1, markdown)
	flags.Var(report.Flag{Format: &p.format, Of: formats}, "format",
		"write the changes as text, markdown, json, github or sarif")
	remote.flags(command)
	return command
}

// notEmpty returns an error about a flag with an empty value: a variable of CI without a value must
// not mean the default, as the working tree is.
func notEmpty(cmd *cobra.Command, flags ...string) error {
	for _, name := range flags {
		if f := cmd.Flags().Lookup(name); f.Changed && f.Value.String() == "" {
			return fmt.Errorf("--%s is empty: write a value, or remove it", name)
		}
	}
	return nil
}

func (p policy) run(cmd *cobra.Command, dirs []string) error {
	for _, word := range p.failOn {
		if !slices.Contains([]string{"widen", "add", "break", "radius"}, word) {
			return fmt.Errorf("unknown change --fail-on=%s: write widen, add, break or radius", word)
		}
	}
	if err := notEmpty(cmd, "base", "head", "allow"); err != nil {
		return err
	}
	radius := slices.Contains(p.failOn, "radius")
	if len(p.roles) > 0 && !radius {
		return errors.New("--roles is for --fail-on=radius: write that too, or remove it")
	}
	for _, dir := range dirs {
		if info, err := os.Stat(dir); isURL(dir) || err == nil && !info.IsDir() {
			return fmt.Errorf("%s is no package: write --base and --head for manifests, or "+
				"mcpgen diff --lists OLD NEW for lists of tools", dir)
		}
	}
	allowed, err := p.allowed()
	if err != nil {
		return err
	}
	before, err := policydiff.Load(cmd.Context(), policydiff.Source{From: p.base, Dirs: dirs})
	if err != nil {
		return err
	}
	after, err := policydiff.Load(cmd.Context(), policydiff.Source{From: p.head, Dirs: dirs})
	if err != nil {
		return err
	}
	if len(before)+len(after) == 0 {
		return errors.New("neither side has a mcp.manifest.json: run mcpgen and commit it")
	}
	changes := policydiff.Compare(before, after)
	var sides [2]policydiff.Boundaries
	if len(p.boundaries) > 0 {
		if sides, err = p.sides(cmd.Context(), before, after); err != nil {
			return err
		}
		for _, note := range sides[1].Notes() {
			fmt.Fprintln(cmd.ErrOrStderr(), "note:", note)
		}
		changes = policydiff.WithBoundaries(changes, sides[0], sides[1])
	}
	if radius {
		together, err := policydiff.CompareRadius(before, after, sides[0].Agents(sets(p.roles)),
			sides[1].Agents(sets(p.roles)))
		if err != nil {
			return err
		}
		changes = append(together, changes...)
	}
	judged, unused := policydiff.Policy{FailOn: p.failOn, Allowed: allowed}.Judge(changes)
	switch out := cmd.OutOrStdout(); p.format {
	case report.Text:
		err = writeChanges(out, judged)
	case markdown:
		_, err = fmt.Fprint(out, policydiff.Markdown(changes, allowed))
	case report.JSON:
		err = report.WriteJSON(out, struct {
			Version int                 `json:"version"`
			Changes []policydiff.Judged `json:"changes"`
		}{1, judged})
	default:
		err = report.Write(out, p.format, changeFindings(judged))
	}
	if err != nil {
		return err
	}
	for _, entry := range unused {
		fmt.Fprintf(cmd.ErrOrStderr(), "note: %s: no change is %q: remove the line\n", p.allow, entry)
	}
	if slices.ContainsFunc(judged, func(c policydiff.Judged) bool { return c.Refused }) {
		return errFindings
	}
	return nil
}

// sides reads the files of --boundaries.
func (p policy) sides(ctx context.Context, before, after []*policydiff.Manifest) (
	sides [2]policydiff.Boundaries, err error) {
	files, refs := p.boundaries, []string{"", ""}
	switch isFile := strings.HasSuffix(p.base, ".json") || strings.HasSuffix(p.head, ".json"); {
	case len(files) > 2 || slices.Contains(files, ""):
		return sides, errors.New("--boundaries takes one file, or two files: --boundaries OLD,NEW")
	case len(files) == 1 && isFile:
		return sides, fmt.Errorf("--base and --head are files: write the file of boundaries of "+
			"each, as in "+
			"--boundaries OLD,%s", files[0])
	case len(files) == 1:
		files, refs = []string{files[0], files[0]}, []string{p.base, p.head}
	}
	for i, set := range [][]*policydiff.Manifest{before, after} {
		if sides[i], err = policydiff.LoadBoundaries(ctx, refs[i], files[i], set); err != nil {
			return sides, fmt.Errorf("--boundaries: %w", err)
		}
		if sides[i].Missing && len(p.boundaries) > 1 {
			return sides, fmt.Errorf("--boundaries: %s does not exist: correct the name", files[i])
		}
	}
	if sides[0].Missing && sides[1].Missing {
		return sides, fmt.Errorf("--boundaries: neither side has %s: correct the name", files[0])
	}
	return sides, nil
}

func (p policy) allowed() (policydiff.Allowed, error) {
	if p.allow == "" {
		return nil, nil
	}
	file, err := os.Open(p.allow)
	if err != nil {
		return nil, fmt.Errorf("--allow: %w: create the file, or remove the flag", err)
	}
	defer file.Close()
	return policydiff.ReadAllowed(p.allow, file)
}

func writeChanges(out io.Writer, changes []policydiff.Judged) error {
	for _, c := range changes {
		line := c.String()
		if c.Allowed != "" {
			line += " # " + c.Allowed
		}
		if _, err := fmt.Fprintln(out, line); err != nil {
			return err
		}
	}
	return nil
}

func changeFindings(changes []policydiff.Judged) (findings []report.Finding) {
	for _, c := range changes {
		f := report.Finding{Code: string(c.Kind), Level: report.Note, Message: c.String(),
			File: c.File, Line: c.Line}
		switch {
		case c.Refused:
			f.Level = report.Error
			f.Cure = "undo the change, or accept it in the file of --allow with a reason"
		case c.Allowed == "" && (c.Kind == policydiff.Widened || c.Breaks != ""):
			f.Level = report.Warning
		}
		findings = append(findings, f)
	}
	return findings
}

// diffLists compares two results of tools/list.
func diffLists(cmd *cobra.Command, remote *remote, format report.Format, args []string) error {
	if format == markdown {
		return errors.New("--lists has no format markdown: write text, json, github or sarif")
	}
	sides, err := remote.lists(cmd, args, 2, "write two lists: mcpgen diff --lists OLD NEW")
	if err != nil {
		return err
	}
	for _, side := range sides {
		for _, note := range side.Skipped {
			fmt.Fprintln(cmd.ErrOrStderr(), "note:", note)
		}
	}
	if format == report.Text {
		differ, err := toollist.Diff(cmd.OutOrStdout(), sides[0], sides[1])
		if err == nil && differ {
			err = errFindings
		}
		return err
	}
	lines, err := toollist.Differences(sides[0], sides[1])
	if err != nil {
		return err
	}
	findings := commandline.Reporter{Format: format}
	findings.Text(cmd)
	for _, line := range lines {
		code, _, _ := strings.Cut(line, " ")
		findings.Add(report.Finding{Code: code, Level: report.Warning, Message: line})
		err = errFindings
	}
	return findings.Close(cmd, err)
}
