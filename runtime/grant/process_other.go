//go:build !unix

package grant

import "os/exec"

const nonblock = 0

func group(*exec.Cmd) {}
