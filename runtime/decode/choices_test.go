package decode_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/runtime/decode"
)

// order is what the decoders of the test read.
type order struct{ Action, Mode, Note string }

// reader returns a decoder as mcpgen generates it, for enums of some values. Without the default
// among its values the mode is required.
func reader(actions, modes []string) func(*decode.Reader, *order) {
	optional := slices.Contains(modes, "deep")
	names, required := []string{"action", "mode", "note"}, 2
	if optional {
		names, required = []string{"action", "note", "mode"}, 1
	}
	return func(r *decode.Reader, v *order) {
		if optional {
			v.Mode = "deep"
		}
		o := r.Object(required, names...)
		for o.Next() {
			switch names[o.Property] {
			case "action":
				decode.String(r, &v.Action).OneOf(actions...)
			case "mode":
				decode.String(r, &v.Mode).OneOf(modes...)
			case "note":
				decode.String(r, &v.Note).MaxLength(3)
			}
		}
	}
}

// A decoder with choices accepts and reports exactly what the decoder of a schema with fewer values
// does.
func TestChoicesAreASmallerEnum(t *testing.T) {
	actions, modes := []string{"list", "add", "delete"}, []string{"fast", "deep"}
	random := rand.New(rand.NewPCG(1, 2))
	some := func(of []string) (list []string) {
		for len(list) == 0 {
			list = slices.DeleteFunc(slices.Clone(of), func(string) bool {
				return random.IntN(2) == 0
			})
		}
		return list
	}
	pick := func(texts ...string) string { return texts[random.IntN(len(texts))] }
	refusals := 0
	for range 20_000 {
		var members []string
		for _, name := range []string{"action", "mode", "note", "moed"} {
			if random.IntN(4) == 0 {
				continue
			}
			value := pick(`"list"`, `"add"`, `"delete"`, `"d\u0065lete"`, `"fast"`, `"deep"`, `"x"`,
				`"long"`, `null`, `1`, `["delete"]`, `{"action":"delete"}`, `"DELETE"`)
			members = append(members, fmt.Sprintf("%q:%s", name, value))
			if random.IntN(20) == 0 {
				members = append(members, members[0])
			}
		}
		random.Shuffle(len(members), func(i, j int) {
			members[i], members[j] = members[j], members[i]
		})
		doc := "{" + strings.Join(members, ",") + pick("}", "}", "}", "", "}}")
		a, m := some(actions), some(modes)
		choices := &decode.Choices{Of: []decode.Choice{
			{Property: "action", Values: a}, {Property: "mode", Values: m}}}
		if !slices.Contains(m, "deep") {
			choices.Of[1].Refused = new("deep")
		}
		got, gotErr := decode.ArgumentsOf([]byte(doc), choices, reader(actions, modes))
		want, wantErr := decode.Arguments([]byte(doc), reader(a, m))
		if got != want || fmt.Sprint(gotErr) != fmt.Sprint(wantErr) {
			t.Fatalf("%s with %v and %v:\n%v, %v\nwant %v, %v",
				doc, a, m, got, gotErr, want, wantErr)
		}
		if len(choices.Refused) > 0 {
			refusals++
			if gotErr == nil {
				t.Fatalf("%s: %v is refused and accepted", doc, choices.Refused)
			}
		}
	}
	if refusals < 100 {
		t.Errorf("%d refusals: too few to prove much", refusals)
	}
}

func TestChoicesReportWhatIsRefused(t *testing.T) {
	for doc, want := range map[string]string{
		`{"action":"delete"}`:                               "[{action delete true} {mode deep true}]",
		`{"action":"delete","mode":"fast"}`:                 "[{action delete true}]",
		`{"action":"erase","mode":"fast"}`:                  "[{action erase false}]",
		`{"action":"list","mode":"fast"}`:                   "[]",
		`{"action":"list","mode":"fast","note":"delete"}`:   "[]",
		`{"action":"list","mode":"fast","delete":"delete"}`: "[]",
	} {
		choices := &decode.Choices{Of: []decode.Choice{
			{Property: "action", Values: []string{"list"}},
			{Property: "mode", Values: []string{"fast"}, Refused: new("deep")}}}
		_, _ = decode.ArgumentsOf([]byte(doc), choices,
			reader([]string{"list", "delete"}, []string{"fast", "deep"}))
		if got := fmt.Sprint(choices.Refused); got != want {
			t.Errorf("%s: refused %s, want %s", doc, got, want)
		}
	}
}
