package sandbox

import (
	"errors"
	"runtime"
	"time"
)

// Options configure a [Sandbox] and the [Pool] in it. The zero value is the safe one.
type Options struct {
	// Workspaces is the folder that holds the workspaces of clients and nothing else, of this
	// sandbox alone. It is made where it does not exist. Empty: clients have none. A pool by itself
	// has no use for it.
	Workspaces string
	// Workspace is how much each of them may hold, and how long it is kept. Owners are those of
	// helpers where it names none.
	Workspace WorkspaceOptions
	// Warm is how many helpers are kept ready; 4 by default. Each has the memory of the program
	// just started, some 10 MB.
	Warm int
	// WarmNet is how many more are kept ready for calls with Request.Net; none by default, so that
	// these wait some milliseconds for a helper. A sandbox keeps 2 for a server with isolated tools
	// that connect.
	WarmNet int
	// Max is how many calls run at a time; 64 by default. A further one is a [*LimitError] with
	// limit Concurrency, unless one ends within a quarter of a second, or two seconds where one has
	// been answered and its processes are still ending.
	Max int
	// Share is how many of these may be one client's, over all tools; half of Max by default, and
	// one at least. A further one is a [*LimitError] at once. Anonymous callers are one client. A
	// pool by itself does not know clients.
	Share int
	// Limits are those of requests that name none.
	Limits Limits
	// Grace is how long a handler whose time is over has to return; 100 ms by default.
	Grace time.Duration
	// Printed is how many bytes of what a call prints are kept; 64 KiB by default. Printing more
	// than that is not an error, it is lost.
	Printed int
	// UID and GID are the user and group of helpers where the server is root; 65534 (nobody) by
	// default, without any further groups. A server that is not root can change neither: helpers
	// then have its own, and keep all groups that it is in.
	UID, GID int
	// Env is the environment of helpers, all of it. By default it is
	// PATH=/usr/local/bin:/usr/bin:/bin and GOMAXPROCS=2: a call that keeps every processor busy
	// holds up the others, and fewer threads are confined faster.
	Env []string
	// NetPaths are files and folders that calls with Request.Net may read: by default how names are
	// resolved, and the certificates of authorities, but no folders that hold keys as well. Those
	// that do not exist are left out.
	NetPaths []string
	// Cgroup is the path of a cgroup (version 2) that is delegated to the server, with
	// no processes of its own and the controllers memory and pids enabled for its children. Calls
	// then get a cgroup each, and Limits.Memory and Limits.Processes bind all of a call's processes
	// together. Empty: they bind as their own comments say.
	Cgroup string
	// BestEffort starts with what the system has. What it lacks is in [Pool.Missing]. In a sandbox
	// runtime.Options.SandboxBestEffort sets it.
	BestEffort bool
	// RequireMountNamespace takes a system without mount namespaces for one that lacks a part,
	// which keeps a server from starting. Without it such a server starts, and logs that they are
	// missing: a handler then sees names and attributes of files that it cannot open (stat), and a
	// program that it may start runs files of the workspace through ld.so.
	RequireMountNamespace bool
	// Log gets what people should know who run the server: panics with their stacks, helpers that
	// could not be started. The name is that of a handler, or empty. It may be called
	// concurrently. Nil drops it; in a sandbox it goes to the server's logger as errors.
	Log func(name, message string)
}

func (o Options) filled() (Options, error) {
	if o.Warm < 0 || o.WarmNet < 0 || o.Max < 0 || o.Share < 0 || o.Grace < 0 || o.Printed < 0 ||
		o.UID < 0 || o.GID < 0 {
		return o, errors.New("sandbox.Options must not have negative numbers")
	}
	if err := o.Limits.check(); err != nil {
		return o, err
	}
	fill(&o.Warm, 4)
	fill(&o.Max, 64)
	fill(&o.Share, max(1, o.Max/2))
	fill(&o.Grace, 100*time.Millisecond)
	fill(&o.Printed, 64<<10)
	fill(&o.UID, 65534)
	fill(&o.GID, 65534)
	o.Limits = o.Limits.over(standard)
	if o.Env == nil {
		o.Env = []string{"PATH=/usr/local/bin:/usr/bin:/bin", "GOMAXPROCS=2"}
	}
	if o.NetPaths == nil {
		o.NetPaths = []string{
			"/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf", "/etc/services",
			"/etc/gai.conf",
			"/etc/ssl/certs", "/etc/ssl/cert.pem", "/etc/ssl/ca-bundle.pem",
			"/etc/pki/tls/certs", "/etc/pki/tls/cacert.pem", "/etc/pki/ca-trust/extracted",
			"/usr/share/ca-certificates", "/usr/local/share/ca-certificates", "/etc/localtime",
		}
	}
	if o.Log == nil {
		o.Log = func(string, string) {}
	}
	return o, nil
}

// startsAtOnce bounds the helpers that are starting at a time: more would only slow the calls down
// that run.
var startsAtOnce = max(2, runtime.GOMAXPROCS(0))
