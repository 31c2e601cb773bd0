package sandbox

import "golang.org/x/sys/unix"

// nativeArch is AUDIT_ARCH_AARCH64.
const nativeArch = unix.AUDIT_ARCH_AARCH64

// Calls that only this processor has.
var (
	archDeadly  = []uint32{unix.SYS_KEXEC_FILE_LOAD}
	archRefused = []uint32{}
	archAbsent  = []uint32{unix.SYS_NFSSERVCTL, unix.SYS_LOOKUP_DCOOKIE}
	archServing = []uint32{}
)
