package naming

// Served is a handler for whose name or URI generated code has a constant. Recv is the name of its
// receiver type, if it is a method.
type Served struct{ Kind, Recv, Name string }

// Constants names the constants of handlers: ToolGet, PromptWelcome, ResourcePerson. If two
// handlers would share a constant, the names of methods have the receiver type inserted:
// ToolSitesGet.
func Constants(handlers []Served) []string {
	count := map[[2]string]int{}
	for _, h := range handlers {
		count[[2]string{h.Kind, UpperFirst(h.Name)}]++
	}
	list := make([]string, len(handlers))
	for i, h := range handlers {
		own := UpperFirst(h.Name)
		if h.Recv != "" && count[[2]string{h.Kind, own}] > 1 {
			own = UpperFirst(h.Recv) + own
		}
		list[i] = UpperFirst(h.Kind) + own
	}
	return list
}
