package model

import (
	"strconv"
	"time"
)

// DefaultTimeout bounds calls of tools, prompts and resources that have no time limit of their own.
const DefaultTimeout = 30 * time.Second

// Limits bound the calls of a tool, a prompt or a resource. All but Timeout and NonBlocking are of
// tools alone, and zero where nothing is written, which is the server's choice.
type Limits struct {
	// Timeout is 30 s where nothing is written, and zero only with NonBlocking.
	Timeout     time.Duration
	NonBlocking bool // the author promises that the handler only computes
	// of a call in a process of its own; 512 MiB where nothing is written, 0 for other calls
	Memory      Size
	Output      Size   // of the result
	Concurrency int    // calls at a time, for each client
	Rate        Rate   // calls that begin, for each client
	Isolate     string // "process", or empty
	// Capabilities are what the code of the handler may reach, sorted: files, network, exec, or none
	// alone. nil is not declared, which is recorded and not judged.
	Capabilities []string
}

// Size counts bytes.
type Size int64

// The units of sizes.
const (
	KiB Size = 1 << 10
	MiB Size = 1 << 20
	GiB Size = 1 << 30
)

// String is the size as a directive writes it, in the largest unit that holds it without a
// fraction.
func (s Size) String() string {
	for _, unit := range []struct {
		is   Size
		name string
	}{{GiB, "GiB"}, {MiB, "MiB"}} {
		if s >= unit.is && s%unit.is == 0 {
			return strconv.FormatInt(int64(s/unit.is), 10) + unit.name
		}
	}
	return strconv.FormatInt(int64(s/KiB), 10) + "KiB"
}

// Rate is how many calls may begin in a time. The zero Rate is none.
type Rate struct {
	Calls int
	Per   time.Duration // a second, a minute or an hour
}

// String is the rate as a directive writes it, "10/s", and empty for none.
func (r Rate) String() string {
	if r.Calls == 0 {
		return ""
	}
	unit := map[time.Duration]string{time.Second: "s", time.Minute: "m", time.Hour: "h"}[r.Per]
	return strconv.Itoa(r.Calls) + "/" + unit
}
