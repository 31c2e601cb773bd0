package reach

import (
	"go/types"
	"strings"
	"testing"

	cpb "github.com/google/capslock/proto"
	"golang.org/x/tools/go/packages"

	"github.com/mcpgen/mcpgen/generator/extension"
)

// A class that a later capslock adds is not mapped in silence.
func TestEveryClassIsMapped(t *testing.T) {
	want := map[cpb.Capability]string{
		cpb.Capability_CAPABILITY_UNSPECIFIED:         "",
		cpb.Capability_CAPABILITY_SAFE:                "",
		cpb.Capability_CAPABILITY_FILES:               extension.Files,
		cpb.Capability_CAPABILITY_NETWORK:             extension.Network,
		cpb.Capability_CAPABILITY_RUNTIME:             "",
		cpb.Capability_CAPABILITY_READ_SYSTEM_STATE:   "",
		cpb.Capability_CAPABILITY_MODIFY_SYSTEM_STATE: "",
		cpb.Capability_CAPABILITY_OPERATING_SYSTEM:    extension.Files,
		cpb.Capability_CAPABILITY_SYSTEM_CALLS:        extension.Unknown,
		cpb.Capability_CAPABILITY_ARBITRARY_EXECUTION: extension.Unknown,
		cpb.Capability_CAPABILITY_CGO:                 extension.Unknown,
		cpb.Capability_CAPABILITY_UNANALYZED:          "",
		cpb.Capability_CAPABILITY_UNSAFE_POINTER:      extension.Unknown,
		cpb.Capability_CAPABILITY_REFLECT:             extension.Unknown,
		cpb.Capability_CAPABILITY_EXEC:                extension.Exec,
	}
	for number, name := range cpb.Capability_name {
		mapped, known := want[cpb.Capability(number)]
		if !known {
			t.Errorf("%s is new: say what it is", name)
			continue
		}
		got := capabilities[cpb.Capability(number)]
		if got.name != mapped || (mapped == extension.Unknown) != (got.why != "") {
			t.Errorf("%s is %q for %q, want %q", name, got.name, got.why, mapped)
		}
	}
}

func TestWhatIsKnownByName(t *testing.T) {
	c := newClasses()
	for name, want := range map[string]string{
		"os os.Open": extension.Files,
		// capslock does not list it
		"os (*os.Root).WriteFile":                                  extension.Files,
		"os os.Getenv":                                             "",
		"os/exec os/exec.Command":                                  extension.Exec,
		"os (*os.Process).Kill":                                    extension.Exec,
		"net net.Dial":                                             extension.Network,
		"net/http (*net/http.Client).Do":                           extension.Network,
		"net/http (net/http.Header).Set":                           "",
		"database/sql (*database/sql.DB).Query":                    extension.Network,
		"database/sql (database/sql.Null).Value":                   "",
		"syscall syscall.Mount":                                    extension.Unknown,
		grantPath + " " + grantPath + ".File":                      extension.Files,
		grantPath + " " + grantPath + ".Command":                   extension.Exec,
		grantPath + " " + grantPath + ".Parse":                     "",
		runtimePath + " " + runtimePath + ".New":                   "",
		sdkPath + "/mcp (*" + sdkPath + "/mcp.ServerSession).Ping": "",
	} {
		pkg, fn, _ := strings.Cut(name, " ")
		if got := capabilities[c.FunctionCategory(pkg, fn)].name; got != want {
			t.Errorf("%s is %q, want %q", fn, got, want)
		}
	}
}

// What these do is not to write: a method that Go adds is on one list or the other.
var readers = map[string]string{
	"os.":         "DirFS Lstat NewFile Open OpenFile OpenInRoot OpenRoot Pipe ReadDir ReadFile Readlink SameFile Stat",
	"(*os.File).": "Chdir Close Fd Name Read ReadAt ReadDir Readdir Readdirnames Seek SetDeadline SetReadDeadline SetWriteDeadline Stat Sync SyscallConn WriteTo",
	"(*os.Root).": "Close FS Lstat Name Open OpenFile OpenRoot ReadFile Readlink Stat",
}

func TestWhatIsNamedIsThere(t *testing.T) {
	loaded, err := packages.Load(&packages.Config{
		Mode: packages.NeedName | packages.NeedTypes | packages.NeedImports},
		"os", "net/http", "database/sql", "encoding/gob", "html/template", "plugin", "reflect",
		"text/template", grantPath, sandboxPath)
	if err != nil {
		t.Fatal(err)
	}
	there := map[string]bool{}
	for _, p := range loaded {
		scope := p.Types.Scope()
		for _, name := range scope.Names() {
			switch o := scope.Lookup(name).(type) {
			case *types.Func:
				if !o.Exported() {
					continue
				}
				there[o.FullName()] = true
			case *types.TypeName:
				if named, ok := o.Type().(*types.Named); ok {
					for m := range named.Methods() {
						if m.Exported() {
							there[m.FullName()] = true
						}
					}
				}
			}
		}
	}
	for name := range ours {
		if !there[name] {
			t.Errorf("there is no %s to be classified", name)
		}
	}
	reading := map[string]bool{}
	for of, names := range readers {
		for name := range strings.FieldsSeq(names) {
			reading[of+name] = true
		}
	}
	c := newClasses()
	for _, names := range []map[string]bool{writers, reading} {
		for name := range names {
			if !there[name] {
				t.Errorf("there is no %s", name)
			}
		}
	}
	for name := range there {
		of := name[:strings.LastIndex(name, ".")+1]
		if _, listed := readers[of]; !listed || reading[name] || writers[name] {
			continue
		}
		if capabilities[c.FunctionCategory("os", name)].name == extension.Files {
			t.Errorf("%s is neither among those that write nor among those that do not", name)
		}
	}
}
