package toolset

import (
	"context"
	"time"
)

// Resource is one resource, or a family of resources if its URI is a template: its listing and its
// handler.
type Resource struct {
	URI                      string // or an RFC 6570 template of {name} and {+name}
	Name, Title, Description string
	MIMEType                 string
	Variables                []Variable // of the template
	Subscribe                bool       // clients can subscribe to updates
	Timeout                  time.Duration
	NonBlocking              bool // as of a Tool
	Elicits                  bool // the handler may ask the client: elicitation, sampling or roots
	// Read is the handler. The arguments of its call are the values of the variables, as a JSON
	// object.
	Read func(context.Context, Call) (ResourceResult, error)
}

// Variable is a variable of a resource's URI template.
type Variable struct {
	Name     string
	Type     VariableType
	Values   []string  // the completions if Complete is nil; nil for any text
	Complete Completer // of //mcp:complete
}

// VariableType restricts the texts that a variable matches. A URI with another text is unknown.
type VariableType int

// The types of variables.
const (
	TextVariable VariableType = iota
	IntegerVariable
	BooleanVariable
)

// ResourceResult is the result of a resource's handler. Generated code writes it with one of the
// constructors; the server reads it.
type ResourceResult struct {
	Native bool   // the handler returned Result
	Result any    // a *mcp.ReadResourceResult; set if Native
	Text   string // the content, if neither Native nor Blob is set
	Blob   []byte // the content as bytes; nil for text
}

// ResourceText returns a resource whose content is text.
func ResourceText(text string, err error) (ResourceResult, error) {
	return ResourceResult{Text: text}, err
}

// ResourceBytes returns a resource whose content is bytes. The server does not change them.
func ResourceBytes(blob []byte, err error) (ResourceResult, error) {
	if blob == nil {
		blob = []byte{}
	}
	return ResourceResult{Blob: blob}, err
}

// ResourceNative returns a resource that the handler made with go-sdk's type.
func ResourceNative(res any, err error) (ResourceResult, error) {
	return ResourceResult{Native: true, Result: res}, err
}
