// Package mutant has the switches of mutants, for the copies of packages that command mutate
// compiles. No other package imports it.
package mutant

import (
	"cmp"
	"fmt"
	"os"
	"strconv"
	"sync"
)

// Variables of the environment: the number of the mutant that is on, and the file to which each
// process appends the numbers of the mutants that it reaches. Child processes inherit both.
const (
	Number  = "MUTANT"
	Reached = "MUTANTS_REACHED"
)

var (
	active, _ = strconv.Atoi(os.Getenv(Number)) // numbers begin at 1
	list      = os.Getenv(Reached)

	mu   sync.Mutex
	seen = map[int]bool{}
)

// On reports whether a mutant is on.
func On(number int) bool {
	if list != "" {
		note(number)
	}
	return number == active
}

// Pick returns the value of a mutant if it is on, and else the original value.
func Pick[T any](number int, mutated, original T) T {
	if On(number) {
		return mutated
	}
	return original
}

// note appends a number to the file once in a process. Without the file the measurement has no
// meaning, so it ends the process.
func note(number int) {
	mu.Lock()
	defer mu.Unlock()
	if seen[number] {
		return
	}
	seen[number] = true
	f, err := os.OpenFile(list, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
	if err == nil {
		_, err = fmt.Fprintln(f, number)
		err = cmp.Or(err, f.Close())
	}
	if err != nil {
		panic(err)
	}
}
