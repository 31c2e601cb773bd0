package toolset

import "time"

// Allow is a permission that a call needs on the resource that an argument names. It comes from
// //mcp:allow.
type Allow struct {
	Kind     string // the type of the permission, as in package grant: "file.read"
	Argument string // the argument's name, as clients see it
	// Within is a pattern of package grant that the resource must match as well. Empty is any.
	Within string
}

// GuardedTool is a tool with //mcp:allow.
type GuardedTool struct {
	Name     string
	Allow    []Allow
	Isolated bool // its calls run in a process of their own, where restricted grants count
}

// Named is one argument of a call and the resource that it names. [Call.Allow] checks it before the
// handler runs.
type Named struct {
	Argument string // the argument's name, as clients see it
	// Kinds are the permissions that the resource needs: one, or file.read and file.write together.
	Kinds []string
	// Values holds the resource's name: one value, or the argv of a command.
	Values []string
}

// Limits bound the calls of a tool, in addition to its Timeout. They come from //mcp:limit. The
// zero value of a field means the server's default.
type Limits struct {
	Memory      int64 // bytes that an isolated call may add to the memory of its process
	Output      int64 // bytes of the result
	Concurrency int   // calls at a time, for each client
	Rate        Rate  // calls that start, for each client

	// Capabilities are what the handler's code may reach: files, network and exec, or only none.
	// nil declares nothing. The command mcpgen prove compares them with the code.
	Capabilities []string
}

// Rate is the number of calls that may start within a time. The zero Rate is no bound.
type Rate struct {
	Calls int
	Per   time.Duration
}

// LimitError is the error of a call that reached a limit. The error of a sandbox implements it.
type LimitError interface {
	error
	// Reached returns the name of the limit: "timeout", "memory", "output", "calls at a time",
	// "rate" and so on.
	Reached() string
}
