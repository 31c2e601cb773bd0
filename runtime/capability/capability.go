// Package capability is the contract between a server and the permission system of its host:
// Django, NetBox, a file. A capability is a permission that the host gives a principal. The server
// reads capabilities and mirrors them in its lists and calls. It keeps no permissions of its own.
//
// A [Source] is an adapter for one kind of host. Adapters are packages of their own below this
// one, so that a service links the database of the one it uses and no other.
package capability

import (
	"context"
	"errors"

	"github.com/mcpgen/mcpgen/runtime/access"
)

// Source reads the permissions of one host. Set it as runtime.Options.Host.Source. Its methods are
// called from many goroutines at once, and ctx has the time limit. After an error, a panic or the
// time limit, the caller may use public tools only. The text of an error goes to the server's log,
// and never to a caller. It must contain no secret.
//
// The host's user is that of [access.Principal.User], or of other fields of the principal that an
// adapter documents. It is never that of the Subject alone, which is unique with its issuer only.
type Source interface {
	// Resolve returns the host's user of a principal. Its error wraps [ErrNoUser] if the host has no
	// such user, or only an inactive one.
	Resolve(ctx context.Context, p access.Principal) (User, error)

	// Capabilities returns all permissions of a principal, read by one query. Its error wraps
	// [ErrNoUser] in the same cases as that of Resolve. The result must not be changed afterwards.
	Capabilities(ctx context.Context, p access.Principal) (Set, error)

	// MapAction returns the name of a permission in the host's [Set], and does nothing else. The
	// permission has the form of the table: "dcim.napalm_read_device", "billing.export", or the
	// bare action "napalm_read" of a package without app=. The error is for a permission that the
	// host cannot have, and contains the cure. The server adds the tool's name.
	//
	// A host may split the name of a permission by a rule of its own, so that "view" on "dns_record"
	// and "view_dns" on "record" are the same name. Then the source has the method
	// MapPermission(access.Permission) (string, error) too, which a server calls in place of
	// MapAction.
	MapAction(permission string) (string, error)
}

// Enumerator is a [Source] that knows all permissions of its host. A server calls it at start, so
// that an action that the host does not know is an error, and not a tool that no caller sees.
type Enumerator interface {
	// Actions returns the permissions of the host, in its own spelling and in any order. Where it
	// turns out that the host cannot enumerate them, its error wraps [errors.ErrUnsupported], and
	// the source counts as no Enumerator.
	Actions(ctx context.Context) ([]string, error)
}

// VerbMapper is a [Source] that maps CRUD verbs to actions of its host by itself. A server calls
// MapVerb at start, once for each verb of its tools, prompts and resources. The mapped permission
// then replaces that of the table everywhere: lists, calls, the role matrix, explanations, audit.
//
// A verb is "list", "retrieve", "get", "create", "add", "update", "partial_update", "set",
// "delete", "remove" or "destroy", as action= has it or as the handler's name begins. Any other
// action, such as "view" in action=view, is no verb and remains.
type VerbMapper interface {
	// MapVerb returns the host's action for a verb, and does nothing else. If ok is false, mcpgen's
	// own action remains: view, add, change or delete. An action is letters, digits and
	// underscores, and is not "none". Any other action is an error at start.
	MapVerb(verb string) (action string, ok bool)
}

// User is a user of the host.
type User struct {
	ID        string // the host's key for the user, for logs and records
	Name      string // what the host calls it, as in access.Principal.User
	Superuser bool   // the host lets it do everything
}

// ErrNoUser reports that the host has no active user for a principal. Such a caller is anonymous if
// the server admits anonymous callers, and refused otherwise: over HTTP by 403.
var ErrNoUser = errors.New("no such user in the host")
