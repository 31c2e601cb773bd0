package sandbox

import (
	"encoding/json"
	"time"

	"golang.org/x/sys/unix"
)

// The time limits of hostile and quickly are meant to be reached by processes, which have no clock
// of a test. No test depends on how far a process comes within them.

// hostile are limits under which a handler's worst ends soon.
var hostile = Limits{Timeout: time.Minute, Memory: 64 << 20, CPU: time.Second, OpenFiles: 100,
	FileSize: 4 << 20, Processes: 64}

// quickly are the same with a timeout that is meant to be reached.
var quickly = Limits{Timeout: 300 * time.Millisecond, Memory: 64 << 20, Processes: 64}

// telling are the arguments by which a handler tells the server that it has begun, see tell.
var telling = json.RawMessage(`"tell"`)

// tell sends an emission if the call has telling as its arguments. The server takes it before
// anything that the handler sends later.
func tell(job Job) {
	if string(job.Arguments) == string(telling) {
		_, _ = unix.Write(responseFD, emission("{}"))
	}
}

// forever waits for an event that does not come.
func forever() {
	for {
		_, _ = unix.Ppoll(nil, nil, nil)
	}
}
