// Package sandbox runs handlers within limits, each call in a process of its own, on Linux. On
// other systems it builds, and refuses. A server is given a [Sandbox], by [New]; it bounds how
// often clients call ([Limiter]) and keeps a workspace for each ([Workspaces], which handlers find
// by [Workspace]) on all systems.
//
// The process is a helper: the program's own file, started again, in which [Main] waits for one
// request, runs the handler that was registered by that name, and answers. A [Pool] keeps helpers
// ready. Each serves one call and is then killed with everything it started, so nothing a call
// leaves behind meets another.
//
// # Order, and why it is this one
//
//  1. The server starts the helper from /proc/self/exe, as another user where it is root, in a user namespace, a
//     mount namespace and (without cgo) a pid namespace of its own, as the leader of a session, with
//     a clean environment. The user
//     comes first: no line of Go ever runs in a helper as root. It
//     is killed when the server ends, and closes what the server itself inherited without knowing.
//     The helper gives itself a root that holds the null device and nothing else. It keeps the capability to mount
//     in its own namespaces until step 4.
//  2. The helper restricts its system calls while it waits: which ones depends only on whether it is meant for calls
//     with a network, and building the filter takes longer than anything else here. Seccomp brings all threads along
//     and with them no_new_privs, without which it could be shaken off by starting a privileged program.
//  3. The request comes over a socket, which carries the descriptors of what is granted: files that the server has
//     opened, and so decided on. The socket is closed; the answer goes through a pipe, of which the server trusts no
//     length.
//  4. Mounts: the working directory and the granted paths, at their own names, without set-id bits and, unless
//     Execute was granted, not executable. A server that may mount hands over mounts; for another one the helper
//     finds each path by its name, and compares what it finds with the descriptor. Then all threads drop their
//     capabilities, and a second filter refuses mounts.
//     Limits: RLIMIT_DATA (not RLIMIT_AS, which a Go program exceeds by starting), STACK, CPU, NOFILE, FSIZE, NPROC,
//     CORE, MSGQUEUE. Hard ones: limits go down only. They come with the request because they are the request's.
//  5. Landlock, on all threads, with exactly the granted paths, the working directory and the null device. After the
//     limits, because what it needs of /proc can be opened no more.
//  6. The handler. Its context holds the caller and the decisions of the server ([Job].Caller).
//  7. The server kills the process group, the pid namespace with its first process, and the cgroup if there is one,
//     waits, and only then returns. [Sandbox.Isolate] does not wait where there is an answer: taking apart what was
//     killed takes as long again as the call. It has its place among [Options].Max until then. What has left the
//     process group may run on for that moment, which only a pid namespace lets it: it is seen when the client's workspace is
//     counted next.
//
// # What holds
//
// No path can be opened that was not granted, by no thread and no program that the handler starts.
// In a mount namespace no other path can be looked at (stat, readlink, access), but for the names
// of folders that lead to granted ones. No file can be run or mapped as a program that was not
// granted for it, by ld.so neither. No file gets a set-id bit, and none is made without a name
// (O_TMPFILE). No socket of any family can be made, but TCP and UDP ones for calls that were
// granted a network, and those cannot listen. No pipe with a name and no device can be made, and no
// space be taken beyond a file's end. No other process can be signalled, traced, read or slowed
// down, and none becomes the server's child but the helpers. When [Pool.Run] has returned none of
// the call's processes is left, whatever sessions they made and however often they forked; the same
// goes for the server's own end, kill -9 included, which a handler cannot keep from its helper. A
// limit that was reached is named in a [*LimitError]. What a helper sends is read in one order,
// each part once and of bounded length; what its handler logs and reports meanwhile
// ([runtime.Logger], [runtime.Progress], [runtime.Advise]) is bounded one by one and together, and
// nothing in it is believed. No client has more than [Options].Share calls at a time. The tests try
// all of it on the real kernel.
//
// # What does not
//
//   - Without a mount namespace, names and attributes of files (stat, readlink, access) can be read as far as the
//     user's permissions go, and ld.so runs files of the workspace: Landlock rules on neither. Choose a user (see
//     [Options]) that owns nothing, or set [Options].RequireMountNamespace.
//   - With a mount namespace there is no /proc, so that programs that need it fail. An interpreter that
//     was granted reads a script from the workspace. A file that is handed over open stays on the
//     server's mount.
//   - The other way round, no handler and no program it starts can change modes, owners or extended attributes, of its
//     own files neither: the filter cannot tell whose they are. Programs that insist on it fail.
//   - Memory, processor time and open files are bounded for each process. A handler that may start programs can have
//     Limits.Processes times as much, unless there is a cgroup. What the kernel holds for a process (pipes, page
//     tables, page cache) is counted by a cgroup only.
//   - RLIMIT_DATA counts memory that may be written to. A handler that means harm fills some, makes it readable only,
//     and takes more: what a process has resident is looked at every 50 ms or so, and a call with one that has too much is
//     killed. Until then it has what can be filled in that time, unless there is a cgroup.
//   - FileSize bounds a file, not how many there are. A workspace is counted while a call runs
//     in it, every 50 ms or ten times as long as counting takes, and at its end. A call that
//     exceeds the quota is killed: the workspace holds more by what can be written in that
//     time. The client's next calls can then remove files and folders, and neither make nor
//     write any. A file takes its length, or what the file system has reserved for it where
//     that is more. A call whose workspace cannot be counted within 5 s ends.
//   - Removed files that the processes of a call still have open or mapped count as well. The
//     server finds them in /proc. It has to be root or start its helpers in a user namespace,
//     and /proc may not hide them (hidepid); else it does not start, unless that is accepted. A
//     call with a process that cannot be read ends. So does one with a removed file that is
//     mapped and no longer open, unless the server has the capability CAP_CHECKPOINT_RESTORE:
//     its length cannot be known. Processes that hand files on to new ones faster than the
//     server looks are found later. A workspace for which that is too much belongs on a file
//     system of its own.
//   - With a network granted, all addresses can be reached that the server's host can. Which hosts a call may
//     connect to is for its handler's dialer.
//   - A hole in the kernel is a way out. The filter closes the parts with a history of them, and calls newer than
//     the filter.
//   - In programs with cgo there is no pid namespace (see ownPIDs): handlers cannot leave the process group instead,
//     so setsid fails in their programs, and programs they started outlive a server that is killed -9, within
//     their limits.
//   - Reaching the memory limit makes the Go runtime end the process. That it was memory is read from what it says
//     then; a handler that says the same is believed.
//   - Package initialisation of the program runs in each helper before [Main], unrestricted, though as the helper's
//     user: it must not do what a server does.
package sandbox
