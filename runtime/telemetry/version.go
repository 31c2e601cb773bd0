package telemetry

import "runtime/debug"

// version is that of this module in this program, empty if it is unknown.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok { // built without modules
		return ""
	}
	return versionIn(info)
}

// versionIn is version for any program.
func versionIn(info *debug.BuildInfo) string {
	const path = "github.com/mcpgen/mcpgen"
	for _, m := range append([]*debug.Module{&info.Main}, info.Deps...) {
		if m.Path != path {
			continue
		}
		if m.Replace != nil {
			m = m.Replace
		}
		if m.Version != "(devel)" {
			return m.Version
		}
	}
	return ""
}
