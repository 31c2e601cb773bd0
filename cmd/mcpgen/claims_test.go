package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/internal/testrepo"
)

// A sentence that compares mcpgen with a peer by a figure has a marker behind it:
//
//	It takes at most 0.9 of the time. <!-- figure: TABLE | ROW | COLUMN | at most 0.9. -->
//
// The marker names a cell of docs/explanation/performance.md and a bound, which the sentence
// contains.
const figures = "docs/explanation/performance.md"

var (
	marker = regexp.MustCompile(`\s*<!-- figure: (.*?)\.? -->`)
	// sentence is one sentence, and the places of its markers.
	sentence = regexp.MustCompile(`(?s)(.+?)((?:\x00\d+)+|[.!?][)"*]*(?:\x00\d+)*(?:\s|$)|$)`)
	aPeer    = regexp.MustCompile(`(?i)\b(?:mcp-go|go-sdk|fastmcp|toolhive|controller-gen|casbin|` +
		`cedar|opa|go list|net/http|bare)\b|\b(?:Server\.|mcp\.)AddTool\b`)
	aFigure = regexp.MustCompile(`(?i)\b(?:half|thirds?|quarters?|fifths?|tenths?|twice|double|` +
		`faster|slower|cheaper|(?:at most|at least|less than|more than|only|about) \d[\d.,]*|` +
		`\d[\d.,]* (?:to \d[\d.,]* )?(?:times|percent|[nµum]?s|[KMG]?B|of|goroutines?|allocations?))\b|` +
		`\d ?[×%]`)
	aTableRow = regexp.MustCompile(`^\s*\|(.*)\|\s*$`)
	aBound    = regexp.MustCompile(`^(at most|at least) (\d[\d.,]*)(?: (\S+))?$`)
	aCell     = regexp.MustCompile(`^(\d[\d.,]*)(?: ?([^\d\s(,]+))?`)
)

// claim is a sentence that compares, with its markers.
type claim struct {
	text    string
	markers []string
}

// claims returns the sentences of a page that compare with a peer by a figure or have a marker.
// Blocks of code, tables and headings are none.
func claims(page string) (all []claim) {
	var paragraphs []string
	code, open := false, false
	for line := range strings.Lines(page) {
		line = strings.TrimSpace(line)
		fence := strings.HasPrefix(line, "```")
		code = code != fence
		switch {
		case fence || code || line == "" || line[0] == '#' || line[0] == '|':
			open = false
			continue
		case !open || strings.HasPrefix(line, "- "):
			paragraphs = append(paragraphs, "")
		}
		open = true
		paragraphs[len(paragraphs)-1] += line + "\n"
	}
	for _, p := range paragraphs {
		var markers []string
		p = marker.ReplaceAllStringFunc(p, func(m string) string {
			markers = append(markers, marker.FindStringSubmatch(m)[1])
			return "\x00" + strconv.Itoa(len(markers)-1)
		})
		for _, s := range sentence.FindAllString(p, -1) {
			text, numbers, _ := strings.Cut(s, "\x00")
			c := claim{text: strings.TrimSpace(text)}
			for number := range strings.SplitSeq(strings.TrimSpace(numbers), "\x00") {
				if n, err := strconv.Atoi(number); err == nil {
					c.markers = append(c.markers, markers[n])
				}
			}
			if len(c.markers) > 0 || aPeer.MatchString(text) && aFigure.MatchString(text) {
				all = append(all, c)
			}
		}
	}
	return all
}

// wrong returns what is wrong with a claim, by the tables of a page.
func (c claim) wrong(tables map[[3]string]string) (problems []string) {
	if len(c.markers) == 0 {
		return []string{"it compares with a peer by a figure, and has no <!-- figure: … -->"}
	}
	for _, m := range c.markers {
		parts := strings.Split(m, " | ")
		if len(parts) != 4 {
			problems = append(problems, "not TABLE | ROW | COLUMN | BOUND: "+m)
			continue
		}
		bound := aBound.FindStringSubmatch(parts[3])
		cell := aCell.FindStringSubmatch(tables[[3]string(parts)])
		switch {
		case bound == nil:
			problems = append(problems, "no bound: "+m)
		case !strings.Contains(strings.Join(strings.Fields(c.text), " "), parts[3]):
			problems = append(problems, "the sentence does not contain the bound: "+m)
		case cell == nil:
			problems = append(problems, "no figure in the table: "+m)
		case bound[3] != cell[2]:
			problems = append(problems, "the unit of the table is "+strconv.Quote(cell[2])+": "+m)
		case bound[1] == "at most" && amount(cell[1]) > amount(bound[2]),
			bound[1] == "at least" && amount(cell[1]) < amount(bound[2]):
			problems = append(problems, "the table has "+cell[0]+": "+m)
		}
	}
	return problems
}

func amount(text string) float64 {
	n, _ := strconv.ParseFloat(strings.ReplaceAll(text, ",", ""), 64)
	return n
}

// cells returns the cells of the tables of a page, by the head of the table, row and column.
func cells(page string) map[[3]string]string {
	all := map[[3]string]string{}
	var head []string
	for line := range strings.Lines(page) {
		m := aTableRow.FindStringSubmatch(line)
		if m == nil {
			head = nil
			continue
		}
		row := strings.Split(m[1], "|")
		for i := range row {
			row[i] = strings.TrimSpace(row[i])
		}
		if head == nil {
			head = row
		}
		for i, column := range head[1:min(len(head), len(row))] {
			all[[3]string{head[0], row[0], column}] = row[i+1]
		}
	}
	return all
}

// TestComparisonsAreNoBetterThanTheirFigures holds that each comparison by a figure in the README
// and the docs names a measured cell, and claims no more than the cell has.
func TestComparisonsAreNoBetterThanTheirFigures(t *testing.T) {
	tables := cells(page(t, figures))
	pages := []string{"README.md"}
	root := testrepo.Root(t)
	err := fs.WalkDir(os.DirFS(root), "docs", func(path string, _ fs.DirEntry, err error) error {
		if filepath.Ext(path) == ".md" {
			pages = append(pages, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	marked := map[string]int{}
	for _, name := range pages {
		for _, c := range claims(page(t, name)) {
			marked[name] += len(c.markers)
			for _, problem := range c.wrong(tables) {
				t.Errorf("%s: %q: %s", name, c.text, problem)
			}
		}
	}
	if marked["README.md"] == 0 || marked[figures] == 0 {
		t.Errorf("markers: %v, want some in README.md and %s", marked, figures)
	}
}

func TestClaimsWithoutFiguresFail(t *testing.T) {
	const table = "| CPU | mcpgen | of mcp-go |\n|---|--:|--:|\n" +
		"| call | 90 µs (80 to 120) | 0.66 (0.61 to 0.70) |\n| list | 1.2 ms | |\n"
	for _, test := range []struct{ name, page, want string }{
		{"no peer", "A call takes at most 90 µs.", ""},
		{"no figure", "It runs on go-sdk v1.8.0, as mcp-go 1.2.1 does not.", ""},
		{"code", "```\nhalf of mcp-go\n```\n", ""},
		{"a table", "| half of mcp-go |\n", ""},
		{"a word", "It takes half of the time\nof mcp-go.", "has no <!--"},
		{"a colon", "Against mcp-go: half of the time.", "has no <!--"},
		{"a ratio", "It takes 0.7 of mcp-go's time.", "has no <!--"},
		{"a multiple", "- casbin takes 6.7× as long", "has no <!--"},
		{"a percentage", "It takes 30 percent less than `mcp.AddTool`.", "has no <!--"},
		{"a comparative", "It is faster than bare `net/http`.", "has no <!--"},
		{"a figure behind another sentence", "It takes half of mcp-go. More. " +
			"<!-- figure: CPU | call | of mcp-go | at most 0.7 -->", "has no <!--"},
		{"a bound that holds", "More. It takes at\nmost 0.66 of mcp-go's time. " +
			"<!-- figure: CPU | call | of mcp-go | at most 0.66 -->\nMore of mcp-go.", ""},
		{"a better bound", "It takes at most 0.65 of mcp-go's time. " +
			"<!-- figure: CPU | call | of mcp-go | at most 0.65 -->", "the table has 0.66"},
		{"a lower bound", "mcp-go takes at least 91 µs. " +
			"<!-- figure: CPU | call | mcpgen | at least 91 µs -->", "the table has 90 µs"},
		{"two markers", "It takes at most 0.7, and at most 80 µs. " +
			"<!-- figure: CPU | call | of mcp-go | at most 0.7 --> " +
			"<!-- figure: CPU | call | mcpgen | at most 80 µs -->", "the table has 90 µs"},
		{"another bound than the sentence's", "It takes half of mcp-go's time. " +
			"<!-- figure: CPU | call | of mcp-go | at most 0.7 -->", "does not contain the bound"},
		{"another unit", "A list takes at most 2 µs. <!-- figure: CPU | list | mcpgen | at most 2 µs -->",
			`the unit of the table is "ms"`},
		{"an empty cell", "It takes at most 2. <!-- figure: CPU | list | of mcp-go | at most 2 -->",
			"no figure in the table"},
		{"no row", "It takes at most 2. <!-- figure: CPU | calls | of mcp-go | at most 2 -->",
			"no figure in the table"},
		{"no bound", "It takes 2. <!-- figure: CPU | call | of mcp-go | 2 -->", "no bound"},
		{"no column", "It takes at most 2. <!-- figure: CPU | call | at most 2 -->", "not TABLE"},
	} {
		var problems []string
		for _, c := range claims(test.page) {
			problems = append(problems, c.wrong(cells(table))...)
		}
		got := strings.Join(problems, "\n")
		if (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}
