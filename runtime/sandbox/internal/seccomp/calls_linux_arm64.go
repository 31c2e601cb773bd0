package seccomp

import "golang.org/x/sys/unix"

// nativeArch is AUDIT_ARCH_AARCH64.
const nativeArch = unix.AUDIT_ARCH_AARCH64

// Calls of this processor only.
var (
	archDeadly  = []uint32{unix.SYS_KEXEC_FILE_LOAD}
	archRefused = []uint32{}
	archAbsent  = []uint32{unix.SYS_NFSSERVCTL, unix.SYS_LOOKUP_DCOOKIE}
	archServing = []uint32{}
)

// Calls that open a file, with the index of their flags argument, before the mode, and other calls
// with a mode, with its index.
var (
	archOpen = map[uint32]uint32{unix.SYS_OPENAT: 2}
	archMake = map[uint32]uint32{unix.SYS_MKDIRAT: 2}
)
