// Package other is another package of the module.
package other

import "os"

// Open opens.
func Open() { os.Open("x") }
