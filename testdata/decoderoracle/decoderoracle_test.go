package decoderoracle

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/mcpgen/mcpgen/runtime/decode"
	"github.com/mcpgen/mcpgen/runtime/decode/validator"
)

var (
	documents = flag.Int("documents", 100_000, "how many documents to decode")
	seed      = flag.Uint64("seed", 1, "where the drawing of documents starts")
)

// test is one decoder and its schema.
type test struct {
	name   string
	schema string
	decode func([]byte) (any, error)
	check  func(json.RawMessage) (any, error) // by the schema validator of this module
	// without decodes for a caller who does not see some fields.
	without func(doc []byte, hidden []string) (any, error)
}

func of[T any](name string, read func(*decode.Reader, *T), schema string) test {
	return test{
		name: name, schema: schema,
		decode: func(doc []byte) (any, error) { return decode.Arguments(doc, read) },
		check:  func(doc json.RawMessage) (any, error) { return validator.Decode[T](doc, schema) },
		without: func(doc []byte, hidden []string) (any, error) {
			return decode.ArgumentsOf(doc, &decode.Choices{Hidden: hidden}, read)
		},
	}
}

// judge is the independent validator, with the formats that this module reads more strictly.
func judge(t *testing.T, schema string) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(schema))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	for _, name := range decode.Formats() {
		c.RegisterFormat(&jsonschema.Format{Name: name, Validate: func(v any) error {
			if s, ok := v.(string); ok && !decode.IsFormat(name, s) {
				return fmt.Errorf("not a %s", name)
			}
			return nil
		}})
	}
	if err := c.AddResource("test:///schema.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("test:///schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestDecodersAgreeWithTheirSchemas decodes random documents, valid, nearly valid and hostile,
// by every generated decoder. The independent validator must be of the same opinion, but for the
// exceptions that the design names; what is decoded must encode to the document again.
func TestDecodersAgreeWithTheirSchemas(t *testing.T) {
	if len(cases) < 300 {
		t.Fatalf("%d types, want at least 300", len(cases))
	}
	judges := make([]*jsonschema.Schema, len(cases))
	for i, c := range cases {
		judges[i] = judge(t, c.schema)
	}
	defer debug.SetGCPercent(debug.SetGCPercent(400)) // garbage is most of what a document leaves
	var total count
	var wait sync.WaitGroup
	var lock sync.Mutex
	each := *documents/len(cases) + 1
	shards := (each + shard - 1) / shard
	var next atomic.Int64
	const million = 1_000_000
	for range runtime.GOMAXPROCS(0) {
		wait.Go(func() {
			for {
				n := int(next.Add(1)) - 1
				if n >= shards*len(cases) {
					return
				}
				i, part := n%len(cases), n/len(cases)
				var c count
				agree(t, cases[i], judges[i], uint64(n), min(shard, each-part*shard), &c)
				lock.Lock()
				before := (total.accepted + total.refused) / million
				total.add(c)
				if *documents > million && (total.accepted+total.refused)/million > before {
					fmt.Printf("%d documents, %d disagreements\n", total.accepted+total.refused, total.disagreements)
				}
				lock.Unlock()
			}
		})
	}
	wait.Wait()
	n := total.accepted + total.refused
	t.Logf("%d documents on %d types, seed %d: %.1f %% accepted, %.1f %% refused, of these %.1f %% by exceptions of the design, %d disagreements; %d compared with validator in value and words",
		n, len(cases), *seed, percent(total.accepted, n), percent(total.refused, n), percent(total.exceptions, n), total.disagreements, total.compared)
	if percent(total.accepted, n) < 30 || percent(total.refused, n) < 30 {
		t.Error("less than 30 % are accepted or refused: the documents prove too little")
	}
}

// shard is how many documents of one type a worker draws before it looks for other work. Each shard
// has a stream of random numbers of its own, so that what is drawn does not depend on the workers.
const shard = 500

type count struct{ accepted, refused, exceptions, disagreements, compared int }

func (c *count) add(o count) {
	c.accepted += o.accepted
	c.refused += o.refused
	c.exceptions += o.exceptions
	c.disagreements += o.disagreements
	c.compared += o.compared
}

func percent(part, whole int) float64 { return 100 * float64(part) / float64(max(whole, 1)) }

// shown is how many disagreements of one type are reported.
const shown = 3

func agree(t *testing.T, c test, schema *jsonschema.Schema, stream uint64, n int, total *count) {
	d := drawer{rand: rand.New(rand.NewPCG(*seed, stream))}
	if err := json.Unmarshal([]byte(c.schema), &d.root); err != nil {
		t.Error(err)
		return
	}
	found := 0
	for i := range n {
		doc := d.document()
		value, err := c.decode(doc)
		if err == nil {
			total.accepted++
		} else {
			total.refused++
		}
		complaint := ""
		if scanned := decode.Scan(doc, decode.Limits{}); scanned != nil {
			total.exceptions++
			if err == nil || err.Error() != scanned.Error() {
				complaint = fmt.Sprintf("Scan says %v", scanned)
			}
		} else {
			complaint = opinion(schema, doc, value, err, total)
			if complaint == "" && i%16 == 0 {
				total.compared++
				complaint = sameWords(c, doc, value, err)
			}
		}
		if complaint == "" {
			continue
		}
		total.disagreements++
		if found++; found <= shown {
			t.Errorf("%s\n%s\n%s\ndecoder: %v\n%+v", c.name, doc, complaint, err, value)
		}
	}
}

// opinion compares with the independent validator.
func opinion(schema *jsonschema.Schema, doc []byte, value any, err error, total *count) string {
	read, parsed := jsonschema.UnmarshalJSON(bytes.NewReader(doc))
	if parsed != nil {
		return fmt.Sprintf("encoding/json says %v", parsed)
	}
	switch refused := schema.Validate(read); {
	case refused != nil && err == nil:
		return fmt.Sprintf("the schema says %v", refused)
	case refused != nil:
		return ""
	case err != nil && !excepted(err):
		return "the schema accepts it"
	case err != nil:
		total.exceptions++
		return ""
	}
	again, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprintf("the value cannot be encoded: %v", err)
	}
	if bytes.Equal(again, doc) {
		return ""
	}
	back, err := jsonschema.UnmarshalJSON(bytes.NewReader(again))
	if err != nil {
		return err.Error()
	}
	if why := differ("", read, back); why != "" {
		return fmt.Sprintf("it encodes to another document, %s: %s", why, again)
	}
	return ""
}

// excepted reports whether every problem is that the Go type cannot hold the value.
func excepted(err error) bool {
	refused, ok := err.(*decode.Error)
	if !ok {
		return false
	}
	for _, p := range refused.Problems {
		if !strings.Contains(p.Message, decode.RefusedMessage) && !strings.Contains(p.Message, "is beyond the range ") &&
			p.Message != decode.Base64Message && !strings.HasSuffix(p.Message, decode.Base64Message) &&
			p.Message != decode.BadIndexMessage && p.Message != decode.SameKeyMessage {
			return false
		}
	}
	return true
}

// sameWords compares with the module's own validator: the value with its defaults, or the words.
func sameWords(c test, doc []byte, value any, err error) string {
	want, wantErr := c.check(doc)
	if (err == nil) != (wantErr == nil) {
		return fmt.Sprintf("package validator says %v", wantErr)
	}
	if err == nil {
		a, errA := json.Marshal(value)
		b, errB := json.Marshal(want)
		if errA != nil || errB != nil || !bytes.Equal(a, b) && differ("", tree(a), tree(b))+differ("", tree(b), tree(a)) != "" {
			return fmt.Sprintf("package validator makes %s instead of %s", b, a)
		}
		return ""
	}
	// The validator looks at what a Go type holds after the schema is satisfied, generated code
	// at once: what the validator says must be said, in the same words.
	told := map[string]bool{}
	refused := err.(*decode.Error)
	for _, p := range refused.Problems {
		told[p.String()] = true
	}
	for _, p := range wantErr.(*decode.Error).Problems {
		if strings.Contains(p.Message, decode.NoMatchMessage) {
			continue // generated code knows which of value and null was meant
		}
		if !told[p.String()] && len(refused.Problems) <= decode.MaxProblems {
			return "package validator says " + p.String()
		}
	}
	return ""
}

func tree(doc []byte) any {
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(doc))
	if err != nil {
		return err
	}
	return v
}
