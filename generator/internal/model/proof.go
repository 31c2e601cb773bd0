package model

// Proof is what mcpgen prove has recorded of a package's handlers, beside whether the record still
// holds.
type Proof struct {
	Platform string `json:"platform"` // what it was analysed for, as in "linux/amd64"
	Digest   string `json:"digest"`   // of the source that was analysed
	// Current is whether the source is unchanged: without it nothing is proven.
	Current bool     `json:"-"`
	Tools   []Proven `json:"tools"` // by tool name
}

// Proven is what the call graph of one handler reaches.
type Proven struct {
	Tool    string `json:"name"`
	Handler string `json:"handler"`
	// Reaches is in the order of Capabilities; empty for a handler that reaches nothing of them.
	Reaches []Reach `json:"reaches"`
}

// Reach is one capability, and a shortest way to it.
type Reach struct {
	Capability string `json:"capability"`    // one of Capabilities
	Why        string `json:"why,omitempty"` // of Unknown alone: what prevents the analysis
	Path       []Step `json:"path"`          // from the handler to what has the capability
}

// Step is one func on a way. At is where the one before it calls it; the zero Position for the
// first, for a record that was read, and for an unknown place.
type Step struct {
	Func string // with its import path, as in "(*example.com/shop.Desk).Save"
	At   Position
}

// MarshalText returns the func: records have no positions.
func (s Step) MarshalText() ([]byte, error) { return []byte(s.Func), nil }

// UnmarshalText reads a func.
func (s *Step) UnmarshalText(text []byte) error {
	s.Func = string(text)
	return nil
}

// What a handler may reach. Writes is of those that reach files, and is not declared on its own;
// Unknown is what may be any of them.
const (
	Files   = "files"
	Writes  = "writes"
	Network = "network"
	Exec    = "exec"
	Unknown = "unknown"
)

// Of returns the record of a tool's handler, and whether it exists. Where the source has
// changed since, nothing is.
func (p *Proof) Of(t Tool) (Proven, bool) {
	if p == nil || !p.Current {
		return Proven{}, false
	}
	for _, row := range p.Tools {
		if row.Tool == t.Name && row.Handler == t.Handler.String() {
			return row, true
		}
	}
	return Proven{}, false
}

// Reach returns the way to a capability.
func (p Proven) Reach(capability string) (Reach, bool) {
	for _, r := range p.Reaches {
		if r.Capability == capability {
			return r, true
		}
	}
	return Reach{}, false
}

// Summary lists the reached capabilities, as capabilities= writes it, with unknown at its end; none
// for nothing.
func (p Proven) Summary() []string {
	var list []string
	for _, c := range []string{Exec, Files, Network, Unknown} {
		if _, found := p.Reach(c); found {
			list = append(list, c)
		}
	}
	if len(list) == 0 {
		return []string{"none"}
	}
	return list
}
