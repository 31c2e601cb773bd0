// Package grant decides which resources a client may use: files below named roots, commands, hosts,
// and whatever kind of its own a service has.
//
// A role says who may call read_file; a [Permission] says which files. A client has a [Set] of
// grants, each a permission with who granted it, why and until when. Nothing is allowed that no
// grant allows, and no grant takes anything away: revoking one leaves the others as they are.
//
// # Patterns
//
// The family of a permission's type says how its resource is read.
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
// A backslash takes the meaning from the character after it. Nothing is folded: neither case nor
// forms of Unicode, except that names of hosts are in lower case. Braces are refused rather than
// read as alternatives by some and as themselves by others.
package grant
