package guardedtype

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

const own = "github.com/mcpgen/mcpgen/internal/guardedtype."

type (
	person struct {
		Name   string `json:"name"`
		Salary *int   `json:"salary,omitempty"`
		Secret string `json:"-"`
	}
	Base struct {
		ID    int
		Bonus string `json:"bonus"`
	}
	employee person // a type of its own
	// shadowed has a field in place of a guarded one, which is not encoded.
	shadowed struct {
		Base
		Bonus int `json:"bonus"`
	}
	// renamed embeds a type as a member.
	renamed struct {
		Base `json:"base"`
	}
	page[T any] struct {
		Items []T `json:"items"`
		Next  *page[T]
	}
	box[T any] struct {
		Inner T
		Pay   int
	}
	holder struct {
		*Base
		Any   any            `json:"any"`
		Named map[string]any `json:"named"`
		List  []any          `json:"list"`
		Last  *holder        `json:"last"`
		Plain person         `json:"plain"`
		Err   error          `json:"err"`
		none  any
		Never any `json:"-"`
	}
	marshaler struct{ person }
	Open      struct{ Any any }
	Loop      struct {
		*Loop
		Any any
	}
	node struct {
		Next  *node
		List  []any
		Named map[string]any
		Any   any
	}
)

func (marshaler) MarshalJSON() ([]byte, error) { return []byte(`"text"`), nil }

// ordered is as containers of other modules are: its method encodes fields that encoding/json does
// not have.
type ordered[V any] struct{ values map[string]V }

func (o ordered[V]) MarshalJSON() ([]byte, error) { return json.Marshal(o.values) }

type (
	sealed  struct{ of person }
	sealeds []sealed
	current struct{ of atomic.Pointer[person] }
)

func (s sealeds) MarshalJSON() ([]byte, error) { return json.Marshal(s[0].of) }

func (c *current) MarshalJSON() ([]byte, error) { return json.Marshal(c.of.Load()) }

// key is a key of maps, by its method for text.
type key struct{ person }

func (key) MarshalText() ([]byte, error) { return nil, nil }

var (
	salary, bonus, pay = own + "person.Salary", own + "Base.Bonus", own + "box.Pay"
	rules              = []string{salary, bonus, pay, own + "person.Secret",
		"example.com/a.person.Name"}
	paid = person{Name: "a", Salary: new(7)}
)

func TestGuardedFieldsAreFoundBelowInterfaces(t *testing.T) {
	for name, tc := range map[string]struct {
		value     any
		described []string
		want      string // of the error: where and what
	}{
		"nil":                       {nil, nil, ""},
		"no type with a rule":       {map[string]any{"a": []any{1, "a", nil}}, nil, ""},
		"described":                 {paid, []string{salary}, ""},
		"described in another type": {page[*person]{}, []string{salary}, ""},
		"a root of type any":        {paid, nil, "person as a whole " + salary},
		"a root below pointers": {new(new(paid)), nil, "**guardedtype.person as a whole " +
			salary},
		"a nil pointer":          {[]any{(*person)(nil), new((*person)(nil)), 1}, nil, ""},
		"a nil pointer as whole": {(*person)(nil), nil, ""},
		"a nil list or map": {holder{Any: []person(nil), Named: map[string]any{
			"a": map[int]Base(nil)}}, []string{salary, bonus}, ""},
		"an empty list":                {[]any{[]person{}}, nil, "[]guardedtype.person at /0 " + salary},
		"another type with its fields": {employee(paid), nil, ""},
		"a generic type":               {box[int]{}, nil, "guardedtype.box[int] as a whole " + pay},
		"an embedded type": {struct{ Base }{}, nil,
			"struct { guardedtype.Base } as a whole " + bonus},
		"an embedded type with a name": {renamed{}, nil, "guardedtype.renamed as a whole " + bonus},
		"a hidden field":               {shadowed{}, nil, ""},
		"a type with a JSON method": {[]any{marshaler{}}, nil, "guardedtype.marshaler at /0 " +
			salary},
		"a JSON method of unexported fields": {[]any{ordered[*person]{}}, nil,
			"guardedtype.ordered[*" + own + "person] at /0 " + salary},
		"a JSON method of a pointer": {&ordered[person]{}, nil,
			"*guardedtype.ordered[" + own + "person] as a whole " + salary},
		"a JSON method of fields within unexported fields": {[]any{ordered[struct{ of []sealed }]{}}, nil,
			" at /0 " + salary},
		"a JSON method that reads an atomic pointer": {[]any{new(current)}, nil,
			"*guardedtype.current at /0 " + salary},
		"a JSON method of a list": {[]any{sealeds{{}}}, nil,
			"guardedtype.sealeds at /0 " + salary},
		"unexported fields without a JSON method": {struct{ of *person }{}, nil, ""},
		"keys of a map": {[]any{map[key]int{}}, nil,
			"map[guardedtype.key]int at /0 " + salary},
		"any": {holder{Any: paid}, []string{salary, bonus},
			"guardedtype.person at /any " + salary},
		"any without a rule": {holder{Any: employee(paid), List: []any{nil, 1}}, []string{salary, bonus},
			""},
		"a field that is not encoded": {holder{none: paid, Never: paid}, []string{salary, bonus}, ""},
		"a list in a map": {holder{Named: map[string]any{"x": []any{1, &paid}}}, []string{salary, bonus},
			"*guardedtype.person at /named/*/1 " + salary},
		"below a pointer": {&holder{Last: &holder{List: []any{page[person]{}}}}, []string{salary, bonus},
			"guardedtype.page[" + own + "person] at /last/list/0 " + salary},
		"in an array": {[1]any{Base{}}, nil, "guardedtype.Base at /0 " + bonus},
		"in a map": {map[int]any{3: Base{}}, nil,
			"guardedtype.Base at /* " + bonus},
		"a nil pointer to an embedded type": {struct{ *Open }{}, nil, ""},
		"a type that embeds itself":         {Loop{}, nil, ""},
		"in an embedded type": {[]any{Loop{Any: paid}}, nil,
			"guardedtype.person at /0/Any " + salary},
		"a cycle": {cycle(nil), nil, ""},
		"a cycle with a field": {cycle(&paid), []string{salary, bonus},
			"*guardedtype.person at /0/Next/Any " + salary},
		"deep": {deep(maxDepth/2 + 10), nil, "too deep"},
	} {
		t.Run(name, func(t *testing.T) {
			err := newTypes(rules, "example.com/main").Check(tc.value, tc.described)
			var found *Unguarded
			switch {
			case tc.want == "" && err != nil, tc.want != "" && err == nil:
				t.Fatalf("Check reports %v", err)
			case err == nil || tc.want == "too deep":
				return
			case !errors.As(err, &found) || found.field == "":
				t.Fatalf("Check reports %v", err)
			}
			at := "as a whole"
			if found.at != "" {
				at = "at " + found.at
			}
			if got := found.typ.String() + " " + at + " " + found.field; !strings.HasSuffix(got, tc.want) {
				t.Errorf("Check reports %s, want %s", got, tc.want)
			}
		})
	}
}

// cycle returns values that refer to each other in many ways, as a type with a JSON method can do.
func cycle(end any) any {
	a, b := &node{}, &node{}
	a.Next, a.List, b.Next, b.List = b, []any{b, a, b}, a, []any{a, b, a}
	a.Named, b.Any = map[string]any{"a": a, "b": b}, end
	return []any{a}
}

func deep(n int) (v any) {
	for range n {
		v = []any{v}
	}
	return v
}

// What encoding/json writes of a guarded field is found, and nothing is found that it does not
// write.
func TestWhatIsFoundIsWhatIsEncoded(t *testing.T) {
	const secret = "planted"
	type (
		Person struct {
			Pay string `json:"pay"`
			X   string `json:"x"`
		}
		Deep  struct{ Person }
		Other struct {
			Deep
			X int `json:"x"`
		}
		Hides struct {
			Deep
			Pay int `json:"pay"`
		}
		Pointer struct{ *Person }
		Tagged  struct {
			Person `json:"who,omitempty"`
		}
		Minus struct {
			Person `json:"-"`
		}
		lower struct{ Person }
		Lower struct{ lower }
	)
	who := Person{Pay: secret}
	types := New([]string{own + "Person.Pay"})
	for _, v := range []any{who, &who, Deep{who}, Other{Deep: Deep{who}}, Hides{Deep: Deep{who}},
		Pointer{&who}, Tagged{who}, Minus{who}, Lower{lower{who}}, []Person{who},
		map[string]*Person{"a": &who}, struct{ a Person }{who}, struct{ A Person }{who}} {
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		written := strings.Contains(string(text), secret)
		for name, value := range map[string]any{"root": v, "any": []any{v},
			"field": struct{ A any }{v}} {
			if err := types.Check(value, nil); (err != nil) != written {
				t.Errorf("%s: %T is written as %s, and Check reports %v", name, v, text, err)
			}
		}
	}
}

func TestTypesOfTheProgramHaveThePathMain(t *testing.T) {
	for path, want := range map[string]bool{"": true, "example.com/a": true, "example.com/b": false} {
		types := newTypes([]string{"example.com/a.person.Pay"}, path)
		if _, has := types.fields[typeName{"main", "person"}]; has != want {
			t.Errorf("program %q: the rule holds for the type main.person: %t", path, has)
		}
	}
}

func TestTypesWithoutInterfacesAreNotRead(t *testing.T) {
	types := newTypes(rules, "example.com/main")
	described := []string{salary}
	list := page[person]{Items: slices.Repeat([]person{paid}, 100)}
	var value any = &list
	check := func() {
		if err := types.Check(value, described); err != nil {
			t.Error(err)
		}
	}
	check()
	if n := testing.AllocsPerRun(10, check); n > 0 {
		t.Errorf("%v allocations", n)
	}
	if got := (*Types)(nil).Check(paid, nil); got != nil || New(nil) != nil {
		t.Errorf("without rules: %v", got)
	}
}

func TestIsolatedCallsAreChecked(t *testing.T) {
	if err := CheckChild(paid); err != nil {
		t.Errorf("no call: %v", err)
	}
	defer child.Store(nil)
	Inherit(Child{Rules: rules})
	err := CheckChild(paid)
	if err == nil {
		t.Fatal("a guarded field is not found")
	}
	if parsed := Parse(err.Error()); parsed == nil || parsed.Error() != err.Error() {
		t.Errorf("%q is read as %v", err, parsed)
	}
	if parsed := Parse("another error"); parsed != nil {
		t.Error(parsed)
	}
	Inherit(Child{Rules: rules, Described: []string{salary}})
	if err := CheckChild(paid); err != nil {
		t.Error(err)
	}
}

func TestTypesAreAnalysedAtOnce(t *testing.T) {
	types := newTypes(rules, "example.com/main")
	found := map[string]bool{}
	var mu sync.Mutex
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			err := types.Check(holder{Any: paid}, []string{salary, bonus})
			mu.Lock()
			defer mu.Unlock()
			found[err.Error()] = true
		})
	}
	all.Wait()
	if len(found) != 1 {
		t.Errorf("%q", slices.Collect(maps.Keys(found)))
	}
	const want = "the result has a value of type guardedtype.person at /any, where no schema guards " +
		"github.com/mcpgen/mcpgen/internal/guardedtype.person.Salary: declare " +
		"guardedtype.person as the " +
		"type of this place, or leave the value out"
	if !found[want] {
		t.Errorf("%q", slices.Collect(maps.Keys(found)))
	}
}

func TestStructTagsOfAnotherPackageAreRefused(t *testing.T) {
	if err := Supported(json.Marshal); err != nil {
		t.Error(err)
	}
	for _, odd := range []func(any) ([]byte, error){
		func(any) ([]byte, error) { return []byte(`{"B":0}`), nil }, // encoding/json/v2
		func(any) ([]byte, error) { return nil, errors.New("odd") },
	} {
		if err := Supported(odd); err == nil || !strings.Contains(err.Error(), "GOEXPERIMENT=jsonv2") {
			t.Error(err)
		}
	}
}
