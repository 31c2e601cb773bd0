//go:build !amd64 && !arm64

package seccomp

import (
	"fmt"
	"runtime"
)

// Available returns an error: system calls have other numbers and arguments here, and no filter is
// tested.
func Available() error {
	return fmt.Errorf("no system call filter is available for %s", runtime.GOARCH)
}

// Restrict returns an error unless a part may be missing.
func Restrict(o Options) error { return RestrictPreparation(o.Partial) }

// RestrictPreparation returns an error unless a part may be missing.
func RestrictPreparation(partial bool) error {
	if partial {
		return nil
	}
	return Available()
}
