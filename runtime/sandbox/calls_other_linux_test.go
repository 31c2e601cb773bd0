//go:build !amd64

package sandbox

// madeByCall are the calls that only some processors have for making files: none.
var madeByCall map[call]string
