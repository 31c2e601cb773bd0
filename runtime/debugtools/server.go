package debugtools

import (
	"context"
	"os"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// ServerInfo is the server and the process that it runs in.
type ServerInfo struct {
	ServerName string `json:"serverName"`
	Version    string `json:"version"`
	// Transport is how the call came: stdio or http.
	Transport       string `json:"transport"`
	GoVersion       string `json:"goVersion"`
	OperatingSystem string `json:"operatingSystem"`
	// ProcessorCount is how many logical processors the process may use.
	ProcessorCount int `json:"processorCount"`
	// WorkingDirectory is empty where the process has none any more.
	WorkingDirectory string `json:"workingDirectory"`
	// Uptime is since when the process runs, in hours, minutes and seconds, as in 26h3m5s.
	Uptime string `json:"uptime"`
	Build  Build  `json:"build"`
}

// Build is what a program says of how it was built. What it does not say is left out. Flags of compiler and linker are not among it:
// builds put secrets there.
type Build struct {
	// Module is the path of the main module, and ModuleVersion its version.
	Module        string `json:"module,omitempty"`
	ModuleVersion string `json:"moduleVersion,omitempty"`
	// VCS is the version control system, as in git, and Revision, Time and Modified the state of it that was built.
	VCS      string `json:"vcs,omitempty"`
	Revision string `json:"vcsRevision,omitempty"`
	Time     string `json:"vcsTime,omitempty"`
	Modified string `json:"vcsModified,omitempty"`
	GOOS     string `json:"goos,omitempty"`
	GOARCH   string `json:"goarch,omitempty"`
	CGO      string `json:"cgoEnabled,omitempty"`
}

// GetServerInfo returns what the server is: name, version, transport, Go, operating system, working directory, uptime and build.
//
//mcp:tool readonly denial=conceal title="Information on the server"
func (i *Inspector) GetServerInfo(ctx context.Context, _ *mcp.CallToolRequest, _ Nothing) (*mcp.CallToolResult, ServerInfo, error) {
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
		Transport:        req.Transport,
		GoVersion:        runtime.Version(),
		OperatingSystem:  runtime.GOOS,
		ProcessorCount:   runtime.NumCPU(),
		WorkingDirectory: mask.Text(directory),
		Uptime:           time.Since(i.started).Truncate(time.Second).String(),
		Build:            buildOf(built, mask.Text),
	})
}

// buildOf says of a program what is no secret.
func buildOf(info *debug.BuildInfo, mask func(string) string) Build {
	b := Build{Module: mask(info.Main.Path), ModuleVersion: mask(info.Main.Version)}
	shown := map[string]*string{
		"vcs": &b.VCS, "vcs.revision": &b.Revision, "vcs.time": &b.Time, "vcs.modified": &b.Modified,
		"GOOS": &b.GOOS, "GOARCH": &b.GOARCH, "CGO_ENABLED": &b.CGO,
	}
	for _, setting := range info.Settings {
		if to := shown[setting.Key]; to != nil {
			*to = mask(setting.Value)
		}
	}
	return b
}
