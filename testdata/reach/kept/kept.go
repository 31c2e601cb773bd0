// Package kept is another package of the module.
package kept

import "os"

// Open opens.
func Open() { os.Open("x") }
