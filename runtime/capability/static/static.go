// Package static reads permissions from one file, YAML or JSON. It is for small deployments without
// a permission system of their own, and for tests.
//
//	actions:
//	  - dcim.view_site
//	  - dcim.view_device
//	  - dcim.change_device
//	  - dcim.napalm_read_device
//	  - billing.export
//	exempt:
//	  dcim.site: [view]
//	groups:
//	  readers:
//	    permissions: [dcim.view_device]
//	  amsterdam:
//	    constrained:
//	      dcim.change_device:
//	        - {site: ams}
//	        - {site: rtm}
//	users:
//	  ada:
//	    groups: [readers, amsterdam]
//	    exempt:
//	      dcim.device: [napalm_read]
//	  root: {superuser: true}
//	  eve: {active: false, superuser: true}
//
// The keys of the document:
//
//   - users: the users by name, as in [access.Principal.User], case included. Only this key is
//     required.
//   - groups: the groups by name.
//   - exempt: the actions that each active user may take without a permission.
//   - actions: all permissions of the host. If it is present, another name is an error, in the
//     file and, at start, in the table of the server.
//
// The keys of a user or a group:
//
//   - permissions: a list of permissions for all objects, each app.action_object, app.action, or
//     the bare action of a package without app=.
//   - constrained: permissions for some objects, each with a list of constraints. A constraint is
//     a mapping in the handler's own terms, which the handler gets as JSON. An object is covered if
//     it meets any constraint.
//   - exempt: actions that need no permission, by the type of the object, app.object, or by the app
//     for actions without an object. "*" means all types, or all actions. Both are an error: use
//     superuser. No exemption covers a bare action.
//
// Further keys of a user:
//
//   - groups: the names of its groups.
//   - superuser: true allows everything. The default is false.
//   - active: false makes the user unknown. The default is true.
//
// Permissions from several places add up. A permission for all objects from one place is one for
// all objects. A file is used completely or not at all. Repeated or unknown names, values of
// another type, and in YAML also aliases, tags and further documents are errors.
package static

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/mcpgen/mcpgen/internal/configfile"
	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/capability"
)

// Source is a [capability.Source] over a file. It is a [capability.Enumerator] where the file lists
// its actions. It is safe for concurrent use.
type Source struct {
	file    string // for messages
	open    func() (fs.File, error)
	loading sync.Mutex // one at a time, so that what is read last is what counts
	now     atomic.Pointer[accounts]
}

var (
	_ capability.Source     = (*Source)(nil)
	_ capability.Enumerator = (*Source)(nil)
)

// Open reads a file of the system, whose name ends in .yaml, .yml or .json. The error lists
// all mistakes with their lines, one mistake a line. If the file is no YAML or JSON, it has that
// alone.
func Open(file string) (*Source, error) {
	return open(file, func() (fs.File, error) { return os.Open(file) })
}

// OpenFS is Open for a file of fsys: one that is built into the program, or a test's.
func OpenFS(fsys fs.FS, file string) (*Source, error) {
	return open(file, func() (fs.File, error) { return fsys.Open(file) })
}

func open(file string, open func() (fs.File, error)) (*Source, error) {
	s := &Source{file: file, open: open}
	if err := s.Reload(); err != nil {
		return nil, err
	}
	return s, nil
}

// Reload reads the file again, and replaces all permissions at once. With an error, the earlier
// permissions still count. Call InvalidateCapabilities(nil) of the server afterwards: it notifies
// clients whose lists have changed, and drops permissions that Options.Host.TTL keeps.
func (s *Source) Reload() error {
	s.loading.Lock()
	defer s.loading.Unlock()
	var all *accounts
	err := configfile.Read(s.file, s.open, "use an adapter over a database",
		func(doc configfile.Value, bad *configfile.Problems) { all = readAccounts(doc, bad) })
	if err != nil {
		return err
	}
	s.now.Store(all)
	return nil
}

// Resolve returns the active user that a principal's User names.
func (s *Source) Resolve(_ context.Context, p access.Principal) (capability.User, error) {
	a, err := s.account(p)
	return a.user, err
}

// Capabilities returns all that the file gives the user that a principal's User names, and its
// groups.
func (s *Source) Capabilities(_ context.Context, p access.Principal) (capability.Set, error) {
	a, err := s.account(p)
	return a.set, err
}

func (s *Source) account(p access.Principal) (account, error) {
	if p.User == "" {
		return account{},
			fmt.Errorf(
				"static: the principal has no user (set the user claim of its tokens, or ServiceUsers): %w",
				capability.ErrNoUser)
	}
	a, ok := s.now.Load().active[p.User]
	if !ok {
		return account{}, fmt.Errorf("static: %s has no active user %q: %w", s.file, p.User,
			capability.ErrNoUser)
	}
	return a, nil
}

// Actions returns what the file lists under actions. Where it has no such list the error is
// [errors.ErrUnsupported].
func (s *Source) Actions(context.Context) ([]string, error) {
	all := s.now.Load()
	if !all.listed {
		return nil, fmt.Errorf("static: %s lists no actions: %w", s.file, errors.ErrUnsupported)
	}
	return slices.Clone(all.actions), nil
}

// MapAction returns a permission unchanged, because file and tables use the same form. It returns
// an error for a text that no file could contain.
func (s *Source) MapAction(permission string) (string, error) {
	if !isPermission(permission) {
		return "", fmt.Errorf("static: %q is not a permission: %s", permission, permissionForm)
	}
	return permission, nil
}
