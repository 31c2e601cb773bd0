package sandbox

import "golang.org/x/sys/unix"

// madeByCall are the calls that only this processor has for making files, with the beginning of a
// name.
var madeByCall = map[call]string{
	{unix.SYS_OPEN, unix.O_CREAT | unix.O_WRONLY}: "open-old-",
	{unix.SYS_CREAT, modeHere}:                    "creat-",
	{unix.SYS_MKDIR, modeHere}:                    "mkdir-",
}
