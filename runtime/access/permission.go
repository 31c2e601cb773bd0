package access

import "strings"

// Permission is a permission of the host: an action, usually on a type of objects, as in
// {"dcim", "napalm_read", "device"}. Permissions are compared by ==.
//
// The zero Permission is none. On an aware table ([Table.Aware]), each rule that is not public has
// a permission or [NoPermission].
type Permission struct {
	App    string // the label of the app, as in "dcim"; empty for a bare action
	Action string // as in "view" or "napalm_read"
	Object string // the type of object within the app, as in "device"; empty for an action on none
}

// NoPermission returns the permission of a rule that needs none of the host: action=none. It is a
// function, because any program could change a variable.
func NoPermission() Permission { return Permission{Action: "none"} }

// String is the permission as the manifest and the host's documents write it:
// <app>.<action>_<object>, without an object <app>.<action>, without an app <action>. It is "none"
// for NoPermission and empty for the zero Permission.
func (p Permission) String() string {
	if p.App == "" && p.Object == "" {
		return p.Action
	}
	var buffer [64]byte
	return string(p.append(buffer[:0]))
}

func (p Permission) append(b []byte) []byte {
	if p.App != "" || p.Object != "" {
		b = append(append(b, p.App...), '.')
	}
	b = append(b, p.Action...)
	if p.Object != "" {
		b = append(append(b, '_'), p.Object...)
	}
	return b
}

// Required reports whether the rule needs a permission of the host.
func (p Permission) Required() bool { return p != Permission{} && p != NoPermission() }

// Type is what the action is done on, as hosts name it: "dcim.device", the app alone for a
// permission without an object, and empty for a bare action.
func (p Permission) Type() string {
	if p.Object == "" {
		return p.App
	}
	return p.App + "." + p.Object
}

// complete reports whether a host can have the permission: it has an action, and an app if it has
// an object. A dot in a bare action would make it the text of a permission with an app.
func (p Permission) complete() bool {
	bare := p.App == "" && p.Object == "" && !strings.Contains(p.Action, ".")
	return p.Action != "" && (p.App != "" || bare)
}
