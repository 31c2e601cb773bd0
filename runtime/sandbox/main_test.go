package sandbox

import (
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	beforeMain()
	Main()
	if tag := os.Getenv("SANDBOX_TEST_SERVER"); tag != "" && serveInstead != nil {
		serveInstead(tag)
		return
	}
	os.Exit(m.Run())
}

// beforeMain does what tests need of helpers and of this process, on systems that have helpers.
var beforeMain = func() {}

// serveInstead makes the process a server that is going to be killed, on systems that have one.
var serveInstead func(tag string)
