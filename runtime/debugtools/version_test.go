package debugtools

import (
	"runtime/debug"
	"testing"
)

func TestVersionOfABuild(t *testing.T) {
	for want, info := range map[string]debug.BuildInfo{
		"v1.2.3": {Main: debug.Module{Version: "v1.2.3"}, Settings: []debug.BuildSetting{
			{Key: "vcs.revision", Value: "abc"}, {Key: "vcs.modified", Value: "true"}}},
		"abc": {Main: debug.Module{Version: "(devel)"}, Settings: []debug.BuildSetting{
			{Key: "vcs.revision", Value: "abc"}, {Key: "vcs.modified", Value: "false"}}},
		"abc+dirty": {Settings: []debug.BuildSetting{
			{Key: "vcs.modified", Value: "true"}, {Key: "vcs.revision", Value: "abc"}}},
		"(devel)": {Settings: []debug.BuildSetting{{Key: "-ldflags", Value: "-X main.token=x"}}},
	} {
		if got := versionOf(&info); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
