package capability_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"testing"

	"github.com/mcpgen/mcpgen/runtime/capability"
)

func TestZeroSetDeniesEverything(t *testing.T) {
	var s capability.Set
	if _, held := s.Constraints("a.view_b"); held || s.Has("a.view_b") ||
		s.Unrestricted("a.b", "view") || len(s.Permissions()) != 0 {
		t.Errorf("%+v", s)
	}
}

func TestEmptyNamesAreNeverHeld(t *testing.T) {
	var s capability.Set
	s.Add("")
	s.Exempt("", "view")
	s.Exempt("a.b", "")
	if s.Has("") || s.Unrestricted("", "view") || s.Unrestricted("a.b", "") ||
		len(s.Permissions()) != 0 {
		t.Errorf("%+v", s)
	}
	s.Exempt(capability.Any, capability.Any)
	if s.Unrestricted("", "") || s.Unrestricted("a.b", "") {
		t.Error("a superuser may do what has no name")
	}
}

// A bare action has no type of objects, so that only a superuser needs no permission for it.
func TestNoExemptionOfObjectsCoversABareAction(t *testing.T) {
	var s capability.Set
	s.Exempt(capability.Any, "view")
	s.Exempt("a.b", capability.Any)
	s.Exempt("view", capability.Any)
	s.Exempt("", "view")
	if s.Unrestricted("", "view") {
		t.Error("an exemption of objects covers a bare action")
	}
	s.Exempt(capability.Any, capability.Any)
	if !s.Unrestricted("", "view") {
		t.Error("a superuser may not do a bare action")
	}
}

func TestOneAdditionWithoutConstraintsFreesThePermission(t *testing.T) {
	x, y := capability.Constraint(`{"site":"x"}`), capability.Constraint(`{"site":"y"}`)
	for name, test := range map[string]struct {
		add  [][]capability.Constraint
		want int
	}{
		"free":             {[][]capability.Constraint{nil}, 0},
		"one":              {[][]capability.Constraint{{x}}, 1},
		"either":           {[][]capability.Constraint{{x}, {y}}, 2},
		"freed afterwards": {[][]capability.Constraint{{x}, nil}, 0},
		"freed before":     {[][]capability.Constraint{nil, {x, y}}, 0},
	} {
		var s capability.Set
		for _, constraints := range test.add {
			s.Add("a.view_b", constraints...)
		}
		got, held := s.Constraints("a.view_b")
		if !held || len(got) != test.want {
			t.Errorf("%s: %s, %v", name, got, held)
		}
	}
}

func TestUnreadablePermissionIsNotHeldWhateverIsAdded(t *testing.T) {
	site, broken := capability.Constraint(`{"site":"x"}`), capability.Constraint("{")
	mark := func(s *capability.Set) { s.Unreadable("a.view_b", errors.New("it is 7")) }
	for name, fill := range map[string]func(*capability.Set){
		"alone":       mark,
		"after":       func(s *capability.Set) { s.Add("a.view_b"); mark(s) },
		"before":      func(s *capability.Set) { mark(s); s.Add("a.view_b") },
		"constrained": func(s *capability.Set) { mark(s); s.Add("a.view_b", site) },
		"no JSON":     func(s *capability.Set) { s.Add("a.view_b", site, broken) },
		"twice":       func(s *capability.Set) { s.Add("a.view_b", nil); s.Add("a.view_b") },
	} {
		var s capability.Set
		s.Add("a.view_c")
		fill(&s)
		if c, held := s.Constraints("a.view_b"); held || s.Has("a.view_b") || c != nil {
			t.Errorf("%s: held, %s", name, c)
		}
		if got := s.Permissions(); !slices.Equal(got, []string{"a.view_c"}) || !s.Has("a.view_c") {
			t.Errorf("%s: %v", name, got)
		}
		if all := maps.Collect(s.AllUnreadable()); len(all) != 1 || all["a.view_b"] == nil {
			t.Errorf("%s: %v", name, all)
		}
		s.Exempt("a.b", "view") // as for a superuser, whose permissions the host does not read
		if !s.Unrestricted("a.b", "view") {
			t.Errorf("%s: an exemption does not count", name)
		}
	}
}

func TestExemptionsArePerTypeAndAction(t *testing.T) {
	for name, test := range map[string]struct {
		object, action string
		open           []string
	}{
		"one action on one type": {"a.b", "view", []string{"a.b view"}},
		"one action on all":      {capability.Any, "view", []string{"a.b view", "a.c view"}},
		"all actions on one":     {"a.b", capability.Any, []string{"a.b view", "a.b change"}},
		"a superuser": {capability.Any, capability.Any,
			[]string{"a.b view", "a.b change", "a.c view", "a.c change"}},
	} {
		var s capability.Set
		s.Exempt(test.object, test.action)
		for _, object := range []string{"a.b", "a.c"} {
			for _, action := range []string{"view", "change"} {
				want := slices.Contains(test.open, object+" "+action)
				if got := s.Unrestricted(object, action); got != want {
					t.Errorf("%s: %s %s: %v", name, object, action, got)
				}
			}
		}
		if s.Has("a.view_b") {
			t.Errorf("%s: an exemption is no permission", name)
		}
	}
}

func TestPermissionsAreSortedAndTheCallersOwn(t *testing.T) {
	var s capability.Set
	s.Add("b")
	s.Add("a")
	s.Permissions()[0] = "c"
	if got := s.Permissions(); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("%v", got)
	}
}

func TestConstraintsTravelInTheContext(t *testing.T) {
	if got := capability.Constraints(context.Background()); got != nil {
		t.Errorf("%s", got)
	}
	want := []capability.Constraint{capability.Constraint(`{"site":"x"}`)}
	if got := capability.Constraints(capability.WithConstraints(context.Background(), want)); len(
		got) != 1 || string(got[0]) != `{"site":"x"}` {
		t.Errorf("%s", got)
	}
}
