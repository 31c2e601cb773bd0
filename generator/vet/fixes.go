package vet

import (
	"bytes"
	"go/ast"
	"go/token"
	"regexp"
	"strings"
	"unicode/utf8"

	"golang.org/x/tools/go/analysis"

	"github.com/mcpgen/mcpgen/generator/internal/diag"
	"github.com/mcpgen/mcpgen/generator/internal/directive"
	"github.com/mcpgen/mcpgen/generator/internal/model"
	"github.com/mcpgen/mcpgen/internal/editdistance"
)

// fixes returns the changes that a finding proposes. Drivers apply the first one. No fix chooses an
// access rule: what the author must decide stays an error.
func fixes(file *source, d diag.Diagnostic, pos, end token.Pos) []analysis.SuggestedFix {
	switch d.Code {
	case diag.MissingDirective:
		return annotate(file, pos)
	case diag.UnknownDirective, diag.Malformed, diag.UnknownKey, diag.UnknownRole,
		diag.UnknownParameter, diag.Unbindable:
		if now := renew(file, pos); now != nil {
			return now
		}
		line := file.line(pos)
		if text, ok := d.Meant(); ok && end > pos && !grants(d.Code, line[:end-pos], text) &&
			!(d.Code == diag.UnknownDirective && opens(text, line[end-pos:])) {
			return fix("Write "+text, analysis.TextEdit{Pos: pos, End: end, NewText: []byte(text)})
		}
	case diag.NearMiss:
		return rewrite(file, pos)
	case diag.CannotAsk:
		if d.Suggestion == writeElicits {
			return elicits(file, pos)
		}
	case diag.Dangling:
		line := file.line(pos)
		name, _, _ := strings.Cut(strings.TrimPrefix(line, "//mcp:"), " ")
		if _, known := directive.Lookup(strings.TrimSpace(name)); !known ||
			restricts.MatchString(line) {
			return nil // without it, a handler could admit more than its author has written
		}
		return fix("Remove the directive", removal(file, pos))
	case diag.HiddenText:
		if edits := visible(file, pos); len(edits) > 0 {
			return fix("Remove hidden characters", edits...)
		}
	}
	return nil
}

// renew rewrites the forms of earlier versions in the directive that pos is in.
func renew(file *source, pos token.Pos) []analysis.SuggestedFix {
	start := file.LineStart(file.Line(pos))
	line := file.line(start)
	at := strings.LastIndex(line[:min(int(pos-start)+len("//mcp:"), len(line))], "//mcp:")
	if at < 0 {
		return nil
	}
	start += token.Pos(at)
	text := strings.TrimRight(line[at:], " \t")
	now := directive.Renewed(text)
	if now == text {
		return nil
	}
	return fix("Write "+now, analysis.TextEdit{
		Pos: start, End: start + token.Pos(len(text)), NewText: []byte(now),
	})
}

// restricts matches the directives that restrict a handler of another comment.
var restricts = regexp.MustCompile(`^//mcp:(allow|default|limit|param|roles|rule|server)\b`)

// opens reports whether a directive would admit callers whom nothing admits without it: everybody,
// or those of a default for all handlers without a rule.
func opens(name, arguments string) bool {
	name = strings.TrimPrefix(name, "//mcp:")
	return name == "default" || everybody.MatchString(arguments)
}

var everybody = regexp.MustCompile(`(^|\s)(public|authenticated)(\s|=|$)`)

// grants reports whether a correction would choose who may call: a role that differs in more than
// one letter, or public or authenticated.
func grants(code diag.Code, wrong, text string) bool {
	apart := editdistance.Between(strings.ToLower(wrong), strings.ToLower(text))
	return wrong == directive.FillIn || code == diag.UnknownRole && apart > 1 ||
		(text == "public" || text == "authenticated") && apart > 0
}

func fix(message string, edits ...analysis.TextEdit) []analysis.SuggestedFix {
	return []analysis.SuggestedFix{{Message: message, TextEdits: edits}}
}

// annotate inserts a directive above the declaration of the handler with the name at pos.
func annotate(file *source, pos token.Pos) []analysis.SuggestedFix {
	var doc *ast.CommentGroup
	start := token.NoPos
	ast.Inspect(file.syntax, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			if n.Name.Pos() == pos {
				doc, start = n.Doc, n.Type.Pos()
			}
		case *ast.Field:
			if len(n.Names) == 1 && n.Names[0].Pos() == pos {
				doc, start = n.Doc, pos
			}
		}
		return n != nil && n.Pos() <= pos && pos < n.End()
	})
	if !start.IsValid() {
		return nil
	}
	line := file.LineStart(file.Line(start))
	indent := string(file.text[file.Offset(line):file.Offset(start)])
	if strings.TrimSpace(indent) != "" {
		return nil // other code is on the line
	}
	parting, end := "", "\n"
	if bytes.Contains(file.text, []byte("\r\n")) {
		end = "\r\n"
	}
	if doc.Text() != "" && !strings.HasPrefix(file.line(doc.List[len(doc.List)-1].Pos()), "//mcp:") {
		parting = indent + "//" + end
	}
	insert := func(message, text string) analysis.SuggestedFix {
		return fix(message, analysis.TextEdit{
			Pos: line, End: line, NewText: []byte(parting + indent + text + end),
		})[0]
	}
	return []analysis.SuggestedFix{
		insert("Serve it as a tool, with a rule to fill in", "//mcp:tool minrole="+directive.FillIn),
		insert("Exclude it, with a reason to fill in", "//mcp:ignore reason="),
	}
}

// rewrite makes a directive of a line comment that is nearly one. gofmt inserts a space into the
// comment //mcp:Tool, but not into //mcp:tool. With a space, the author may have disabled the
// latter, so it has no fix. Prose has no fix either.
func rewrite(file *source, pos token.Pos) []analysis.SuggestedFix {
	comment := strings.TrimRight(file.line(pos), " \t")
	body, isLine := strings.CutPrefix(comment, "//")
	if !isLine {
		return nil
	}
	if text, spaced := strings.CutPrefix(body, " "); spaced &&
		(!strings.HasPrefix(strings.ToLower(text), "mcp:") ||
			directive.Is(&ast.Comment{Text: "//" + text})) {
		return nil
	}
	if first, _ := utf8.DecodeRuneInString(
		strings.TrimLeft(body, " ")); !strings.ContainsRune("mM", first) {
		return nil // as in //-mcp:tool, which is disabled
	}
	misses := directive.Misses(comment)
	if len(misses) != 1 || !misses[0].Sure {
		return nil
	}
	text, rest := "//mcp:"+misses[0].Name, strings.Trim(misses[0].Rest, " \t")
	if rest != "" && !misses[0].Arguments || opens(misses[0].Name, rest) {
		return nil
	}
	text = strings.TrimRight(text+" "+rest, " ")
	return fix("Write //mcp:"+misses[0].Name, analysis.TextEdit{
		Pos: pos, End: pos + token.Pos(len(comment)), NewText: []byte(text),
	})
}

// removal deletes the comment at pos, with its line if nothing else is on it.
func removal(file *source, pos token.Pos) analysis.TextEdit {
	number := file.Line(pos)
	start, end := file.LineStart(number), pos+token.Pos(len(file.line(pos)))
	before := string(file.text[file.Offset(start):file.Offset(pos)])
	if text := strings.TrimRight(before, " \t"); text != "" {
		return analysis.TextEdit{Pos: start + token.Pos(len(text)), End: end}
	}
	if number < file.LineCount() {
		end = file.LineStart(number + 1)
	}
	return analysis.TextEdit{Pos: start, End: end}
}

// visible deletes the hidden characters from pos to the end of the line, if one is at pos.
func visible(file *source, pos token.Pos) []analysis.TextEdit {
	var edits []analysis.TextEdit
	text := file.line(pos)
	for at, _ := model.Hidden(text); at >= 0; at, _ = model.Hidden(text) {
		if len(edits) == 0 && at > 0 {
			return nil
		}
		_, size := utf8.DecodeRuneInString(text[at:])
		pos += token.Pos(at)
		edits = append(edits, analysis.TextEdit{Pos: pos, End: pos + token.Pos(size)})
		pos, text = pos+token.Pos(size), text[at+size:]
	}
	return edits
}
