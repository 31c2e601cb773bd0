package model

import "slices"

// Allow is the permissions that //mcp:allow binds to one argument of a tool: what the argument
// names is decided on before the handler runs.
type Allow struct {
	Argument string     // as clients name it: a property of the input
	Kinds    []string   // sorted: file.read and file.write together, or one of any other kind
	Path     []Selector // leads from the input to the value
	// Within is the pattern that the resource must match as well, by kind. It has no kind without.
	Within map[string]string
	List   bool     // the value is a []string, an argv, and not a string
	Plain  bool     // it is of type string or []string itself, and not of a type of its own
	Pos    Position // of the first binding
}

// Worker is the func of //mcp:worker that makes a receiver in a process of its own.
type Worker struct {
	Name    string
	Context bool // it takes a context.Context
	Error   bool // it returns an error as well
}

// Permissions are the bindings of a tool as its manifest writes them, sorted: file.read={path}, and
// with a bound file.read={path}:**/*.txt.
func (t Tool) Permissions() []string {
	var list []string
	for _, a := range t.Allows {
		for _, kind := range a.Kinds {
			binding := kind + "={" + a.Argument + "}"
			if within := a.Within[kind]; within != "" {
				binding += ":" + within
			}
			list = append(list, binding)
		}
	}
	slices.Sort(list)
	return list
}
