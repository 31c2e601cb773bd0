// Package grant decides which resources a client may use: files below named roots, commands,
// hosts, and custom kinds.
//
// A role decides who may call read_file. A [Permission] decides which files the call may read. A
// client has a [Set] of grants. Each is a permission, with its administrator, its reason and its
// expiry. A resource is denied unless a grant allows it. No grant denies anything, so that
// revoking one leaves the others as they are.
//
// # Patterns
//
// The family of a permission's type determines the form of its resource.
//
//   - file.*: a path below a named root, as in "public/docs/*.md". The first segment is the name
//     of the root. In a segment, "*" matches any run of characters, "?" one character, and
//     "[a-z]" and "[^a-z]" one of a class. "**" as a whole segment matches any number of
//     segments, also none: "public/**" is public and all in it. "." is the top.
//   - system.command: an argv, as words ("git log *") or a JSON array of strings. Each word
//     matches one argument, exactly or with the wildcards above. "*" matches any one argument,
//     options too, and "**" at the end any number of further ones. The program must be named as
//     the client names it: by a bare name or an absolute path. In it, no wildcard matches "/".
//   - net.*: a host, optionally with a port or a range of ports: "example.com:443",
//     "*.example.com" (exactly one more label, as in certificates: RFC 9525, section 6.3),
//     "**.example.com" (one or more), "**" (any name), "10.0.0.0/8:80-90",
//     "[2001:db8::/32]:443". Names match names and addresses match addresses. Without a port,
//     any port matches.
//   - other kinds: an exact text, or one with the wildcards above. "/" and "." have no special
//     meaning.
//
// A backslash makes the next character literal. Case and Unicode form matter, except that host
// names are in lower case. Braces are an error, because some readers would take them for
// alternatives.
package grant
