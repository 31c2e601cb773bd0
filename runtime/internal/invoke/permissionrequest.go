package invoke

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpgen/mcpgen/runtime/access"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/grant"
	"github.com/mcpgen/mcpgen/runtime/internal/request"
	"github.com/mcpgen/mcpgen/runtime/internal/wire"
	"github.com/mcpgen/mcpgen/runtime/isolate"
	"github.com/mcpgen/mcpgen/runtime/redact"
)

// A refused call contains the missing permission, which its client can request by requestTool. If
// the server offers requests, the refusal asks the person at the client for a reason and makes one.

const (
	requestTool = "request_permission" // by which clients request permissions, if the server has it
	inputKey    = "mcpgen.permission"  // of the input request for a reason
)

// reasonSchema is the form that the person at the client fills in.
var reasonSchema = json.RawMessage(`{"type":"object","properties":{"reason":{"type":"string",` +
	`"title":"What it is needed for","minLength":1,"maxLength":1000}},"required":["reason"]}`)

// refusal is the structured content of a refused call.
type refusal struct {
	Error      string `json:"error"`
	Kind       string `json:"kind"`
	Resource   string `json:"resource"`
	Cause      string `json:"cause"`
	Permission string `json:"permission,omitempty"` // the missing one
	Restricted *bool  `json:"restricted,omitempty"` // whether it counts in isolated calls only
	Tool       string `json:"ask,omitempty"`        // by which to request it
	Request    string `json:"request,omitempty"`    // the id of the open one
}

func (c *call) refuse(ctx context.Context, denied *grant.Denied) toolReturned {
	out := toolReturned{Report: Report{
		Failure: audit.Denied, Axis: audit.AxisGrant, Missing: fmt.Sprintf("%s (%s)",
			redact.Shorten(denied.Kind, 64), redact.Shorten(string(denied.Cause), 32))}}
	if denied != c.refused {
		out.Failure = audit.Errored // the handler ran until it needed the permission
	}
	// Part by part: in the whole text, a name before a colon would pass for that of a secret.
	mask := c.mask().Text
	masked := *denied
	masked.Resource, masked.Reason = mask(denied.Resource), mask(denied.Reason)
	text := masked.Error()
	content := refusal{
		Error: grant.Code, Kind: denied.Kind, Resource: masked.Resource,
		Cause: string(denied.Cause)}
	lacking, err := denied.Lacking()
	lacking.Unrestricted = c.tool.Isolate == "" // the least with which the call works
	secret := masked.Resource != denied.Resource || lacking.Resource != mask(lacking.Resource)
	if err == nil && !secret { // a mask in a pattern would be a wildcard
		restricted := bool(!lacking.Unrestricted)
		content.Permission, content.Restricted = lacking.Resource, &restricted
		var inputs mcp.InputRequestMap
		if inputs, content.Request = c.offerRequest(ctx, denied, lacking); inputs != nil {
			out.result = &mcp.CallToolResult{InputRequests: inputs}
			return out
		}
	}
	switch {
	case content.Request != "":
		text += "; the server sent an administrator the request " + content.Request
	case err == nil && c.Policy.Decide(
		*c.caller, c.info.Catalog.ReadOnly, access.Tools, requestTool).Allowed:
		content.Tool = requestTool
		text += "; request it with the tool " + requestTool
		if lacking.Unrestricted {
			text += " and restricted=false"
		}
	}
	out.result = wire.ErrorResult(text)
	if body, err := wire.Marshal(content); err == nil {
		out.result.StructuredContent = json.RawMessage(body)
	}
	return out
}

// offerRequest asks for a reason, or makes the request. It does nothing if the handler had started.
func (c *call) offerRequest(ctx context.Context, denied *grant.Denied,
	lacking grant.Permission) (inputs mcp.InputRequestMap, id string) {
	client := request.ClientOf(c.caller)
	if c.Requests == nil || client == (isolate.Client{}) || denied != c.refused ||
		!c.info.Inputs.Form {
		return nil, ""
	}
	where := ""
	if lacking.Unrestricted {
		where = " for calls that are not isolated"
	}
	response, responded := c.request.Params.InputResponses[inputKey]
	if !responded {
		return mcp.InputRequestMap{inputKey: &mcp.ElicitParams{
			Mode: "form",
			Message: fmt.Sprintf("%s needs %s of %q, which is not granted%s. "+
				"Ask an administrator for it?", c.name, denied.Kind, denied.Resource, where),
			RequestedSchema: reasonSchema}}, ""
	}
	form, ok := response.(*mcp.ElicitResult)
	if !ok || form == nil || form.Action != "accept" {
		return nil, ""
	}
	reason, _ := form.Content["reason"].(string)
	made, err := c.Requests.Ask(audit.Acting(ctx, c.Event(c.info)), grant.Request{
		Permission: lacking, Issuer: client.Issuer, Client: client.ID,
		Principal: c.caller.Subject, Tool: c.name, Reason: c.mask().TextWithin(reason, 1000)})
	if err != nil {
		c.log(ctx, slog.LevelWarn, "a permission request was not accepted", "error", err)
		return nil, ""
	}
	return nil, made.ID
}
