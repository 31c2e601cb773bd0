// Command timing measures whether response times distinguish a hidden name from an unknown one:
// the name of a tool or prompt, a URI, a value of an argument, or the id of a task. It also has
// rows of the exceptions of docs/explanation/threats.md, where they do.
//
// The caller has the lowest role, and hidden things need the highest. Each pair of messages has one
// hidden and one unknown name of the same length, in random order. Each row has a control, in which
// both names are unknown. The rows take turns in random order, block by block, and the garbage
// collector runs between blocks only.
//
// For each row the table has the trimmed mean of the paired differences with Yuen's standard error
// (of the winsorized differences), and its 99 percent interval after Holm's correction over all
// rows. The command exits with 0 whatever it measures.
package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	goruntime "runtime"

	"github.com/mcpgen/mcpgen/runtime"
)

func main() {
	pairs := flag.Int("n", 6000, "pairs of calls of each row")
	trim := flag.Float64("trim", 0.2, "share of the differences that is trimmed at each end")
	seed := flag.Uint64("seed", 1, "of the order of rows and of the calls of a pair")
	only := flag.String("rows", "", "a regular expression of the names to measure; all if empty")
	markdown := flag.Bool("markdown", false, "print the table of docs/explanation/threats.md")
	flag.Parse()
	if *pairs < 2 || *trim < 0 || *trim >= 0.5 {
		log.Fatal("timing: -n is at least 2, and -trim at least 0 and less than 0.5")
	}
	names, err := regexp.Compile(*only)
	if err != nil {
		log.Fatal("timing: -rows: ", err)
	}
	rows, err := measure(names, *pairs, *trim, *seed)
	if err != nil {
		log.Fatal("timing: ", err)
	}
	if *markdown {
		printMarkdown(os.Stdout, rows)
	} else if err := print(os.Stdout, rows, *trim); err != nil {
		log.Fatal("timing: ", err)
	}
}

const (
	block  = 100 // pairs between two garbage collections
	warmup = 3   // blocks that are not counted
	level  = 0.99
	stdio  = "stdio"
	modern = "2026-07-28"
)

// caller sends a message with a name, and returns its duration and its response.
type caller func(name string) (time.Duration, []byte, error)

type row struct {
	of                 subject
	version, transport string // empty for the decision alone
	control            bool
	call               caller
	first, second      func(hidden string) string // the names of a pair
	made               int                        // pairs
	differences        []float64                  // first minus second, in microseconds
	durations          []float64                  // of both

	mean, se, p, low, high float64
}

// String is the name of the row in the table.
func (r *row) String() string {
	all := []string{r.of.name, r.transport, r.version}
	if r.control {
		all = append(all, "control")
	}
	return strings.Join(slices.DeleteFunc(all, func(s string) bool { return s == "" }), ", ")
}

// measure makes the pairs of all rows whose names match.
func measure(names *regexp.Regexp, pairs int, trim float64, seed uint64) ([]*row, error) {
	folder, err := os.MkdirTemp("", "timing")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	server, err := newServer(folder, nil, nil)
	if err != nil {
		return nil, err
	}
	defer server.Shutdown(context.Background())
	web := httptest.NewServer(server.Handler())
	defer web.Close()
	rows, err := newRows(server, web, folder, names)
	if err != nil {
		return nil, err
	}
	random := rand.New(rand.NewPCG(seed, 0))
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	for done := -warmup * block; done < pairs; done += block {
		for _, i := range random.Perm(len(rows)) {
			r := rows[i]
			goruntime.GC()
			for range min(block, cmp.Or(min(r.of.pairs, pairs), pairs)-done) {
				if err := r.pair(random.IntN(2) == 0, done >= 0); err != nil {
					return nil, fmt.Errorf("%s: %w", r, err)
				}
			}
		}
	}
	for _, r := range rows {
		r.estimate(trim)
	}
	correct(rows)
	return rows, nil
}

// pair makes one pair of calls.
func (r *row) pair(swap, counts bool) error {
	hidden := r.of.hidden[r.made%len(r.of.hidden)]
	r.made++
	names := [2]string{r.first(hidden), r.second(hidden)}
	if swap {
		names[0], names[1] = names[1], names[0]
	}
	var took [2]float64
	var bodies [2][]byte
	for i, name := range names {
		duration, body, err := r.call(name)
		if err != nil {
			return err
		}
		took[i] = float64(duration.Nanoseconds()) / 1e3
		shown := name[:min(len(name), 256)] // a response has the beginning of a long name
		if bodies[i] = bytes.ReplaceAll(body, []byte(shown), nil); !bytes.Contains(
			body, []byte(r.of.refusal)) {
			return fmt.Errorf("the message with %s has the response %s", name, body)
		}
	}
	if !bytes.Equal(bodies[0], bodies[1]) {
		return fmt.Errorf("the responses differ: %s and %s", bodies[0], bodies[1])
	}
	if swap {
		took[0], took[1] = took[1], took[0]
	}
	if counts {
		r.differences = append(r.differences, took[0]-took[1])
		r.durations = append(r.durations, took[0], took[1])
	}
	return nil
}

// estimate computes the trimmed mean, its standard error and the p-value.
func (r *row) estimate(trim float64) {
	slices.Sort(r.differences)
	slices.Sort(r.durations)
	n := len(r.differences)
	cut := int(trim * float64(n))
	kept := r.differences[cut : n-cut]
	for _, d := range kept {
		r.mean += d / float64(len(kept))
	}
	// The winsorized differences have the last kept value in place of each trimmed one.
	winsorized, squares := 0.0, 0.0
	at := func(i int) float64 { return r.differences[min(max(i, cut), n-cut-1)] }
	for i := range n {
		winsorized += at(i) / float64(n)
	}
	for i := range n {
		squares += (at(i) - winsorized) * (at(i) - winsorized)
	}
	r.se = math.Sqrt(squares/float64(n-1)) / ((1 - 2*trim) * math.Sqrt(float64(n)))
	r.p = math.Erfc(math.Abs(r.mean/r.se) / math.Sqrt2)
}

// correct sets the intervals. Holm's method takes the smallest p-value at the level of all rows,
// the next one at the level of one row less, and so on up to the first that is not significant.
func correct(rows []*row) {
	ordered := slices.SortedFunc(slices.Values(rows),
		func(a, b *row) int { return cmp.Compare(a.p, b.p) })
	tests := len(ordered)
	for _, r := range ordered {
		alpha := (1 - level) / float64(tests)
		z := math.Sqrt2 * math.Erfinv(1-alpha)
		r.low, r.high = r.mean-z*r.se, r.mean+z*r.se
		if r.p <= alpha {
			tests--
		}
	}
}

func print(out io.Writer, rows []*row, trim float64) error {
	fmt.Fprintf(out, "%g%% of the differences trimmed at each end; times in microseconds\n",
		100*trim)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w,
		"row\tpairs\tmedian call\tdifference\tstd. error\tt\t99% interval\twidth\tcontains 0\t")
	for _, r := range rows {
		contains := "no"
		if r.contains0() {
			contains = "yes"
		}
		fmt.Fprintf(w, "%s\t%d\t%.1f\t%+.2f\t%.2f\t%+.2f\t%+.2f to %+.2f\t%.2f\t%s\t\n", r,
			len(r.differences), r.durations[len(r.durations)/2], r.mean, r.se, r.mean/r.se, r.low,
			r.high, r.high-r.low, contains)
	}
	return w.Flush()
}

func (r *row) contains0() bool { return r.low <= 0 && 0 <= r.high }

// printMarkdown prints the intervals, and how many of the controls contain 0.
func printMarkdown(out io.Writer, rows []*row) {
	lines := map[string][]string{} // by their first cell
	var order []string
	controls, contain := 0, 0
	for _, r := range rows {
		if r.control {
			controls++
			if r.contains0() {
				contain++
			}
			continue
		}
		name := strings.TrimSuffix(r.of.name+", "+r.transport, ", ")
		if lines[name] == nil {
			lines[name] = slices.Repeat([]string{"-"}, len(versions))
			order = append(order, name)
		}
		for i, version := range versions {
			if r.version == version || r.version == "" {
				lines[name][i] = fmt.Sprintf("%.2f to %.2f", r.low, r.high)
			}
		}
	}
	fmt.Fprintf(out, "| | %s |\n|---|%s\n", strings.Join(versions, " | "),
		strings.Repeat("---|", len(versions)))
	for _, name := range order {
		fmt.Fprintf(out, "| %s | %s |\n", name, strings.Join(lines[name], " | "))
	}
	fmt.Fprintf(out, "\n%d of %d controls contain 0.\n", contain, controls)
}

// newRows opens a client of each kind, and makes a row and its control for each. The decision alone
// has no control.
func newRows(common *runtime.Server, web *httptest.Server, folder string,
	only *regexp.Regexp) (rows []*row, err error) {
	task, err := newTask(common, web.URL+runtime.PathMCP)
	if err != nil {
		return nil, err
	}
	add := func(s subject, version, transport string, call caller) {
		same := func(hidden string) string { return hidden }
		other := func(letter string) func(string) string {
			return func(hidden string) string { return s.unknown(hidden, letter) }
		}
		r := row{of: s, version: version, transport: transport, call: call, first: same,
			second: other("x")}
		rows = append(rows, &r)
		// The decision of two unknown names differs by how a map of Go finds no entry.
		if s.method != "" {
			control := r
			control.first, control.control = other("q"), true
			rows = append(rows, &control)
		}
	}
	for _, s := range subjects(task) {
		if !only.MatchString(s.name) {
			continue
		}
		server := common
		if s.options != nil {
			var more []string
			if s.method == "tools/call" {
				more = s.hidden
			}
			if server, err = newServer(folder, s.options, more); err != nil {
				return nil, err
			}
		}
		for _, version := range versions {
			if s.version != "" && s.version != version {
				continue
			}
			call, err := overHTTP(inProcess(server.Handler()), web.URL+runtime.PathMCP, version,
				"viewer", s)
			if err != nil {
				return nil, err
			}
			add(s, version, "in process", call)
			if !s.everywhere {
				continue
			}
			call, err = overHTTP(overTCP(web.Client()), web.URL+runtime.PathMCP, version,
				"viewer", s)
			if err != nil {
				return nil, err
			}
			add(s, version, "TCP", call)
			add(s, version, stdio, overStdio(server, version, s))
		}
	}
	if only.MatchString(decided.name) {
		add(decided, "", "", decides(common.Table()))
	}
	return rows, nil
}

var versions = []string{"2025-11-25", modern}

func body(version, method, params string) string {
	if version == modern {
		params = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
			`"io.modelcontextprotocol/clientCapabilities":{"extensions":{` +
			`"io.modelcontextprotocol/tasks":{}}}},` + params
	}
	return `{"jsonrpc":"2.0","id":7,"method":"` + method + `","params":{` + params + `}}`
}

func initialize(version string) string {
	return body(version, "initialize", `"protocolVersion":"`+version+
		`","capabilities":{},"clientInfo":{"name":"timing","version":"1"}`)
}

// overHTTP opens a session if the version has sessions.
func overHTTP(send func(*http.Request) ([]byte, http.Header, time.Duration, error), url, version,
	token string, s subject) (caller, error) {
	session := ""
	request := func(body, name string) (*http.Request, error) {
		r, err := http.NewRequest(http.MethodPost, url, strings.NewReader(body))
		if err != nil {
			return nil, err
		}
		r.Header.Set("Authorization", "Bearer "+token)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		switch {
		case version == modern:
			r.Header.Set("Mcp-Protocol-Version", version)
			r.Header.Set("Mcp-Method", s.method)
			if s.header != "" {
				r.Header.Set("Mcp-Name", strings.ReplaceAll(s.header, "NAME", name))
			}
		case session != "":
			r.Header.Set("Mcp-Protocol-Version", version)
			r.Header.Set("Mcp-Session-Id", session)
		}
		return r, nil
	}
	if version != modern {
		for _, body := range []string{initialize(version),
			`{"jsonrpc":"2.0","method":"notifications/initialized"}`} {
			r, err := request(body, "")
			if err != nil {
				return nil, err
			}
			_, header, _, err := send(r)
			if err != nil {
				return nil, err
			}
			session = cmp.Or(header.Get("Mcp-Session-Id"), session)
		}
	}
	return func(name string) (time.Duration, []byte, error) {
		r, err := request(s.body(version, name), name)
		if err != nil {
			return 0, nil, err
		}
		text, _, took, err := send(r)
		return took, text, err
	}, nil
}

// recorder is a ResponseWriter that is used again.
type recorder struct {
	header http.Header
	bytes.Buffer
}

func (r *recorder) Header() http.Header { return r.header }
func (r *recorder) WriteHeader(int)     {}
func (r *recorder) Flush()              {}

func inProcess(handler http.Handler) func(*http.Request) (
	[]byte, http.Header, time.Duration, error) {
	w := &recorder{header: http.Header{}}
	return func(r *http.Request) ([]byte, http.Header, time.Duration, error) {
		w.Reset()
		clear(w.header)
		r.RemoteAddr = "127.0.0.1:1"
		began := time.Now()
		handler.ServeHTTP(w, r)
		took := time.Since(began)
		return w.Bytes(), w.header, took, nil
	}
}

func overTCP(client *http.Client) func(*http.Request) ([]byte, http.Header, time.Duration, error) {
	return func(r *http.Request) ([]byte, http.Header, time.Duration, error) {
		began := time.Now()
		res, err := client.Do(r)
		if err != nil {
			return nil, nil, 0, err
		}
		text, err := io.ReadAll(res.Body)
		took := time.Since(began)
		return text, res.Header, took, errors.Join(err, res.Body.Close())
	}
}

// overStdio serves on a pair of pipes.
func overStdio(server *runtime.Server, version string, s subject) caller {
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	go func() {
		out.CloseWithError(server.RunIO(
			context.Background(), in, out, principals["viewer"]))
	}()
	lines := bufio.NewReader(fromServer)
	exchange := func(line string) (time.Duration, []byte, error) {
		text := []byte(line + "\n")
		began := time.Now()
		if _, err := toServer.Write(text); err != nil {
			return 0, nil, err
		}
		response, err := lines.ReadBytes('\n')
		return time.Since(began), response, err
	}
	opened := version == modern
	return func(name string) (time.Duration, []byte, error) {
		if !opened {
			if _, _, err := exchange(initialize(version)); err != nil {
				return 0, nil, err
			}
			opened = true
		}
		return exchange(s.body(version, name))
	}
}
