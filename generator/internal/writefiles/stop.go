package writefiles

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	"github.com/mcpgen/mcpgen/generator/internal/emit"
)

var (
	writing sync.Mutex
	stopped atomic.Bool
)

var errStopped = errors.New("a signal ended the command")

// Stop waits until a running Write has restored the old files, or has written all. No other Write
// begins after Stop: the process must end.
func Stop() {
	stopped.Store(true)
	writing.Lock()
}

// Replace writes one file as Write does. A path that is a link, a device or a pipe is written
// through.
func Replace(path string, content []byte) error {
	info, err := os.Lstat(path)
	if err != nil {
		_, err = os.Stat(filepath.Dir(path))
	} else if !info.Mode().IsRegular() {
		err = ErrNotRegular
	}
	if err != nil {
		return os.WriteFile(path, content, 0o666) // or its error, which has no temporary name
	}
	_, err = Write([]emit.File{{Path: path, Content: content}}, nil)
	return err
}
