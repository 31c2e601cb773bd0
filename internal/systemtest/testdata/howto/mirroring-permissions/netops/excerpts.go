package netops

import (
	"example.com/howto/mirroring-permissions/dcim"

	"github.com/mcpgen/mcpgen/runtime"
	"github.com/mcpgen/mcpgen/runtime/capability"
	"github.com/mcpgen/mcpgen/runtime/capability/objectperm"
	"github.com/mcpgen/mcpgen/runtime/identity"
)

// host is NetBox, with an action of its own for deletion.
type host struct{ *objectperm.Source }

func (host) MapVerb(verb string) (action string, ok bool) {
	return "purge", verb == "destroy" // dcim.purge_device; other verbs keep mcpgen's action
}

var _ capability.VerbMapper = host{}

func mirrored(verify identity.Verifier, adapter capability.Source) (*runtime.Server, error) {
	server, err := runtime.New(runtime.Options{
		Identity: identity.Bearer(verify, identity.NamesUsers()), // verify fills Principal.User
		Host: runtime.HostOptions{
			Source:       adapter,
			ServiceUsers: []runtime.ServiceUser{{Client: "nightly", User: "svc-nightly"}},
		},
	}, dcim.Toolset())
	return server, err
}
