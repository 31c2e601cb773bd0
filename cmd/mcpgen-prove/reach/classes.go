package reach

import (
	"slices"
	"strings"

	"github.com/google/capslock/interesting"
	cpb "github.com/google/capslock/proto"

	"github.com/mcpgen/mcpgen/generator/extension"
)

const (
	runtimePath = "github.com/mcpgen/mcpgen/runtime"
	grantPath   = runtimePath + "/grant"
	sandboxPath = runtimePath + "/sandbox"
	sdkPath     = "github.com/modelcontextprotocol/go-sdk"
)

// classes are the capabilities of funcs by their names: capslock's map, and before it ours.
type classes struct{ theirs *interesting.Classifier }

func newClasses() *classes { return &classes{interesting.DefaultClassifier()} }

// FunctionCategory returns where the analysis stops: at funcs that are named here.
func (c *classes) FunctionCategory(pkg, name string) cpb.Capability {
	if category, known := ours[name]; known {
		return category
	}
	if category, known := ourPackages[pkg]; known {
		return category
	}
	if computes(pkg) || pkg == "reflect" || strings.HasPrefix(pkg, runtimePath+"/internal/") {
		return cpb.Capability_CAPABILITY_SAFE
	}
	if serves(pkg) && !strings.HasPrefix(pkg, runtimePath) {
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

	// These call funcs and methods that reflection finds, or make values from addresses. All else of
	// package reflect moves values, which the analysis follows.
	"(reflect.Value).Call":                      cpb.Capability_CAPABILITY_REFLECT,
	"(reflect.Value).CallSlice":                 cpb.Capability_CAPABILITY_REFLECT,
	"(reflect.Value).Seq":                       cpb.Capability_CAPABILITY_REFLECT,
	"(reflect.Value).Seq2":                      cpb.Capability_CAPABILITY_REFLECT,
	"reflect.MakeFunc":                          cpb.Capability_CAPABILITY_REFLECT,
	"reflect.NewAt":                             cpb.Capability_CAPABILITY_REFLECT,
	"(*text/template.Template).Execute":         cpb.Capability_CAPABILITY_REFLECT,
	"(*text/template.Template).ExecuteTemplate": cpb.Capability_CAPABILITY_REFLECT,
	"(*html/template.Template).Execute":         cpb.Capability_CAPABILITY_REFLECT,
	"(*html/template.Template).ExecuteTemplate": cpb.Capability_CAPABILITY_REFLECT,
	"(*encoding/gob.Decoder).Decode":            cpb.Capability_CAPABILITY_REFLECT,
	"(*encoding/gob.Decoder).DecodeValue":       cpb.Capability_CAPABILITY_REFLECT,

	// It returns funcs of code that is loaded while the program runs.
	"(*plugin.Plugin).Lookup": cpb.Capability_CAPABILITY_ARBITRARY_EXECUTION,

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

// libraries only compute, as far as their callers are concerned: they use reflection, unsafe
// pointers and assembly for data alone. Names with a slash at their end are of all packages below.
var libraries = strings.Fields(`
	github.com/cespare/xxhash/v2
	github.com/goccy/go-json/
	github.com/gogo/protobuf/
	github.com/golang/protobuf/
	github.com/google/jsonschema-go/
	github.com/invopop/jsonschema
	github.com/segmentio/asm/
	github.com/segmentio/encoding/
	go.yaml.in/yaml/
	golang.org/x/text/
	google.golang.org/protobuf/
	gopkg.in/yaml.v2
	gopkg.in/yaml.v3
`)

// serves reports whether a package is of the server's own side of a call.
func serves(pkg string) bool {
	return pkg == runtimePath || strings.HasPrefix(pkg, runtimePath+"/") ||
		pkg == sdkPath || strings.HasPrefix(pkg, sdkPath+"/")
}

func computes(pkg string) bool {
	return slices.ContainsFunc(libraries, func(name string) bool {
		return pkg == strings.TrimSuffix(name, "/") ||
			strings.HasSuffix(name, "/") && strings.HasPrefix(pkg, name)
	})
}

// callers are the packages of the standard library that call methods of values by the values that
// they are handed. All others keep values from earlier calls.
var callers = strings.Fields(`bufio bytes cmp compress/flate compress/gzip compress/zlib
	container/heap crypto/tls encoding/asn1 encoding/base64 encoding/binary encoding/csv encoding/hex
	encoding/json encoding/xml errors fmt io io/fs io/ioutil log log/slog mime/multipart
	reflect slices sort strings text/tabwriter`)

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
var calledBack = slices.Concat(encoders, strings.Fields(`As Close Flush Is Len Less Pop Push Read
	ReadAt ReadByte ReadFrom ReadRune Seek Set Swap Temporary Timeout UnreadByte UnreadRune Unwrap
	Write WriteAt WriteByte WriteString WriteTo`))

// encoders are methods that it also calls on values inside of a value: on fields and elements.
var encoders = strings.Fields(`AppendBinary AppendText Error Format GobDecode GobEncode GoString
	LogValue MarshalBinary MarshalJSON MarshalJSONTo MarshalText MarshalXML MarshalXMLAttr
	MarshalYAML Scan String UnmarshalBinary UnmarshalJSON UnmarshalJSONFrom UnmarshalText
	UnmarshalXML UnmarshalXMLAttr UnmarshalYAML Value`)
