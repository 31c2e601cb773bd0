// Package sandbox isolates handlers: on Linux, each call runs in its own process, within limits.
// On other systems it builds, and servers with isolated tools do not start. Pass a [Sandbox] from
// [New] to a server. On all systems it also keeps a workspace for each client, which handlers get
// by [Workspace].
//
// The process is a helper: the program's own file, started again. In it, [Main] waits for one
// request, runs the registered handler and returns the result. A pool keeps helpers ready. Each
// serves one call and is then killed with all processes that it started, so that a call leaves
// nothing behind for another.
//
// # Order of the steps
//
//  1. The server starts the helper from /proc/self/exe as the leader of a session, in its own
//     user namespace, mount namespace and (without cgo) pid namespace, with a clean environment.
//     If the server is root, the helper gets another user before any Go code runs. The helper is
//     killed when the server ends. It closes inherited descriptors, and gives itself a root with
//     nothing but the null device. It keeps the capability to mount in its own namespaces until
//     step 4.
//  2. While it waits, the helper restricts its system calls. The filter depends only on the use
//     of a network, and takes longer to build than any other step. Seccomp applies it to all
//     threads, with no_new_privs: otherwise a privileged program could remove the filter.
//  3. The request comes over a socket, with the descriptors of granted files. The server has
//     opened them, and so decided on them. The socket is closed. The response comes through a
//     pipe, whose lengths the server does not trust.
//  4. Mounts: the working directory and the granted paths, at their own names, without set-id
//     bits and not executable, unless that was granted. A server that may mount passes
//     mounts. For another server, the helper finds each path by its name and compares it with
//     the descriptor. Then all threads drop their capabilities, and a second filter refuses
//     mounts. Limits: RLIMIT_DATA (not RLIMIT_AS, which a Go program exceeds at its start),
//     STACK, CPU, NOFILE, FSIZE, NPROC, CORE and MSGQUEUE, as hard limits, which can only become
//     lower. They come with the request, because they depend on it.
//  5. Landlock, on all threads, with exactly the granted paths, the working directory and the
//     null device. It comes after the limits, which need files of /proc that cannot be opened
//     afterwards.
//  6. The handler. Its context contains the caller and the server's decisions ([Job].Caller).
//  7. The server kills the process group, the pid namespace by its first process, and the cgroup
//     if there is one. It waits for them, and then returns. [Sandbox.Isolate] returns earlier if
//     there is a response, because cleaning up takes as long again as the call. Until the end,
//     the call counts for [Options].Max. A process outside of the process group, which only a
//     pid namespace allows, may run on for that time. The next count of the client's workspace
//     includes its files.
//
// # Guarantees
//
//   - Files: no thread and no program that the handler starts can open a path that was not
//     granted. In a mount namespace it cannot stat or readlink other paths either, except the
//     names of folders that lead to granted ones. It cannot run or map a file as a program
//     unless that was granted, not even by ld.so.
//   - No file gets a set-id bit. No file without a name (O_TMPFILE), no named pipe and no device
//     can be created, and no space can be allocated beyond the end of a file.
//   - Network: no socket can be created, except TCP and UDP sockets in calls with a network, and
//     these cannot listen.
//   - Processes: a handler cannot signal, trace, read or slow down other processes. Only helpers
//     are children of the server.
//   - End: when the processes of a call have ended, no process of the call is left, whatever
//     sessions it made and however often it forked. The same holds if the server ends, also by kill
//     -9, which a handler cannot prevent.
//   - Limits: the error of a call names the limit that was reached. No client has more than
//     [Options].Share calls at a time.
//   - Output: the server reads the messages of a helper in one order, each part once and with a
//     bounded length. Logs and progress of the handler ([runtime.Logger], [runtime.Progress],
//     [runtime.Advise]) are bounded each and together, and the server trusts no content.
//
// The tests check all of these on the real kernel.
//
// # Restrictions
//
//   - Without a mount namespace, a handler can read names and attributes of files (stat,
//     readlink, access) as far as the user's permissions go, and ld.so runs files of the
//     workspace. Landlock covers neither. Choose a user that owns no files (see [Options]), or
//     set [Options].RequireMountNamespace.
//   - With a mount namespace there is no /proc, so that programs that need it fail. An
//     interpreter that was granted reads a script from the workspace. A file that is passed open
//     stays on the server's mount.
//   - A handler and its programs cannot change modes, owners or extended attributes, even of
//     their own files: the filter cannot see the owner. Programs that require it fail.
//   - Memory, processor time and open files are limited for each process. A handler that may
//     start programs can use Limits.Processes times as much, unless there is a cgroup. Only a
//     cgroup counts the kernel's memory for a process (pipes, page tables, page cache).
//   - RLIMIT_DATA counts writable memory. A hostile handler can fill memory, make it read-only
//     and allocate more. So the server reads the resident memory about every 50 ms, and kills a
//     call with too much. Until then the handler can use what it can fill in that time, unless
//     there is a cgroup.
//   - FileSize limits a file, not the number of files. The server counts a workspace at the end
//     of a call, and during it every 50 ms or ten times the duration of a count. A call that
//     exceeds the quota is killed: the workspace exceeds it by what can be written in that time.
//     The client's next calls can then remove files and folders, and neither create nor write
//     any. A file counts with its length, or with the space that the file system has reserved
//     for it if that is more. A call whose workspace cannot be counted within 5 s ends.
//   - Removed files that the processes of a call still have open or mapped count as well. The
//     server finds them in /proc. For that it must be root or start its helpers in a user
//     namespace, and /proc must not hide them (hidepid). Otherwise it does not start, unless the
//     options accept that. A call ends if one of its processes cannot be read. It also ends if
//     it has a removed file mapped and not open, whose length cannot be known without the
//     capability CAP_CHECKPOINT_RESTORE. If processes hand files on to new ones faster than the
//     server looks, it finds them later. If that is too much, put the workspaces on their own
//     file system.
//   - A call with a network can connect to all addresses that the server's host can reach. The
//     handler's dialer decides on hosts.
//   - A vulnerability of the kernel can break the isolation. The filter refuses parts with a
//     history of vulnerabilities, and system calls newer than the filter.
//   - In programs with cgo there is no pid namespace (see internal/threads). Instead, handlers
//     cannot leave the process group, so that setsid fails. Programs that they started outlive a
//     server that is killed with kill -9, within their limits.
//   - The Go runtime ends a process at the memory limit. The server detects that by the
//     runtime's message, which a handler could write itself.
//   - The program's package initialisation runs in each helper before [Main], unrestricted, as
//     the helper's user. It must not do the work of a server.
package sandbox
