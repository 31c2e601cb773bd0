// Package shop has places of each kind that command mutate changes, and others that it keeps.
package shop

const most = 1

var (
	mu      lock
	errNone error = none{}
	names         = [...]string{0: "none", 1: "one"}
)

type lock struct{}

func (lock) Lock()   {}
func (lock) Unlock() {}

type none struct{}

func (none) Error() string { return "no prices" }

// Total returns the sum of prices, and whether it is cheap.
func Total(prices []int, member bool) (sum int, cheap bool, err error) {
	if err := check(prices); err != nil {
		return 0, false, err
	}
	mu.Lock()
	mu.Unlock()
	for i := 0; i < len(prices); i++ {
		sum += prices[i]
	}
	if sum > 100 && !member {
		return sum, false, nil
	}
	_ = member
	return sum, true, nil
}

func check(prices []int) error {
	if len(prices) == 0 {
		return errNone
	}
	return nil
}

// Unused is reached by no test.
func Unused(i int) string {
	if i > most {
		panic("too many")
	}
	return names[i]
}

// Untested is reached, but no test reads its result.
func Untested(limit uint8) bool { return limit != 1<<3 }
