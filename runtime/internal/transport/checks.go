package transport

import (
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/internal/request"
	"github.com/mcpgen/mcpgen/runtime/internal/wire"
	"github.com/mcpgen/mcpgen/runtime/redact"
)

// checkVersion decides whether the message has a session. One whose version is 2026-07-28 names it
// in its _meta and in a header (SEP-2575), and repeats its method and name in headers (SEP-2243).
func (h *Handler) checkVersion(v *visit) bool {
	m := &v.message
	const bad = http.StatusBadRequest
	if v.r.Method != http.MethodPost || m.ID.Key == "" || m.Method == "" {
		return v.knownVersion()
	}
	inSession := one(v.r.Header[request.HeaderSession]) != "" && !v.modern
	v.modern = v.modern || request.IsStateless(m.Version) ||
		m.Version != "" && !inSession && m.Method != "initialize"
	if !v.modern {
		return v.knownVersion()
	}
	mismatch := func(header, what string) bool {
		return v.refuse(bad, mcp.CodeHeaderMismatch,
			"header mismatch: the header %s must be %s", header, what)
	}
	if m.Version != "" && v.version != m.Version {
		return mismatch("Mcp-Protocol-Version", "the version in params._meta")
	}
	if err := checkModern(*m, h.Guard.Tasks != nil, h.Masker); err != nil {
		return v.refuseWith(wire.ErrorStatus(err, request.Stateless), err)
	}
	if one(v.r.Header["Mcp-Method"]) != m.Method {
		return mismatch("Mcp-Method", "the method")
	}
	// The guard refuses a message without a name.
	if name := nameOf(m.Params); name != "" && !wire.HeaderNames(v.r.Header, name) {
		return mismatch("Mcp-Name", "the name or the URI in the params")
	}
	return true
}

// knownVersion refuses a version that never had sessions.
func (v *visit) knownVersion() bool {
	if v.modern || v.version == "" || request.KnownVersion(v.version) != "" {
		return true
	}
	return v.refuse(http.StatusBadRequest, jsonrpc.CodeInvalidRequest,
		"the version in the header Mcp-Protocol-Version is not supported: send the one of the "+
			"response to initialize, for example "+request.NewestWithSessions)
}

// checkModern checks the _meta of a message without a session. tasks reports that the server
// has tasks: then a client that requests their notifications must know them (SEP-2663).
func checkModern(m wire.Checked, tasks bool, mask redact.Masker) error {
	if m.Version == "" {
		return wire.InvalidParams("missing or invalid params._meta[%q]", mcp.MetaKeyProtocolVersion)
	}
	if m.Version != request.Stateless {
		return wire.UnsupportedVersion(wire.Echo(mask, m.Version))
	}
	if _, declares := m.Meta[mcp.MetaKeyClientCapabilities].(map[string]any); !declares {
		return wire.InvalidParams("missing or invalid params._meta[%q]",
			mcp.MetaKeyClientCapabilities)
	}
	if tasks && m.TaskIDs && !wire.DeclaresTasks(m.Meta) {
		return wire.MissingTasks()
	}
	return nil
}

// nameOf returns the name of what a message is about, empty for none.
func nameOf(params mcp.Params) string {
	if request.IsNil(params) {
		return ""
	}
	switch p := params.(type) {
	case *mcp.CallToolParamsRaw:
		return p.Name
	case *mcp.GetPromptParams:
		return p.Name
	case *mcp.ReadResourceParams:
		return p.URI
	}
	return ""
}

const sessionNotFound = "session not found: send initialize without the header Mcp-Session-Id"

// findSession finds the session of the message, and refuses one that has none and needs one.
func (h *Handler) findSession(v *visit) bool {
	id, opens := one(v.r.Header[request.HeaderSession]), v.message.Method == "initialize"
	const bad = http.StatusBadRequest
	switch {
	case v.modern:
		if v.r.Method == http.MethodPost && v.message.Method == "" {
			return v.refuse(bad, jsonrpc.CodeInvalidRequest,
				"a response needs a session, which "+request.Stateless+" does not have")
		}
		return true
	case id == "" && opens && v.message.ID.Key != "":
		return true
	case id == "":
		return v.refuse(bad, jsonrpc.CodeInvalidRequest, "the header Mcp-Session-Id is missing: "+
			"send initialize first, or a message of "+request.Stateless)
	}
	v.session = h.table.Find(id, request.OwnerOf(v.info.Principal))
	switch {
	case v.session == nil:
		return v.refuse(http.StatusNotFound, jsonrpc.CodeInvalidRequest,
			sessionNotFound)
	case opens:
		return v.refuse(bad, jsonrpc.CodeInvalidRequest,
			"the session is initialized already: send initialize without the header Mcp-Session-Id")
	}
	v.info.InSession(v.session)
	return true
}
