// Package permissions has tools with permissions on their arguments, with limits, and with
// processes of their own.
//
//mcp:server name=permissions
//mcp:default authenticated
package permissions

import "context"

// Path names a file.
type Path string

// Pair is two files.
type Pair struct {
	Ends
	Note string `json:"note"`
}

// Ends are the files.
type Ends struct {
	From string `json:"from"`
	To   Path   `json:"to"`
}

// Copy copies a file.
//
//mcp:tool
//mcp:allow file.read={from} file.write={to}:*.txt
//mcp:limit output=1KiB concurrency=2 rate=100/m capabilities=files,network
func Copy(ctx context.Context, pair Pair) error { return nil }

// Run starts a program.
//
//mcp:tool
//mcp:allow system.command={argv}
//mcp:limit isolate=process memory=1GiB rate=1/h capabilities=none
func Run(ctx context.Context, argv []string) error { return nil }

// Nap sleeps.
//
//mcp:tool
//mcp:limit isolate=process output=1536KiB rate=3/s
func Nap(ctx context.Context) (string, error) { return "", nil }

// Job shares its name with what a process of its own is handed.
type Job struct{}

// NewJob makes one.
//
//mcp:worker
func NewJob(ctx context.Context) (*Job, error) { return &Job{}, nil }

// Do does it.
//
//mcp:tool
//mcp:limit isolate=process capabilities=exec,files,network
func (j *Job) Do(ctx context.Context, pair Pair) (Pair, error) { return pair, nil }

// Show shows it.
//
//mcp:tool
func (j *Job) Show(ctx context.Context) error { return nil }

// Desk is made without further ado.
type Desk struct{}

// NewDesk makes one.
//
//mcp:worker
func NewDesk() Desk { return Desk{} }

// Sit sits.
//
//mcp:tool
//mcp:limit isolate=process
func (d *Desk) Sit(ctx context.Context) error { return nil }

var sandbox, job = "taken", "taken"

var _ = sandbox + job
