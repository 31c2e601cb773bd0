package runtime

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/grant"
)

// askingTool is the tool by which clients ask for permissions, where the server has it; see package grant/asking.
const askingTool = "request_permission"

// offerKey is the input request by which a refusal offers to ask for what was lacking.
const offerKey = "mcpgen.permission"

// offerSchema is what the person at the client fills in.
var offerSchema = json.RawMessage(`{"type":"object","properties":{"reason":{"type":"string","title":"What it is needed for","minLength":1,"maxLength":1000}},"required":["reason"]}`)

// ungranted is the answer of a call that named what its client may not use. It says what the client said, and
// why; and where to ask, if the caller has a tool for that. With Options.OfferRequests it asks the person at the client first
// whether an administrator should be asked.
func (r *toolRun) ungranted(ctx context.Context, denied *grant.Denied) toolAnswer {
	a := toolAnswer{outcome: audit.Denied, ruled: ruled{axis: audit.AxisGrant, missing: fmt.Sprintf("%s (%s)", shortened(denied.Kind, 64), shortened(string(denied.Cause), 32))}}
	if denied != r.refused {
		a.outcome = audit.Failed // it ran, until it wanted what is not granted
	}
	said := struct {
		Error    string `json:"error"`
		Kind     string `json:"kind"`
		Resource string `json:"resource"`
		Cause    string `json:"cause"`
		// Permission is what would have to be granted.
		Permission string `json:"permission,omitempty"`
		Ask        string `json:"ask,omitempty"`
		Request    string `json:"request,omitempty"`
	}{Error: grant.Code, Kind: denied.Kind, Resource: denied.Resource, Cause: string(denied.Cause)}
	// Part by part: a name before a colon would be taken for that of a secret.
	mask := r.server.opts.Masker.Text
	masked := *denied
	masked.Resource, masked.Reason = mask(denied.Resource), mask(denied.Reason)
	said.Resource = masked.Resource
	text := masked.Error()
	lacking, err := denied.Lacking()
	if err == nil {
		said.Permission = lacking.Resource
	}
	offer, request := r.offered(ctx, denied)
	switch {
	case offer != nil:
		a.res = &mcp.CallToolResult{InputRequests: offer}
		return a
	case request != "":
		said.Request = request
		text += "; an administrator has been asked, by request " + request
	case err == nil && r.server.decide(r.call.caller, access.Tools, askingTool).Allowed:
		said.Ask = askingTool
		text += "; ask for it with the tool " + askingTool
	}
	if said.Resource != denied.Resource || said.Permission != mask(said.Permission) {
		said.Permission = "" // a mask in a pattern would be a wildcard
	}
	a.res = errorResult(text)
	if body, err := marshal(said); err == nil {
		a.res.StructuredContent = json.RawMessage(body)
	}
	return a
}

// offered returns what to ask the person at the client, or the id of the request that is open since that has accepted. It
// offers nothing where the handler had begun: it would begin again with the answer.
func (r *toolRun) offered(ctx context.Context, denied *grant.Denied) (mcp.InputRequestMap, string) {
	requests, ok := r.server.opts.Grants.(grant.Requests)
	who := clientOf(&r.call.caller)
	if !ok || !r.server.opts.OfferRequests || who == (Client{}) || denied != r.refused || !elicits(r.req.Session) {
		return nil, ""
	}
	lacking, err := denied.Lacking()
	if mask := r.server.opts.Masker.Text; err != nil || lacking.Resource != mask(lacking.Resource) || denied.Resource != mask(denied.Resource) {
		return nil, "" // nobody is asked for a permission that holds a secret, and keeps it
	}
	given, answered := r.req.Params.InputResponses[offerKey]
	if !answered {
		asked, err := questions(mcp.InputRequestMap{offerKey: &mcp.ElicitParams{
			Mode:            "form",
			Message:         fmt.Sprintf("%s needs %s of %q, which is not granted. Ask an administrator for it?", r.tool.Name, denied.Kind, denied.Resource),
			RequestedSchema: offerSchema,
		}})
		if err != nil {
			r.server.log.ErrorContext(ctx, "offering a request for a permission", "tool", r.tool.Name, r.record.ids(), "error", err)
			return nil, ""
		}
		return asked, ""
	}
	answer, ok := given.(*mcp.ElicitResult)
	if !ok || answer == nil || answer.Action != "accept" {
		return nil, ""
	}
	reason, _ := answer.Content["reason"].(string)
	made, err := requests.Ask(audit.Acting(ctx, r.server.event(r.record, "")), grant.Request{
		Permission: lacking, Issuer: who.Issuer, Client: who.ID,
		Principal: r.call.caller.Subject, Tool: r.tool.Name, Reason: r.server.recordedText(reason, 1000),
	})
	if err != nil {
		r.server.log.WarnContext(ctx, "a request for a permission was not taken", "tool", r.tool.Name, r.record.ids(), "error", err)
		return nil, ""
	}
	return nil, made.ID
}

// elicits reports whether the client can be asked to fill in a form.
func elicits(session *mcp.ServerSession) bool {
	if session == nil {
		return false
	}
	params := session.InitializeParams()
	return params != nil && params.Capabilities != nil && params.Capabilities.Elicitation != nil
}
