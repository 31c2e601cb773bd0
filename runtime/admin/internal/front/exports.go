package front

// MaxExports is the number of exports of the audit trail that may run at a time, in the API and
// the console together.
const MaxExports = 2

// Exports counts the running exports of all handlers that share it. It is safe for concurrent
// use.
type Exports struct{ places chan struct{} }

// NewExports returns a counter with [MaxExports] places.
func NewExports() *Exports { return &Exports{make(chan struct{}, MaxExports)} }

// Begin takes a place if one is free. end gives it back.
func (e *Exports) Begin() (end func(), ok bool) {
	select {
	case e.places <- struct{}{}:
		return func() { <-e.places }, true
	default:
		return nil, false
	}
}

// UnderWay returns the number of running exports.
func (e *Exports) UnderWay() int { return len(e.places) }
