package dcim

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/mcpgen/mcpgen/runtime/capability"
)

func newInventory(t testing.TB) *Inventory {
	t.Helper()
	i, err := Open(context.Background(), filepath.Join(t.TempDir(), "inventory.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := i.Close(); err != nil {
			t.Error(err)
		}
	})
	for range 2 { // what is there is left as it is
		if err := i.Demonstrate(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	return i
}

// under is the context of a handler whose caller is held to constraints.
func under(constraints ...string) context.Context {
	var list []capability.Constraint
	for _, c := range constraints {
		list = append(list, capability.Constraint(c))
	}
	return capability.WithConstraints(context.Background(), list)
}

func listed(t testing.TB, i *Inventory, ctx context.Context) ([]string, error) {
	t.Helper()
	devices, err := i.ListDevices(ctx, DeviceFilter{})
	var names []string
	for _, d := range devices {
		names = append(names, d.Name)
	}
	return names, err
}

func TestConstraintsSelectDevices(t *testing.T) {
	i := newInventory(t)
	all := []string{"edge-1", "edge-2", "leaf-1", "leaf-2"}
	for _, test := range []struct {
		constraints []string
		want        []string
	}{
		{nil, all},
		{[]string{`{}`}, all},
		{[]string{`{"site":"oslo"}`}, []string{"edge-2", "leaf-2"}},
		{[]string{`{"site":"oslo","role":"router"}`}, []string{"edge-2"}},
		{[]string{`{"site":"oslo"}`, `{"name":"edge-1"}`}, []string{"edge-1", "edge-2", "leaf-2"}},
		{[]string{`{"name__in":["edge-1","leaf-1","none"],"status":"active"}`},
			[]string{"edge-1", "leaf-1"}},
		{[]string{`{"name__in":[]}`}, nil},
		{[]string{`{"site":"none"}`}, nil},
		{[]string{`{"site":"oslo' OR '1'='1"}`}, nil},
		{[]string{`{"site":""}`}, nil},
	} {
		if got, err := listed(t, i, under(test.constraints...)); err != nil ||
			!slices.Equal(got, test.want) {
			t.Errorf("%s: %q, %v, want %q", test.constraints, got, err, test.want)
		}
	}
}

func TestConstraintsThatAreNotUnderstoodDeny(t *testing.T) {
	i := newInventory(t)
	for _, c := range []string{
		`null`, `[]`, `"site"`, `7`, ``, `{`, `{"tenant":"x"}`, `{"site__in":"oslo"}`,
		`{"site":["oslo"]}`, `{"site":null}`, `{"site__in":null}`, `{"site__in":[null]}`, `{"site":7}`,
		`{"site__startswith":"o"}`, `{"Site":"oslo"}`, `{"":"oslo"}`, `{"__in":["oslo"]}`,
		`{"site OR 1":"x"}`, `{"site__in__in":["oslo"]}`,
	} {
		// One that is understood beside it does not help: which of the two an object must meet is
		// not known.
		for _, constraints := range [][]string{{c}, {`{"site":"oslo"}`, c}} {
			ctx := under(constraints...)
			_, listing := i.ListDevices(ctx, DeviceFilter{})
			_, getting := i.GetDevice(ctx, "edge-2")
			_, changing := i.UpdateDevice(ctx, DeviceChange{Name: "edge-2"})
			for _, err := range []error{listing, getting, changing,
				i.RenameDevice(ctx, "edge-2", "edge-9")} {
				if !errors.Is(err, errScope) || strings.Contains(err.Error(), "tenant") {
					t.Errorf("%q: %v", constraints, err)
				}
			}
		}
	}
	if got, err := listed(t, i, context.Background()); err != nil ||
		!slices.Contains(got, "edge-2") {
		t.Errorf("%q, %v", got, err)
	}
}

// TestConstrainedDevicesAreThoseThatAreMetByAnyConstraint holds SQL against what a constraint
// means, spelled once more in Go.
func TestConstrainedDevicesAreThoseThatAreMetByAnyConstraint(t *testing.T) {
	i := newInventory(t)
	everything, err := i.ListDevices(context.Background(), DeviceFilter{})
	if err != nil {
		t.Fatal(err)
	}
	field := map[string]func(Device) string{
		"name": func(d Device) string { return d.Name }, "site": func(d Device) string { return d.Site },
		"role":   func(d Device) string { return d.Role },
		"status": func(d Device) string { return string(d.Status) },
	}
	value := rapid.SampledFrom([]string{"edge-1", "leaf-2", "oslo", "berlin", "router", "switch",
		"active", "planned", "x'; --", ""})
	rapid.Check(t, func(t *rapid.T) {
		var constraints []string
		var meets []func(Device) bool
		for range rapid.IntRange(1, 3).Draw(t, "constraints") {
			filter := map[string]any{}
			wanted := map[string][]string{}
			for range rapid.IntRange(0, 2).Draw(t, "fields") {
				name := rapid.SampledFrom([]string{"name", "site", "role", "status"}).Draw(t,
					"field")
				if _, twice := wanted[name]; twice {
					continue
				}
				if rapid.Bool().Draw(t, "one of") {
					wanted[name] = rapid.SliceOfN(value, 0, 3).Draw(t, "values")
					filter[name+"__in"] = wanted[name]
				} else {
					wanted[name] = []string{value.Draw(t, "value")}
					filter[name] = wanted[name][0]
				}
			}
			text, err := json.Marshal(filter)
			if err != nil {
				t.Fatal(err)
			}
			constraints = append(constraints, string(text))
			meets = append(meets, func(d Device) bool {
				for name, values := range wanted {
					if !slices.Contains(values, field[name](d)) {
						return false
					}
				}
				return true
			})
		}
		ctx := under(constraints...)
		got, err := i.ListDevices(ctx, DeviceFilter{})
		if err != nil {
			t.Fatal(err)
		}
		want := []Device{}
		for _, d := range everything {
			met := slices.ContainsFunc(meets, func(m func(Device) bool) bool { return m(d) })
			if met {
				want = append(want, d)
			}
			if one, err := i.GetDevice(ctx, d.Name); (err == nil) != met || met && one != d {
				t.Fatalf("%s: %s: %v, %v", constraints, d.Name, one, err)
			}
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%s: %v, want %v", constraints, got, want)
		}
	})
}

// FuzzConstraint holds that whatever a host writes is applied or refused, and that the database
// understands what becomes of it.
func FuzzConstraint(f *testing.F) {
	for _, c := range []string{`{}`, `{"site":"oslo"}`, `{"name__in":["a","b"]}`, `[]`,
		`{"site":null}`, `{"status":"'"}`} {
		f.Add(c)
	}
	i := newInventory(f)
	f.Fuzz(func(t *testing.T, c string) {
		devices, err := i.ListDevices(under(c), DeviceFilter{})
		if err != nil && !errors.Is(err, errScope) {
			t.Errorf("%q: %v", c, err)
		}
		if err != nil && devices != nil {
			t.Errorf("%q: refused, with %v", c, devices)
		}
	})
}
