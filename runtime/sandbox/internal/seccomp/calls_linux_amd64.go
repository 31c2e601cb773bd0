package seccomp

import "golang.org/x/sys/unix"

// nativeArch is AUDIT_ARCH_X86_64.
const nativeArch = unix.AUDIT_ARCH_X86_64

// Calls of this processor only.
var (
	archDeadly = []uint32{unix.SYS_KEXEC_FILE_LOAD, unix.SYS_CREATE_MODULE, unix.SYS_IOPL,
		unix.SYS_IOPERM}
	archRefused = []uint32{
		unix.SYS_CHMOD, unix.SYS_CHOWN, unix.SYS_LCHOWN, unix.SYS_UTIME, unix.SYS_UTIMES,
		unix.SYS_FUTIMESAT,
		unix.SYS_USELIB, unix.SYS_SYSFS, unix.SYS_USTAT, unix.SYS_MODIFY_LDT, unix.SYS_MKNOD,
	}
	archAbsent  = []uint32{unix.SYS__SYSCTL, unix.SYS_NFSSERVCTL, unix.SYS_LOOKUP_DCOOKIE}
	archServing = []uint32{}
)

// Calls that open a file, with the index of their flags argument, before the mode, and other calls
// with a mode, with its index.
var (
	archOpen = map[uint32]uint32{unix.SYS_OPEN: 1, unix.SYS_OPENAT: 2}
	archMake = map[uint32]uint32{unix.SYS_CREAT: 1, unix.SYS_MKDIR: 1, unix.SYS_MKDIRAT: 2}
)
