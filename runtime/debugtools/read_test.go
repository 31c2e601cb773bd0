package debugtools

import (
	"encoding/json"
	"math"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/runtime/redact"
)

func TestBuildFlagsAreNotShown(t *testing.T) {
	info := &debug.BuildInfo{Main: debug.Module{Path: "example.com/app", Version: "v1.2.3"}}
	want := map[string]string{
		"vcs": "git", "vcs.revision": "0f1e2d", "vcs.time": "2026-11-22T00:00:00Z", "vcs.modified": "true", "GOOS": "linux", "GOARCH": "arm64", "CGO_ENABLED": "0",
	}
	for name, value := range want {
		info.Settings = append(info.Settings, debug.BuildSetting{Key: name, Value: value})
	}
	for _, flag := range []string{"-ldflags", "-gcflags", "-tags", "-asmflags", "CGO_LDFLAGS", "CGO_CFLAGS", "DefaultGODEBUG", "-buildmode", "-x-of-tomorrow"} {
		info.Settings = append(info.Settings, debug.BuildSetting{Key: flag, Value: "-X main.salt=hunter2"})
	}
	got := buildOf(info, redact.Text)
	if got != (build{"example.com/app", "v1.2.3", "git", "0f1e2d", "2026-11-22T00:00:00Z", "true",
		"linux", "arm64", "0"}) {
		t.Errorf("%+v", got)
	}
	info.Main.Version = "v1.0.0-ghp_16C7e42F292c6912E7710c838347Ae178B4a"
	if got := buildOf(info, redact.Text).ModuleVersion; got != "v1.0.0-"+redact.Mask {
		t.Error(got)
	}
}

func TestProgramWithoutBuildInfoHasNone(t *testing.T) {
	text, err := json.Marshal(buildOf(&debug.BuildInfo{}, redact.Text))
	if err != nil || string(text) != `{}` {
		t.Errorf("%s, %v", text, err)
	}
}

func TestVariablesAreSplitAsEverySystemMeansThem(t *testing.T) {
	for entry, want := range map[string][2]string{
		"A=b": {"A", "b"}, "A=b=c": {"A", "b=c"}, "A=": {"A", ""}, "A": {"A", ""}, "": {"", ""},
		`=C:=C:\app`: {"=C:", `C:\app`}, "=": {"=", ""},
	} {
		if name, value := variable(entry); name != want[0] || value != want[1] {
			t.Errorf("%q: %q, %q", entry, name, value)
		}
	}
}

func TestClaimsThatAreNoJSONAreAnError(t *testing.T) {
	res, out, err := indented(UserClaims{Available: true, Claims: map[string]any{"level": math.NaN()}})
	if err == nil || !strings.Contains(err.Error(), "NaN") || res != nil || out.Available {
		t.Errorf("%v, %+v, %v", res, out, err)
	}
}
