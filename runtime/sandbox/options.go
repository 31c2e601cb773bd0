package sandbox

import (
	"errors"
	"runtime"
	"time"
)

// Options configure a [Sandbox] and the [Pool] in it. The zero value is the safe one.
type Options struct {
	// Workspaces is the folder of the clients' workspaces. It contains nothing else, and belongs to
	// this sandbox alone. It is created if it does not exist. A pool without a sandbox does not use
	// it. Empty gives clients no workspaces.
	Workspaces string
	// Workspace has the quota of each workspace, and how long it is kept. Its owner is UID and GID
	// unless it has its own. Zero is the defaults of [WorkspaceOptions].
	Workspace WorkspaceOptions
	// Warm is the number of helpers that are kept ready. Each has the memory of the program just
	// started, some 10 MB. Zero is 4.
	Warm int
	// WarmNet is the number of further helpers that are kept ready for calls with Request.Net.
	// Other such calls wait some milliseconds for a helper. Zero is none, or 2 in a sandbox of a
	// server with isolated tools that connect.
	WarmNet int
	// Max is the number of calls that run at a time. A further call waits a quarter of a second, or
	// two seconds if processes of an answered call are still ending. If no call has ended by then,
	// it is a [*LimitError] with limit Concurrency. Zero is 64.
	Max int
	// Share is the number of calls of one client that run at a time, over all tools. A further call
	// is a [*LimitError] at once. Anonymous callers are one client. A pool without a sandbox does
	// not know clients. Zero is half of Max, and at least 1.
	Share int
	// Limits are those of requests that have none of their own. Zero is the defaults of [Limits].
	Limits Limits
	// Grace is the time that a handler has to return after its time limit. Zero is 100 ms.
	Grace time.Duration
	// Printed is the number of bytes that are kept of the output of a call. More output is lost,
	// and no error. Zero is 64 KiB.
	Printed int
	// UID and GID are the user and group of helpers if the server runs as root, without any further
	// groups. Without root the server cannot change them: helpers then have its user and all its
	// groups. Zero is 65534 (nobody).
	UID, GID int
	// Env is the whole environment of helpers. Nil is PATH=/usr/local/bin:/usr/bin:/bin and
	// GOMAXPROCS=2: a call that keeps every processor busy delays the others, and fewer threads are
	// confined faster.
	Env []string
	// NetPaths are files and folders that calls with Request.Net may read. Paths that do not exist
	// are left out. Nil is the files that resolve names, and the certificates of authorities, but
	// no folders that contain private keys.
	NetPaths []string
	// Cgroup is the path of a cgroup (version 2) that is delegated to the server, without processes
	// of its own, and with the controllers memory and pids enabled for its children. Each call then
	// has a cgroup, and Limits.Memory and Limits.Processes bound all processes of a call together.
	// Empty bounds them as the comments of these limits describe.
	Cgroup string
	// BestEffort starts without the parts that the system lacks, which [Pool.Missing] lists. In a
	// sandbox, runtime.Options.SandboxBestEffort sets it.
	BestEffort bool
	// RequireMountNamespace refuses to start on a system without mount namespaces. Without it such
	// a server starts, and logs that they are missing. A handler then can read names and attributes
	// of files that it cannot open (stat), and a program that it may start can run files of the
	// workspace through ld.so.
	RequireMountNamespace bool
	// Log receives panics with their stacks, and helpers that could not be started. The name is
	// that of a handler, or empty. It may be called concurrently. Nil drops these messages, or in a
	// sandbox logs them as errors of the server.
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
