package telemetry

import (
	"runtime/debug"
	"testing"
)

func TestScopeHasTheVersionOfTheModule(t *testing.T) {
	const path = "github.com/mcpgen/mcpgen"
	other := &debug.Module{Path: path + "/more", Version: "v9.0.0"}
	for name, test := range map[string]struct {
		info debug.BuildInfo
		want string
	}{
		"a dependency":         {debug.BuildInfo{Deps: []*debug.Module{other, {Path: path, Version: "v1.2.3"}}}, "v1.2.3"},
		"the program's own":    {debug.BuildInfo{Main: debug.Module{Path: path, Version: "v1.2.4-0.20260101000000-0123456789ab"}}, "v1.2.4-0.20260101000000-0123456789ab"},
		"a checkout":           {debug.BuildInfo{Main: debug.Module{Path: path, Version: "(devel)"}}, ""},
		"replaced by another":  {debug.BuildInfo{Deps: []*debug.Module{{Path: path, Version: "v1.2.3", Replace: &debug.Module{Path: "example.com/fork", Version: "v1.2.5"}}}}, "v1.2.5"},
		"replaced by a folder": {debug.BuildInfo{Deps: []*debug.Module{{Path: path, Version: "v1.2.3", Replace: &debug.Module{Path: "../mcpgen"}}}}, ""},
		"not there":            {debug.BuildInfo{Deps: []*debug.Module{other}}, ""},
	} {
		if got := versionIn(&test.info); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}
