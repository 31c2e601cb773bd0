package model

// Prompt is one annotated handler of a prompt. Of a Tool it has no hints and no output.
type Prompt struct {
	Tool
	Arguments []Argument // in the order of the input
	Returns   Returns    // ReturnsText or ReturnsResult
}

// Resource is one annotated handler of a resource, or of a family of them where the URI is a
// template. Of a Tool it has no hints and no output; its Name is not unique, the URI is.
type Resource struct {
	Tool
	URI       string // or RFC 6570 template, as written
	MIMEType  string
	Subscribe bool       // clients can subscribe to updates
	Variables []Argument // of the template, in its order
	Returns   Returns
}

// Argument is an argument of a prompt or a variable of a resource's URI.
type Argument struct {
	Name, Title, Description string
	Type                     string // "string"; of a variable also "integer" and "boolean"
	Required                 bool
	Values                   []string // the only values; nil for any
	Complete                 *Handler // of //mcp:complete; nil for none
}

// Returns is what the handler of a prompt or a resource returns beside its error.
type Returns int

// The results of prompts and resources.
const (
	ReturnsText   Returns = iota // string
	ReturnsBytes                 // []byte; of a resource only
	ReturnsResult                // go-sdk's own result, or the contents of a prompt
)

// Completion is one handler of //mcp:complete.
type Completion struct {
	Handler  Handler
	Ref      string // the name of a prompt or the URI of a resource, as written
	Argument string
	Pos      Position // of the directive
}

// Served is a tool, a prompt or a resource as far as they are alike.
type Served struct {
	*Tool
	Kind string // "tool", "prompt" or "resource"
	ID   string // the tool's or the prompt's name, the resource's URI
}

// Served lists tools, prompts and resources, each in their order.
func (s Service) Served() []Served {
	var list []Served
	for i := range s.Tools {
		list = append(list, Served{&s.Tools[i], "tool", s.Tools[i].Name})
	}
	for i := range s.Prompts {
		list = append(list, Served{&s.Prompts[i].Tool, "prompt", s.Prompts[i].Name})
	}
	for i := range s.Resources {
		list = append(list, Served{&s.Resources[i].Tool, "resource", s.Resources[i].URI})
	}
	return list
}

// Handlers lists every handler, those of completions included.
func (s Service) Handlers() []Handler {
	var list []Handler
	for _, served := range s.Served() {
		list = append(list, served.Handler)
	}
	for _, c := range s.Completions {
		list = append(list, c.Handler)
	}
	return list
}
