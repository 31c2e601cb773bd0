package chain_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/audit/chain"
)

// trail is what replicas have written, in files, with the newest checkpoints.
type trail struct {
	files       [][]string // lines, each with its end
	checkpoints []chain.Checkpoint
}

// whole reports whether what was acknowledged is all there.
func (tr trail) whole(lines int) bool {
	for _, file := range tr.files {
		for _, line := range file {
			if strings.HasSuffix(line, "\n") && !strings.Contains(line, `"refused"`) {
				lines--
			}
		}
	}
	return lines <= 0
}

func (tr trail) acknowledged() (n int) {
	for _, file := range tr.files {
		for _, line := range file {
			if !strings.Contains(line, `"refused"`) {
				n++
			}
		}
	}
	return n
}

func (tr trail) texts() []string {
	var all []string
	for _, lines := range tr.files {
		all = append(all, strings.Join(lines, ""))
	}
	return all
}

// honest draws a trail: replicas that take turns, that start anew now and then and whose sink fails
// at times, in rotated files that they share or not.
func honest(rt *rapid.T) trail {
	replicas := rapid.IntRange(1, 3).Draw(rt, "replicas")
	shared := &memory{}
	var tr trail
	sinks := make([]*memory, replicas)
	chains := make([]*chain.Chain, replicas)
	own := rapid.Bool().Draw(rt, "own files")
	points := make([]*kept, replicas) // of the newest chain of each
	start := func(i int) {
		points[i] = &kept{}
		options := chain.Options{Key: key, Replica: fmt.Sprint("r", i), Every: rapid.IntRange(1,
			6).Draw(rt, "every"), Checkpoints: points[i].add}
		if chains[i] != nil {
			if rapid.Bool().Draw(rt, "in good order") {
				chains[i].Close(context.Background())
			}
			for _, line := range slices.Backward(sinks[i].lines) {
				if bytes.Contains(line, fmt.Appendf(nil, `"id":"r%d.`, i)) &&
					!bytes.Contains(line, []byte(`"refused"`)) {
					options.Last = line
					break
				}
			}
		}
		chains[i] = begin(rt, sinks[i], options)
	}
	for i := range sinks {
		sinks[i] = shared
		if own {
			sinks[i] = &memory{}
		}
		start(i)
	}
	for n := range rapid.IntRange(1, 25).Draw(rt, "records") {
		i := rapid.IntRange(0, replicas-1).Draw(rt, "replica")
		switch rapid.IntRange(0, 9).Draw(rt, "what") {
		case 0:
			start(i)
		case 1:
			sinks[i].fail = errors.New("no space left")
			chains[i].Record(context.Background(), audit.Event{RequestID: "refused"})
			sinks[i].fail = nil
		default:
			put(rt, chains[i], fmt.Sprint(n))
		}
	}
	for i, c := range chains {
		put(rt, c, "last") // so that each has a newest checkpoint
		if err := c.Close(context.Background()); err != nil {
			rt.Error(err)
		}
		tr.checkpoints = append(tr.checkpoints, points[i].all[len(points[i].all)-1])
	}
	if !own {
		sinks = []*memory{shared}
	}
	for _, m := range sinks {
		size := rapid.IntRange(1, 30).Draw(rt, "size")
		for part := range slices.Chunk(m.lines, size) {
			var lines []string
			for _, line := range part {
				lines = append(lines, string(line)+"\n")
			}
			tr.files = append(tr.files, lines)
		}
	}
	tr.files = rapid.Permutation(tr.files).Draw(rt, "order")
	return tr
}

func (tr trail) verify(t tb) chain.Report {
	return verified(t, chain.VerifyOptions{Checkpoints: tr.checkpoints}, tr.texts()...)
}

func TestNothingIsFoundInAnHonestTrail(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		tr := honest(rt)
		lines := 0
		for _, f := range tr.files {
			lines += len(f)
		}
		if got := tr.verify(rt); len(got.Findings) > 0 || got.Records != int64(lines) ||
			!got.Sound() {
			rt.Errorf("%+v", got)
		}
	})
}

// spot is a line of a trail.
type spot struct{ file, line int }

func (tr trail) spots() (all []spot) {
	for f, lines := range tr.files {
		for l := range lines {
			all = append(all, spot{f, l})
		}
	}
	return all
}

func some(rt *rapid.T, tr trail, name string) spot {
	return rapid.SampledFrom(tr.spots()).Draw(rt, name)
}

// ordered reports whether the records of each chain are in a row in each file, which is all the
// order there is.
func (tr trail) ordered(t tb) bool {
	for _, lines := range tr.files {
		last := map[string]int64{}
		for _, line := range lines {
			l := links(t, [][]byte{[]byte(line)})[0]
			if before, ok := last[l.ID]; ok && l.Seq != before+1 {
				return false
			}
			last[l.ID] = l.Seq
		}
	}
	return true
}

func TestAnySingleChangeOfATrailIsFound(t *testing.T) {
	changes := map[string]func(rt *rapid.T, tr *trail) (changed bool){
		"edit": func(rt *rapid.T, tr *trail) bool {
			at := some(rt, *tr, "line")
			line := []byte(tr.files[at.file][at.line])
			last := len(line) - 1
			if bytes.Contains(line, []byte(`"refused"`)) {
				last-- // which was not acknowledged: without its end it is torn
			}
			i := rapid.IntRange(0, last).Draw(rt, "byte")
			before := line[i]
			line[i] = rapid.OneOf(rapid.Byte(), rapid.SampledFrom([]byte("\n {}\"0aA"))).Draw(rt,
				"by")
			tr.files[at.file][at.line] = string(line)
			return line[i] != before
		},
		"insertion within a line": func(rt *rapid.T, tr *trail) bool {
			at := some(rt, *tr, "line")
			line := []byte(tr.files[at.file][at.line])
			i := rapid.IntRange(0, len(line)-1).Draw(rt, "byte")
			tr.files[at.file][at.line] = string(slices.Insert(line, i,
				rapid.SampledFrom([]byte("\n {}\"0a,")).Draw(rt, "new")))
			return true
		},
		"deletion": func(rt *rapid.T, tr *trail) bool {
			lines, at := tr.acknowledged(), some(rt, *tr, "line")
			tr.files[at.file] = slices.Delete(tr.files[at.file], at.line, at.line+1)
			return !tr.whole(lines)
		},
		"deletion of a file": func(rt *rapid.T, tr *trail) bool {
			lines, f := tr.acknowledged(), rapid.IntRange(0, len(tr.files)-1).Draw(rt, "file")
			tr.files = slices.Delete(tr.files, f, f+1)
			return !tr.whole(lines)
		},
		"swap": func(rt *rapid.T, tr *trail) bool {
			a, b := some(rt, *tr, "one"), some(rt, *tr, "other")
			tr.files[a.file][a.line], tr.files[b.file][b.line] = tr.files[b.file][b.line],
				tr.files[a.file][a.line]
			return !tr.ordered(rt)
		},
		"move": func(rt *rapid.T, tr *trail) bool {
			a, b := some(rt, *tr, "from"), some(rt, *tr, "to")
			line := tr.files[a.file][a.line]
			tr.files[a.file] = slices.Delete(tr.files[a.file], a.line, a.line+1)
			to := min(b.line, len(tr.files[b.file]))
			tr.files[b.file] = slices.Insert(tr.files[b.file], to, line)
			return !tr.ordered(rt)
		},
		"duplication": func(rt *rapid.T, tr *trail) bool {
			a, b := some(rt, *tr, "of"), some(rt, *tr, "at")
			line := tr.files[a.file][a.line]
			if rapid.Bool().Draw(rt, "a file of its own") {
				tr.files = append(tr.files, []string{line})
			} else {
				tr.files[b.file] = slices.Insert(tr.files[b.file], b.line, line)
			}
			return true
		},
		"truncation": func(rt *rapid.T, tr *trail) bool {
			lines, at := tr.acknowledged(), some(rt, *tr, "line")
			line := tr.files[at.file][at.line]
			// the line's end alone is no loss
			left := rapid.IntRange(0, len(line)-2).Draw(rt, "left")
			tr.files[at.file] = append(tr.files[at.file][:at.line:at.line], line[:left])
			return !tr.whole(lines)
		},
		"record by another key": func(rt *rapid.T, tr *trail) bool {
			m := &memory{}
			c := begin(rt, m, chain.Options{Key: bytes.Repeat([]byte("x"), 32), Replica: "r0"})
			put(rt, c, "forged")
			at := some(rt, *tr, "at")
			tr.files[at.file] = slices.Insert(tr.files[at.file], at.line, string(m.lines[0])+"\n")
			return true
		},
		"record of no chain": func(rt *rapid.T, tr *trail) bool {
			at := some(rt, *tr, "at")
			tr.files[at.file] = slices.Insert(tr.files[at.file], at.line, `{"request_id":"forged"}`+
				"\n")
			return true
		},
		"checkpoint": func(rt *rapid.T, tr *trail) bool {
			p := &tr.checkpoints[0]
			rapid.SampledFrom([]func(){func() { p.Seq++ }, func() { p.Chain += "x" },
				func() { p.MAC[0]++ }, func() { p.Time = p.Time.Add(1) },
				func() { p.Seal[31]++ }}).Draw(rt, "part")()
			return true
		},
	}
	for name, change := range changes {
		t.Run(strings.ReplaceAll(name, " ", "-"), func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) {
				tr := honest(rt)
				changed := change(rt, &tr)
				if got := tr.verify(rt); got.Sound() == changed {
					rt.Errorf("changed: %v, found: %v", changed, got)
				}
			})
		})
	}
}

// ten is a trail of ten records and a checkpoint, a line each.
func ten(t tb) ([]string, []chain.Checkpoint) {
	m, k := &memory{}, &kept{}
	c := begin(t, m, chain.Options{Checkpoints: k.add})
	for i := range 9 {
		put(t, c, fmt.Sprint(i))
	}
	if err := c.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	return strings.SplitAfter(strings.TrimSuffix(m.text(), "\n"), "\n"), k.all
}

func TestFindingHasPlaceProblemAndCure(t *testing.T) {
	lines, points := ten(t)
	lines[9] += "\n"
	id := points[0].Chain
	at := func(order ...int) string {
		var b strings.Builder
		for _, n := range order {
			b.WriteString(lines[n-1])
		}
		return b.String()
	}
	forged := strings.Replace(lines[4], `"request_id":"4"`, `"request_id":"5"`, 1)
	for name, test := range map[string]struct {
		files []string
		want  []string
	}{
		"missing": {[]string{at(1, 2, 3, 6, 7, 8, 9, 10)},
			[]string{
				"f0:4: chain ID seq 4: missing: records 4 to 5 before this one are missing"}},
		"missing one": {[]string{at(1, 2, 3, 5, 6, 7, 8, 9, 10)},
			[]string{"f0:4: chain ID seq 4: missing: record 4 before this one is missing"}},
		"missing start": {[]string{at(3, 4, 5, 6, 7, 8, 9, 10)},
			[]string{"f0:1: chain ID seq 1: missing: records 1 to 2"}},
		"altered": {[]string{at(1, 2, 3, 4) + forged + at(6, 7, 8, 9, 10)},
			[]string{"f0:5: chain ID seq 5: altered"}},
		"altered start": {[]string{at(6, 7, 8, 9, 10), at(1, 2, 3, 4) + forged},
			[]string{"f1:5: chain ID seq 5: altered"}},
		"altered at edge": {[]string{forged + at(6, 7, 8, 9, 10), at(1, 2, 3, 4)},
			[]string{"f0:1: chain ID seq 5: altered"}},
		"swapped": {[]string{at(1, 2, 4, 3, 5, 6, 7, 8, 9, 10)},
			[]string{"f0:4: chain ID seq 3: reordered: it comes after record 4",
				"f0:5: chain ID seq 5: reordered"}},
		"first comes last": {[]string{at(2, 3, 4, 5, 6, 7, 8, 9, 10, 1)},
			[]string{"f0:10: chain ID seq 1: reordered: it comes after record 10"}},
		"elsewhere": {[]string{at(1, 2, 4, 5), at(3), at(6, 7, 8, 9, 10)},
			[]string{"f0:3: chain ID seq 4: reordered: the records before it are elsewhere"}},
		"twice": {[]string{at(1, 2, 3, 3, 4, 5, 6, 7, 8, 9, 10)},
			[]string{"f0:4: chain ID seq 3: duplicated"}},
		"cut off": {[]string{at(1, 2, 3, 4, 5, 6, 7)},
			[]string{
				"f0:7: chain ID seq 8: cut off: it ends with record 7, but the checkpoint of"}},
		"gone": {[]string{""},
			[]string{
				"chain ID seq 1: missing: all its records up to 10 are missing, but the " +
					"checkpoint of"}},
		"torn": {[]string{at(1, 2, 3, 4, 5, 6, 7, 8, 9, 10), `{"timestamp":`},
			[]string{"f1:1: torn: the last line is incomplete"}},
		"garbage": {[]string{at(1, 2, 3, 4, 5, 6, 7, 8, 9, 10) + "garbage\n"},
			[]string{"f0:11: altered: it is not a record"}},
		"no place": {[]string{at(1, 2, 3, 4, 5, 6, 7, 8, 9, 10) +
			`{"chain":{"id":"","seq":0,"mac":""}}` + "\n"},
			[]string{"f0:11: altered: it is not a record"}},
		"other place": {[]string{at(1, 2, 3, 4, 5, 6, 7, 8, 9, 10) +
			`{"chain":{"id":"","seq":0}}` + "\n"},
			[]string{"f0:11: altered: its position in the chain is malformed"}},
		"loose": {[]string{"{}\n{}\n" + at(1, 2, 3, 4, 5, 6, 7, 8, 9, 10) + "{}\n"},
			[]string{"f0:1: unchained: from here on", "f0:13: unchained"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := verified(t, chain.VerifyOptions{Checkpoints: points}, test.files...)
			if len(got.Findings) != len(test.want) {
				t.Errorf("%v", got.Findings)
				return
			}
			for i, f := range got.Findings {
				text := f.String()
				if !strings.HasPrefix(text, strings.ReplaceAll(test.want[i], "ID", id)) ||
					!strings.Contains(text, "; ") {
					t.Errorf("%s\nwant %s", text, test.want[i])
				}
			}
			if got.Sound() != (name == "torn") {
				t.Errorf("sound: %v", got.Sound())
			}
		})
	}
}

func TestOtherKeyIsOneFinding(t *testing.T) {
	lines, points := ten(t)
	got := verified(t, chain.VerifyOptions{Key: bytes.Repeat([]byte("x"), 32), Checkpoints: points},
		strings.Join(lines, ""))
	if len(got.Findings) != 2 || got.Findings[0].Kind != "foreign" ||
		got.Findings[1].Kind != "foreign" || !strings.Contains(got.Findings[1].What,
		"none of the 10") || got.Records != 0 {
		t.Errorf("%+v", got)
	}
	// Many that were altered, in a chain of which some are proven after all.
	for i := range lines[:8] {
		lines[i] = strings.Replace(lines[i], "read", "rEad", 1)
	}
	if got := verified(t, chain.VerifyOptions{}, strings.Join(lines, "")); len(got.Findings) != 8 ||
		got.Records != 2 {
		t.Errorf("%+v", got)
	}
}

func TestRecordsBeforeACheckpointMayBeGoneWhereThatIsStated(t *testing.T) {
	m, k := &memory{}, &kept{}
	c := begin(t, m, chain.Options{})
	put(t, c, "a", "b")
	c = begin(t, m, chain.Options{Every: 3, Checkpoints: k.add, Last: m.lines[1]})
	put(t, c, "c", "d", "e")
	k.await(1)
	put(t, c, "f", "g")
	if err := c.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	since := k.all[:1]
	if since[0].Seq != 4 {
		t.Fatalf("%+v", since)
	}
	text := func(from int) string { return string(bytes.Join(m.lines[from:], []byte("\n"))) + "\n" }
	for from, want := range map[int]string{0: "", 1: "missing", 2: "", 3: "unproven", 4: "unproven",
		5: "unproven", 6: "", 7: "missing"} {
		got := verified(t, chain.VerifyOptions{Since: since}, text(from))
		var kinds string
		for _, f := range got.Findings {
			kinds += f.Kind
		}
		if kinds != want || got.Sound() != (want != "missing") {
			t.Errorf("from %d: %+v", from, got)
		}
	}
	if got := verified(t, chain.VerifyOptions{}, text(2)); len(got.Findings) != 1 ||
		got.Findings[0].Kind != "missing" {
		t.Errorf("%+v", got)
	}
	since[0].Seal = audit.MAC{}
	if got := verified(t, chain.VerifyOptions{Since: since}, text(6)); got.Sound() ||
		len(got.Findings) != 2 {
		t.Errorf("%+v", got)
	}
}

// TestCutNamesWhatMayBeGone has the records of two chains cut, by a record that is in one of them.
func TestCutNamesWhatMayBeGone(t *testing.T) {
	m := &memory{}
	other := begin(t, m, chain.Options{Replica: "other"})
	put(t, other, "o1", "o2", "o3")
	c := begin(t, m, chain.Options{})
	put(t, c, "a", "b")
	all := links(t, m.lines)
	cut := []audit.Link{all[1], all[4]}
	if err := c.Record(t.Context(), audit.Event{Type: audit.Changed, Cut: cut}); err != nil {
		t.Fatal(err)
	}
	text := func(lines ...int) string {
		var b strings.Builder
		for _, n := range lines {
			b.Write(append(m.lines[n], '\n'))
		}
		return b.String()
	}
	for name, test := range map[string]struct {
		text string
		want string
	}{
		"all":                    {text(0, 1, 2, 3, 4, 5), ""},
		"what was cut":           {text(2, 5), ""},
		"the rest of one, later": {text(1, 2, 5), "altered"}, // what a cut takes goes at once
		"a part that it took":    {text(0, 2, 5), "missing"},
		"more than what was cut": {text(5), ""}, // nothing names the rest of the other chain
		"the cut itself":         {text(2), "missing"},
		"a row that was put in": {text(2) + forged(t, text(0), 1, strings.Repeat("ab", 32)) +
			text(5), "reorderedaltered"},
		"a row with the cut's MAC": {text(2) + forged(t, text(1), 2, "") + text(5),
			"reorderedaltered"},
		"the cut is not the chain": {strings.Replace(text(2, 5), `"seq":2`, `"seq":3`, 1),
			"missingmissing"},
	} {
		got := verified(t, chain.VerifyOptions{}, test.text)
		var kinds string
		for _, f := range got.Findings {
			kinds += f.Kind
		}
		if kinds != test.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestWhatIsTooMuchIsCounted(t *testing.T) {
	got := verified(t, chain.VerifyOptions{}, strings.Repeat("garbage\n", 1500))
	if len(got.Findings) != 1000 || got.More != 500 || got.Sound() {
		t.Errorf("%d, %d", len(got.Findings), got.More)
	}
	var b strings.Builder
	for i := range 10000 {
		line, _ := json.Marshal(audit.Event{Chain: &audit.Link{ID: "x", Seq: int64(2*i + 2)}})
		b.Write(append(line, '\n'))
	}
	got = verified(t, chain.VerifyOptions{}, b.String())
	if !slices.ContainsFunc(got.Findings,
		func(f chain.Finding) bool { return f.Kind == "disordered" }) {
		t.Errorf("%v", got.Findings[0])
	}
	if got := verified(t, chain.VerifyOptions{}, strings.Repeat("x", 20<<20)+
		"\n"); len(got.Findings) == 0 || len(got.Findings) > 3 {
		t.Errorf("%d findings of one long line", len(got.Findings))
	}
	if _, err := chain.Verify(chain.Lines("f", broken{}),
		chain.VerifyOptions{Key: key}); !errors.Is(err, errBroken) || !strings.Contains(err.Error(),
		"f:1") {
		t.Error(err)
	}
}

func TestTrailOfBeforeTheChainIsAcceptedWhereThatIsStated(t *testing.T) {
	lines, points := ten(t)
	text := "{}\n{}\n" + strings.Join(lines, "")
	if got := verified(t, chain.VerifyOptions{Checkpoints: points, Unchained: true},
		text); len(got.Findings) > 0 || got.Records != 10 {
		t.Errorf("%+v", got)
	}
}

func TestVerifyStopsWhereItsReaderIsNotRead(t *testing.T) {
	n := 0
	for range chain.Lines("f", strings.NewReader("a\nb\nc\n")) {
		if n++; n == 2 {
			break
		}
	}
	if n != 2 {
		t.Error(n)
	}
}

// pruned is a trail of three chains of which a cut has taken the oldest records: what is left, a
// line each, and what is gone. The first chain is gone as a whole.
func pruned(t tb) (left, gone []string) {
	m := &memory{}
	put(t, begin(t, m, chain.Options{Replica: "dead"}), "d1", "d2", "d3")
	put(t, begin(t, m, chain.Options{Replica: "other"}), "o1", "o2", "o3")
	c := begin(t, m, chain.Options{})
	put(t, c, "a", "b", "c")
	all := links(t, m.lines)
	if err := c.Record(context.Background(), audit.Event{Type: audit.Changed,
		Cut: []audit.Link{all[2], all[4], all[7]}}); err != nil {
		t.Fatal(err)
	}
	for i, line := range m.lines {
		if text := string(line) + "\n"; slices.Contains([]int{5, 8, 9}, i) {
			left = append(left, text)
		} else {
			gone = append(gone, text)
		}
	}
	return left, gone
}

// forged is another content in the place of a record, with its MAC or another one.
func forged(t tb, line string, seq int64, mac string) string {
	l := links(t, [][]byte{[]byte(line)})[0]
	if mac == "" {
		mac = l.MAC.String()
	}
	return fmt.Sprintf(
		`{"event_type":"changed","request_id":"forged","chain":{"id":"%s","seq":%d,"mac":"%s"}}`+
			"\n", l.ID, seq, mac)
}

func TestRecordThatWasPutInBelowACutIsFound(t *testing.T) {
	left, gone := pruned(t) // gone: d1 d2 d3, o1 o2, a b
	if got := verified(t, chain.VerifyOptions{}, strings.Join(left, "")); len(got.Findings) > 0 ||
		got.Records != 3 {
		t.Fatalf("%+v", got)
	}
	junk := strings.Repeat("ab", 32)
	for name, put := range map[string][]string{
		"one of a chain that is gone": {forged(t, gone[0], 2, junk)},
		"some of it, without order": {forged(t, gone[0], 3, junk),
			forged(t, gone[0], 1, junk)},
		"two of it, with a gap": {forged(t, gone[0], 1, junk),
			forged(t, gone[0], 3, junk)},
		"the whole of it": {forged(t, gone[0], 1, junk),
			forged(t, gone[0], 2, junk), forged(t, gone[0], 3, junk)},
		"one with the MAC that the cut has": {forged(t, gone[2], 3, "")},
		"one before records that are left":  {forged(t, gone[4], 2, "")},
		"one of a chain that goes on":       {forged(t, gone[3], 1, junk)},
		"what was there, but for its start": {gone[1], gone[2]},
		"what was there, but for its end":   {gone[0], gone[1]},
		"what was there, but for a middle":  {gone[0], gone[2]},
		"one that leads to what was there":  {forged(t, gone[0], 1, ""), gone[1], gone[2]},
	} {
		t.Run(strings.ReplaceAll(name, " ", "-"), func(t *testing.T) {
			text, more := strings.Join(left, ""), strings.Join(put, "")
			for where, texts := range map[string][]string{
				"behind": {text + more}, "in front": {more + text}, "another file": {text, more},
				"none needed, or pass an earlier checkpoint and the earlier files": append(
					slices.Clone(put), text),
			} {
				got := verified(t, chain.VerifyOptions{}, texts...)
				if got.Sound() || slices.ContainsFunc(got.Findings,
					func(f chain.Finding) bool { return f.Kind == "unproven" }) {
					t.Errorf("%s: %+v", where, got)
				}
				for _, f := range got.Findings { // what is left is as good as it was
					if f.Kind == "altered" &&
						!strings.Contains(strings.Split(texts[f.Source[1]-'0'], "\n")[f.Line-1],
							"forged") && !slices.Contains(put, strings.Split(texts[f.Source[1]-'0'],
						"\n")[f.Line-1]+"\n") {
						t.Errorf("%s: an honest record: %s", where, f)
					}
				}
			}
		})
	}
	// All that a cut is about to take, or the whole of a chain from a backup, is what was written.
	if got := verified(t, chain.VerifyOptions{}, strings.Join(gone, ""),
		strings.Join(left, "")); len(got.Findings) > 0 || got.Records != 10 {
		t.Errorf("%+v", got)
	}
}

func TestRecordThatWasPutInBelowACheckpointIsFound(t *testing.T) {
	lines, points := ten(t)
	lines[9] += "\n"
	junk := strings.Repeat("ab", 32)
	for name, test := range map[string]struct {
		texts []string
		want  string
	}{
		"nothing":                   {[]string{lines[9]}, "unproven"},
		"the end of what was there": {lines[7:], "unproven"},
		"in files of their own":     {[]string{lines[9], lines[8], lines[7]}, "unproven"},
		"one": {[]string{forged(t, lines[0], 4, junk), lines[9]},
			"altered unproven"},
		"one that nothing comes after":  {[]string{forged(t, lines[0], 4, junk)}, "altered"},
		"one with a MAC that was there": {[]string{forged(t, lines[3], 4, "")}, "altered"},
		"one in the checkpoint's place": {[]string{forged(t, lines[9], 10, junk)},
			"altered altered"},
		"one right before what is there": {[]string{forged(t, lines[6], 7, junk) +
			strings.Join(lines[7:], "")}, "altered unproven"},
	} {
		got := verified(t, chain.VerifyOptions{Since: points}, test.texts...)
		var kinds []string
		for _, f := range got.Findings {
			kinds = append(kinds, f.Kind)
		}
		if strings.Join(kinds, " ") != test.want || got.Sound() != (test.want == "unproven") {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestTrailWithoutARecordIsNotSound(t *testing.T) {
	_, points := ten(t)
	for name, test := range map[string]struct {
		options chain.VerifyOptions
		text    string
		empty   bool
	}{
		"nothing":                     {chain.VerifyOptions{}, "", true},
		"a part of a line":            {chain.VerifyOptions{}, `{"timestamp":`, true},
		"nothing that is in a chain":  {chain.VerifyOptions{Unchained: true}, "{}\n", true},
		"nothing after a checkpoint":  {chain.VerifyOptions{Since: points}, "", true},
		"something else that is said": {chain.VerifyOptions{}, "{}\n", false},
	} {
		got := verified(t, test.options, test.text)
		empty := slices.ContainsFunc(got.Findings,
			func(f chain.Finding) bool { return f.Kind == "empty" && f.Cure != "" })
		if got.Sound() || empty != test.empty {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// FuzzVerify puts a text into two honest trails, one that was cut and one whose start may be gone:
// where that passes for sound, each line is one that was written, but for the first that is left of
// a file that was deleted.
func FuzzVerify(f *testing.F) {
	whole, points := ten(f)
	whole[9] += "\n"
	left, gone := pruned(f)
	written := map[string]bool{}
	for _, line := range slices.Concat(whole, left, gone) {
		written[strings.TrimSuffix(line, "\n")] = true
	}
	place := func(line string) string { return line[max(strings.LastIndex(line, `"mac":`), 0):] }
	macs := map[string]bool{}
	for line := range written {
		macs[place(line)] = true
	}
	f.Add("{}\n\n[]\nnull\n"+strings.Repeat("[", 100), 5, 9)
	f.Add(`{"chain":{"id":"a","seq":9223372036854775807,"mac":"`+strings.Repeat("0", 64)+`"}}`+"\n"+
		`{"chain":{"id":"a","seq":-1,"mac":"`+strings.Repeat("0", 64)+`"}}`, 3, 7)
	f.Add(forged(f, gone[0], 2, strings.Repeat("ab", 32)), 0, 0)
	f.Add(forged(f, gone[2], 3, ""), 0, 0)
	f.Add(forged(f, whole[4], 5, strings.Repeat("ab", 32)), 0, 0)
	f.Add(gone[1]+gone[2], 0, 0)
	f.Fuzz(func(t *testing.T, text string, from, to int) {
		for name, test := range map[string]struct {
			lines   []string
			options chain.VerifyOptions
		}{
			"whole":         {whole, chain.VerifyOptions{Key: key, Checkpoints: points}},
			"start is gone": {whole, chain.VerifyOptions{Key: key, Since: points}},
			"cut":           {left, chain.VerifyOptions{Key: key}},
		} {
			honest := strings.Join(test.lines, "")
			n := len(honest)
			from, to := (from%n+n)%n, (to%n+n)%n
			if from > to {
				from, to = to, from
			}
			texts := []string{honest[:from] + text + honest[to:], text}
			report, err := chain.Verify(files(texts...), test.options)
			if err != nil {
				t.Fatal(err)
			}
			// What was not written with the key is never proven.
			if report.Records > int64(len(written)) {
				t.Errorf("%s: %d records of %d are proven: %v", name, report.Records, len(written),
					report.Findings)
			}
			unproven := map[string]bool{}
			for _, finding := range report.Findings {
				if strings.TrimSpace(finding.String()) == "" {
					t.Error("an empty finding")
				}
				if finding.Kind == "unproven" {
					unproven[fmt.Sprint(finding.Source, ":", finding.Line)] = true
				}
			}
			if len(unproven) > 0 && len(test.options.Since) == 0 || len(unproven) > 1 {
				t.Errorf("%s: %v", name, report.Findings)
			}
			if !report.Sound() {
				continue
			}
			if name == "whole" && report.Records < int64(len(whole)) {
				t.Errorf("%s: %q for %q is not noticed", name, text, honest[from:to])
			}
			for i, text := range texts {
				// what is after the last end is a line that was torn, or nothing
				lines := strings.Split(text, "\n")
				for k, line := range lines[:len(lines)-1] {
					if at := fmt.Sprint("f", i, ":", k+1); !written[line] &&
						!(unproven[at] && macs[place(line)]) {
						t.Errorf("%s: %s: %q was never written, and passes for sound: %v", name, at,
							line, report.Findings)
					}
				}
			}
		}
	})
}

func BenchmarkVerify(b *testing.B) {
	m := &memory{}
	c := begin(b, m, chain.Options{Interval: time.Hour})
	for i := range 10000 {
		put(b, c, fmt.Sprint(i))
	}
	text := m.text()
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if got := verified(b, chain.VerifyOptions{}, text); !got.Sound() {
			b.Fatal(got.Findings)
		}
	}
}

// pairs writes intents, and the outcomes of those that have one.
func pairs(t tb, c *chain.Chain, outcomes map[string]bool, ids ...string) {
	t.Helper()
	for _, id := range ids {
		e := audit.Event{RequestID: id, Tool: "pay", Status: audit.Intent}
		if err := c.Record(context.Background(), e); err != nil {
			t.Error(err)
		}
		if e.Status, e.Intended = audit.Success, true; outcomes[id] {
			if err := c.Record(context.Background(), e); err != nil {
				t.Error(err)
			}
		}
	}
}

func TestIntentWithoutAnOutcomeIsFoundAndIsNoTampering(t *testing.T) {
	m := &memory{}
	c := begin(t, m, chain.Options{})
	pairs(t, c, map[string]bool{"a": true, "d": true}, "a", "b", "c")
	put(t, c, "b") // another event of the request, as of a permission request
	pairs(t, c, map[string]bool{"d": true}, "d")
	var lines []string
	for _, line := range m.lines {
		lines = append(lines, string(line)+"\n")
	}
	for name, files := range map[string][]string{
		"in one file": {strings.Join(lines, "")},
		"in order": {strings.Join(lines[:1], ""), strings.Join(lines[1:6], ""),
			strings.Join(lines[6:], "")},
		"the newest first": {strings.Join(lines[6:], ""), strings.Join(lines[1:6], ""),
			strings.Join(lines[:1], "")},
		"each in one itself": {lines[6], lines[5], lines[4], lines[3], lines[2], lines[1],
			lines[0]},
	} {
		got := verified(t, chain.VerifyOptions{}, files...)
		var found []string
		for _, f := range got.Findings {
			found = append(found, fmt.Sprint(f.Kind, " ", f.Seq, " ", f.Tampering()))
			if !strings.Contains(f.What, `called "pay"`) || f.Chain == "" ||
				f.Line == 0 {
				t.Errorf("%s: %s", name, f)
			}
		}
		slices.Sort(found)
		if fmt.Sprint(found) != "[no outcome 3 false no outcome 4 false]" || !got.Sound() ||
			got.NoOutcome != 2 || got.More != 0 || got.Records != 7 {
			t.Errorf("%s: %v, %+v", name, found, got)
		}
	}
}

// However many calls have no outcome, they hide no other finding, and pass for none.
func TestCallsWithoutOutcomeTakeNoRoomOfOtherFindings(t *testing.T) {
	m := &memory{}
	c := begin(t, m, chain.Options{})
	for i := range 1500 {
		pairs(t, c, nil, fmt.Sprint(i))
	}
	if got := verified(t, chain.VerifyOptions{}, m.text()); !got.Sound() || got.NoOutcome != 1500 ||
		len(got.Findings) != 1000 {
		t.Errorf("sound %v, %d without an outcome, %d findings", got.Sound(), got.NoOutcome,
			len(got.Findings))
	}
	text := strings.Replace(m.text(), `"request_id":"1400"`, `"request_id":"1401"`, 1)
	if got := verified(t, chain.VerifyOptions{}, text); got.Sound() ||
		got.Findings[0].Kind != "altered" || len(got.Findings) != 1000 {
		t.Errorf("%v of %d", got.Findings[0], len(got.Findings))
	}
}
