// Package callpath measures how far a reader has to jump to follow one message through the runtime.
//
// Its test builds a server from the module's own files and adds one call to the start of every
// function of package runtime and of the packages under runtime/internal. The added call records
// the file and the line of the function. The packages runtime/internal/request and
// runtime/internal/worker are left out. The test then sends tools/call and tools/list to the
// server over HTTP. It counts the functions, files and packages that one message enters. It also
// counts how often the file and the package change from one entered function to the next.
//
// The test fails if a tools/call changes the file or the package more often than the limits allow.
// To print the figures, run:
//
//	go test -count=1 -v ./internal/callpath
//
// Add -path to print the entered functions, -tree to measure another checkout, and -without to
// leave files out of the figures.
package callpath
