// Package grant decides which resources a client may use: files below named roots, commands, hosts,
// and kinds of a service's own.
//
// A role decides who may call read_file; a [Permission] decides which files the call may read. A
// client has a [Set] of grants. Each is a permission, with its administrator, its reason and its
// expiry. A resource is denied unless a grant allows it. No grant denies anything, so that revoking
// one leaves the others as they are.
//
// # Patterns
//
// The family of a permission's type determines the form of its resource.
//
//   - file.*: a path below a named root, as in "public/docs/*.md". The first segment is the name of the root. In a
//     segment "*" stands for any run of characters, "?" for one, "[a-z]" and "[^a-z]" for one of a class; "**", as a
//     whole segment, for any number of segments, none included: "public/**" is public and all in it. "." is the top.
//   - system.command: an argv, as words ("git log *") or a JSON array of strings. Each word stands for one
//     argument, exact or with the same signs; "*" is any one argument, options too, and "**" at the end any further ones. The
//     program is named as the client names it, by a bare name or an absolute path, and in it no sign stands for "/".
//   - net.*: a host and, if need be, a port or a range of ports: "example.com:443", "*.example.com" (exactly
//     one label more, as in certificates: RFC 9525, section 6.3), "**.example.com" (one or more), "**" (any name), "10.0.0.0/8:80-90",
//     "[2001:db8::/32]:443". Names match names and addresses match addresses. Without a port, any.
//   - any other kind: an exact text, or one with the same signs, in which none is special about "/" or ".".
//
// A backslash makes the character after it literal. Case and forms of Unicode matter, except that
// names of hosts are in lower case. Braces are an error, since some readers would take them for
// alternatives.
package grant
