// Package runtime serves generated toolsets over MCP: it shows each caller the tools, prompts and
// resources that the compiled table allows and enforces the same table on every call.
package runtime

import (
	"github.com/mcpgen/mcpgen/runtime/isolate"
	"github.com/mcpgen/mcpgen/runtime/observe"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// Short names for the files of this package only. Other packages name the contract packages.
type (
	Allow          = toolset.Allow
	Completer      = toolset.Completer
	Generated      = toolset.Generated
	LimitError     = toolset.LimitError
	Named          = toolset.Named
	Prompt         = toolset.Prompt
	PromptAnswer   = toolset.PromptAnswer
	Resource       = toolset.Resource
	ResourceAnswer = toolset.ResourceAnswer
	Result         = toolset.Result
	ServerInfo     = toolset.ServerInfo
	Tool           = toolset.Tool
	Toolset        = toolset.Toolset

	Message      = observe.Message
	Observation  = observe.Observation
	Observer     = observe.Observer
	Outcome      = observe.Outcome
	TraceContext = observe.TraceContext

	Client       = isolate.Client
	IsolatedCall = isolate.Call
	Sandbox      = isolate.Sandbox
	SandboxStart = isolate.Start
)

const (
	TransportHTTP  = observe.TransportHTTP
	TransportStdio = observe.TransportStdio

	TextVariable    = toolset.TextVariable
	IntegerVariable = toolset.IntegerVariable
	BooleanVariable = toolset.BooleanVariable
)
