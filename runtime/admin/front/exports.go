package front

// MaxExports is how many exports of the audit trail are under way at a time, over the API and the console together.
const MaxExports = 2

// Exports are those that are under way. They are counted over all that is given the same; it may be used from many
// goroutines at once.
type Exports struct{ places chan struct{} }

// NewExports returns room for [MaxExports].
func NewExports() *Exports { return &Exports{make(chan struct{}, MaxExports)} }

// Begin takes a place for one, if there is one, which is given back by end.
func (e *Exports) Begin() (end func(), ok bool) {
	select {
	case e.places <- struct{}{}:
		return func() { <-e.places }, true
	default:
		return nil, false
	}
}

// UnderWay counts them.
func (e *Exports) UnderWay() int { return len(e.places) }
