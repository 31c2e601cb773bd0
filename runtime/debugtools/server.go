package debugtools

import (
	"cmp"
	"context"
	"os"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// ServerInfo contains facts about the server and its process.
type ServerInfo struct {
	ServerName string `json:"serverName"`
	// Version is the version= of //mcp:server, which clients get too.
	Version string `json:"version"`
	// BuildVersion is the version of the program: the main module's version, or else the revision,
	// with +dirty for a modified one; (devel) if the build has neither.
	BuildVersion string `json:"buildVersion"`
	// Transport is the transport of the call: stdio or http.
	Transport string `json:"transport"`
	// Transports are the transports that the server serves now.
	Transports []string `json:"transports"`
	// ProtocolVersion is the version of MCP of the call.
	ProtocolVersion string `json:"protocolVersion"`
	// ProtocolVersions are the versions of MCP that the server serves, the newest first.
	ProtocolVersions []string `json:"protocolVersions"`
	GoVersion        string   `json:"goVersion"`
	OperatingSystem  string   `json:"operatingSystem"`
	// ProcessorCount is the number of logical processors that the process may use.
	ProcessorCount int `json:"processorCount"`
	// WorkingDirectory is empty if it was removed.
	WorkingDirectory string `json:"workingDirectory"`
	// Uptime is the age of the process in hours, minutes and seconds, as in 26h3m5s.
	Uptime string `json:"uptime"`
	Build  build  `json:"build"`
}

// build is what the program contains about its build. A missing fact is left out. Flags of compiler
// and linker are not part of it, because builds put secrets there.
type build struct {
	// Module is the path of the main module, and ModuleVersion its version.
	Module        string `json:"module,omitempty"`
	ModuleVersion string `json:"moduleVersion,omitempty"`
	// VCS is the version control system, such as git. Revision, Time and Modified are the state
	// that was built.
	VCS      string `json:"vcs,omitempty"`
	Revision string `json:"vcsRevision,omitempty"`
	Time     string `json:"vcsTime,omitempty"`
	Modified string `json:"vcsModified,omitempty"`
	GOOS     string `json:"goos,omitempty"`
	GOARCH   string `json:"goarch,omitempty"`
	CGO      string `json:"cgoEnabled,omitempty"`
}

// GetServerInfo returns facts about the server: its name, versions of server, build and protocol,
// transports, Go, operating system, working directory and uptime.
//
//mcp:tool readonly denial=conceal title="Information on the server"
func (i *Inspector) GetServerInfo(ctx context.Context, _ *mcp.CallToolRequest, _ Nothing) (
	*mcp.CallToolResult, ServerInfo, error) {
	req, mask := i.look(ctx)
	directory, err := os.Getwd()
	if err != nil { // it was removed
		directory = ""
	}
	built, ok := debug.ReadBuildInfo()
	if !ok { // of a program that was built without modules
		built = &debug.BuildInfo{}
	}
	return indented(ServerInfo{
		ServerName:       mask.Text(req.Server.Name),
		Version:          mask.Text(req.Server.Version),
		BuildVersion:     mask.Text(versionOf(built)),
		Transport:        req.Transport,
		Transports:       append([]string{}, req.Transports...),
		ProtocolVersion:  req.Protocol,
		ProtocolVersions: append([]string{}, req.Protocols...),
		GoVersion:        runtime.Version(),
		OperatingSystem:  runtime.GOOS,
		ProcessorCount:   runtime.NumCPU(),
		WorkingDirectory: mask.Text(directory),
		Uptime:           time.Since(i.started).Truncate(time.Second).String(),
		Build:            buildOf(built, mask.Text),
	})
}

// versionOf returns the version of a build.
func versionOf(info *debug.BuildInfo) string {
	const unknown = "(devel)" // of Go, for a main module without a version
	if v := info.Main.Version; v != "" && v != unknown {
		return v
	}
	settings := map[string]string{}
	for _, setting := range info.Settings {
		settings[setting.Key] = setting.Value
	}
	version := cmp.Or(settings["vcs.revision"], unknown)
	if settings["vcs.modified"] == "true" {
		version += "+dirty"
	}
	return version
}

// buildOf returns the facts about a build that are no secrets.
func buildOf(info *debug.BuildInfo, mask func(string) string) build {
	b := build{Module: mask(info.Main.Path), ModuleVersion: mask(info.Main.Version)}
	shown := map[string]*string{
		"vcs": &b.VCS, "vcs.revision": &b.Revision, "vcs.time": &b.Time,
		"vcs.modified": &b.Modified,
		"GOOS":         &b.GOOS, "GOARCH": &b.GOARCH, "CGO_ENABLED": &b.CGO,
	}
	for _, setting := range info.Settings {
		if to := shown[setting.Key]; to != nil {
			*to = mask(setting.Value)
		}
	}
	return b
}
