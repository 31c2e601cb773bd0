package sandbox

import (
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	Main()
	if tag := os.Getenv("SANDBOX_TEST_SERVER"); tag != "" && serveInstead != nil {
		serveInstead(tag)
		return
	}
	os.Exit(m.Run())
}

// serveInstead makes the process a server that is going to be killed, on systems that have one.
var serveInstead func(tag string)
