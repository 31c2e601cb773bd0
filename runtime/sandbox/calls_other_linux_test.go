package sandbox

// madeByCall are the calls that only this processor has for making files: none.
var madeByCall map[call]string
