package reach

import (
	"strings"

	"github.com/google/capslock/analyzer"
	"github.com/google/capslock/interesting"
	cpb "github.com/google/capslock/proto"
	"golang.org/x/tools/go/callgraph"

	"github.com/mcpgen/mcpgen/generator/extension"
)

const (
	runtimePath = "github.com/mcpgen/mcpgen/runtime"
	grantPath   = runtimePath + "/grant"
	sandboxPath = runtimePath + "/sandbox"
	sdkPath     = "github.com/modelcontextprotocol/go-sdk"
)

// classes are the capabilities of funcs by their names: capslock's map, and before it ours. It is
// an analyzer.Classifier, and so sees the edges of the call graph, which the analyzer does not
// export.
type classes struct {
	theirs *interesting.Classifier
	seen   map[*callgraph.Node]bool
}

func newClasses() *classes {
	return &classes{theirs: analyzer.GetClassifier(false), seen: map[*callgraph.Node]bool{}}
}

// IncludeCall is capslock's choice.
func (c *classes) IncludeCall(edge *callgraph.Edge) bool {
	c.seen[edge.Caller], c.seen[edge.Callee] = true, true
	return c.theirs.IncludeCall(edge)
}

// FunctionCategory returns where the analysis stops: at funcs that are named here.
func (c *classes) FunctionCategory(pkg, name string) cpb.Capability {
	if category, known := ours[name]; known {
		return category
	}
	if category, known := ourPackages[pkg]; known {
		return category
	}
	if pkg == sdkPath || strings.HasPrefix(pkg, sdkPath+"/") {
		return cpb.Capability_CAPABILITY_SAFE
	}
	category := c.theirs.FunctionCategory(pkg, name)
	if pkg != "database/sql" || category != cpb.Capability_CAPABILITY_UNSPECIFIED {
		return category
	}
	for _, of := range []string{"DB", "Conn", "Tx", "Stmt", "Rows", "Row"} {
		if strings.HasPrefix(name, "(*database/sql."+of+").") {
			return cpb.Capability_CAPABILITY_NETWORK
		}
	}
	return category
}

// ours are funcs that capslock does not know, or not well enough.
//
// A func of package grant has the capability of its result; the //mcp:allow of its argument decides
// how a file is opened. A pool of database/sql leads to its driver by an interface and to code that
// is not called by name: it counts as network, which most are.
var ours = map[string]cpb.Capability{
	grantPath + ".File":     cpb.Capability_CAPABILITY_FILES,
	grantPath + ".Dir":      cpb.Capability_CAPABILITY_FILES,
	grantPath + ".TruePath": cpb.Capability_CAPABILITY_FILES,
	grantPath + ".Command":  cpb.Capability_CAPABILITY_EXEC,
	grantPath + ".Dial":     cpb.Capability_CAPABILITY_NETWORK,
	grantPath + ".Connect":  cpb.Capability_CAPABILITY_NETWORK,
	grantPath + ".HTTP":     cpb.Capability_CAPABILITY_NETWORK,

	grantPath + ".OpenRoots":                  cpb.Capability_CAPABILITY_FILES,
	"(*" + grantPath + ".Dialer).DialContext": cpb.Capability_CAPABILITY_NETWORK,
	"(*" + grantPath + ".Dialer).Client":      cpb.Capability_CAPABILITY_NETWORK,

	"(*" + sandboxPath + ".ClientWorkspace).Dir":   cpb.Capability_CAPABILITY_FILES,
	"(*" + sandboxPath + ".ClientWorkspace).Room":  cpb.Capability_CAPABILITY_FILES,
	"(*" + sandboxPath + ".ClientWorkspace).Clear": cpb.Capability_CAPABILITY_FILES,
	"(*" + sandboxPath + ".Sandbox).Isolate":       cpb.Capability_CAPABILITY_EXEC,

	"(*os.Process).Kill":       cpb.Capability_CAPABILITY_EXEC,
	"(*os.Process).Release":    cpb.Capability_CAPABILITY_EXEC,
	"(*os.Process).Signal":     cpb.Capability_CAPABILITY_EXEC,
	"(*os.Process).Wait":       cpb.Capability_CAPABILITY_EXEC,
	"(*os.Process).WithHandle": cpb.Capability_CAPABILITY_EXEC,

	"database/sql.Open":   cpb.Capability_CAPABILITY_NETWORK,
	"database/sql.OpenDB": cpb.Capability_CAPABILITY_NETWORK,

	// Nothing of these leaves the process.
	"net/http.StatusText":              cpb.Capability_CAPABILITY_SAFE,
	"net/http.NewRequest":              cpb.Capability_CAPABILITY_SAFE,
	"net/http.NewRequestWithContext":   cpb.Capability_CAPABILITY_SAFE,
	"net/http.CanonicalHeaderKey":      cpb.Capability_CAPABILITY_SAFE,
	"net/http.DetectContentType":       cpb.Capability_CAPABILITY_SAFE,
	"net/http.ParseTime":               cpb.Capability_CAPABILITY_SAFE,
	"(net/http.Header).Add":            cpb.Capability_CAPABILITY_SAFE,
	"(net/http.Header).Clone":          cpb.Capability_CAPABILITY_SAFE,
	"(net/http.Header).Del":            cpb.Capability_CAPABILITY_SAFE,
	"(net/http.Header).Get":            cpb.Capability_CAPABILITY_SAFE,
	"(net/http.Header).Set":            cpb.Capability_CAPABILITY_SAFE,
	"(net/http.Header).Values":         cpb.Capability_CAPABILITY_SAFE,
	"(*net/http.Request).SetBasicAuth": cpb.Capability_CAPABILITY_SAFE,
}

// ourPackages are the server's own side of a call: its code to respond, to decide and to record
// does not count as reached by a handler.
var ourPackages = map[string]cpb.Capability{
	runtimePath:                 cpb.Capability_CAPABILITY_SAFE,
	runtimePath + "/access":     cpb.Capability_CAPABILITY_SAFE,
	runtimePath + "/audit":      cpb.Capability_CAPABILITY_SAFE,
	runtimePath + "/capability": cpb.Capability_CAPABILITY_SAFE,
	runtimePath + "/catalog":    cpb.Capability_CAPABILITY_SAFE,
	runtimePath + "/decode":     cpb.Capability_CAPABILITY_SAFE,
	runtimePath + "/identity":   cpb.Capability_CAPABILITY_SAFE,
	runtimePath + "/redact":     cpb.Capability_CAPABILITY_SAFE,
	runtimePath + "/toolset":    cpb.Capability_CAPABILITY_SAFE,
	grantPath:                   cpb.Capability_CAPABILITY_SAFE,
	sandboxPath:                 cpb.Capability_CAPABILITY_SAFE,
}

// capabilities maps the classes of capslock to code capabilities. capabilities= does not cover the
// state of the process and the system, such as environment and working directory. It does not cover
// functions that call a function argument either: the analyzer checks that argument at the call.
var capabilities = map[cpb.Capability]struct{ name, why string }{
	cpb.Capability_CAPABILITY_FILES: {extension.Files, ""},
	// Functions of package os that capslock does not list have this class: they handle files.
	cpb.Capability_CAPABILITY_OPERATING_SYSTEM:    {extension.Files, ""},
	cpb.Capability_CAPABILITY_NETWORK:             {extension.Network, ""},
	cpb.Capability_CAPABILITY_EXEC:                {extension.Exec, ""},
	cpb.Capability_CAPABILITY_ARBITRARY_EXECUTION: {extension.Unknown, "a func without a body in Go"},
	cpb.Capability_CAPABILITY_CGO:                 {extension.Unknown, "C code"},
	cpb.Capability_CAPABILITY_UNSAFE_POINTER:      {extension.Unknown, "an unsafe.Pointer"},
	cpb.Capability_CAPABILITY_REFLECT:             {extension.Unknown, "reflection"},
	cpb.Capability_CAPABILITY_SYSTEM_CALLS:        {extension.Unknown, "a system call"},
}

// writers are the funcs that write files, beside those that depend on their arguments:
// os.OpenFile and the like by their flags, grant.File and the like by the permission of theirs.
var writers = func() map[string]bool {
	all := map[string]bool{"(*" + sandboxPath + ".ClientWorkspace).Clear": true}
	for of, names := range map[string]string{
		"os.": "Chmod Chown Chtimes CopyFS Create CreateTemp Lchown Link Mkdir MkdirAll " +
			"MkdirTemp Remove RemoveAll Rename Symlink Truncate WriteFile",
		"(*os.File).": "Chmod Chown ReadFrom Truncate Write WriteAt WriteString",
		"(*os.Root).": "Chmod Chown Chtimes Create Lchown Link Mkdir MkdirAll Remove RemoveAll " +
			"Rename Symlink WriteFile",
	} {
		for name := range strings.FieldsSeq(names) {
			all[of+name] = true
		}
	}
	return all
}()

// interfaces of the standard library whose methods have a capability in every implementation.
var interfaces = map[string]string{
	"net": extension.Network, "net/http": extension.Network, "io/fs": extension.Files,
}

// calledBack are methods that the standard library calls on values that it receives.
var calledBack = strings.Fields(`As Close Error Format GoString Is Len Less LogValue
	MarshalBinary MarshalJSON MarshalText MarshalXML Pop Push Read ReadFrom Scan Seek String Swap
	UnmarshalBinary UnmarshalJSON UnmarshalText UnmarshalXML Unwrap Value Write WriteString WriteTo`)
