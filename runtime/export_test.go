package runtime

import "github.com/mcpgen/mcpgen/runtime/access"

// Visible is what a principal is shown, by way of the views that are kept.
func (s *Server) Visible(p access.Principal) []string {
	var names []string
	for _, t := range s.discovery.visible(p).tools {
		names = append(names, t.Name)
	}
	return names
}
