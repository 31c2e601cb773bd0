package audit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// open opens the file, or makes it, and cuts off an incomplete line after a crash.
func (r *RotatingFile) open() error {
	file, err := openOwn(r.path, os.O_RDWR|os.O_APPEND)
	if errors.Is(err, fs.ErrNotExist) {
		if err := r.create(); err != nil {
			return err
		}
		return r.lastAside()
	}
	if err != nil {
		return err
	}
	if err := r.use(file); err != nil {
		return err
	}
	if err := r.resume(); err != nil {
		return errors.Join(err, file.Close())
	}
	return nil
}

func (r *RotatingFile) resume() error {
	start := max(r.info.Size()-2*mostBytes, 0)
	end := make([]byte, r.info.Size()-start)
	if _, err := io.ReadFull(io.NewSectionReader(r.file, start, int64(len(end))), end); err != nil {
		return fmt.Errorf("read the end of %s: %w", r.path, err)
	}
	whole := wholeLines(end)
	if whole == 0 && start > 0 {
		return fmt.Errorf("the last %d bytes of %s are not records: the file is not an audit trail, "+
			"or is damaged; move it away", len(end), r.path)
	}
	r.size = start + int64(whole)
	if whole < len(end) {
		if err := r.cut(end[whole:]); err != nil {
			return err
		}
	}
	if r.size == 0 {
		return r.lastAside()
	}
	if err := r.file.Sync(); err != nil { // the last write may not have been synced
		return err
	}
	r.last = lastLine(end[:whole])
	r.begun = firstTime(r.file, r.info.ModTime())
	return nil
}

// wholeLines is the length of a text's whole lines. After a crash of the machine, blocks that were
// not written are zeros, also before written ones; a line has none.
func wholeLines(text []byte) int {
	if zero := bytes.IndexByte(text, 0); zero >= 0 {
		text = text[:zero]
	}
	return bytes.LastIndexByte(text, '\n') + 1
}

func lastLine(lines []byte) []byte {
	lines = bytes.TrimSuffix(lines, []byte("\n"))
	return bytes.Clone(lines[bytes.LastIndexByte(lines, '\n')+1:])
}

// cut moves an incomplete line to a file of its own.
func (r *RotatingFile) cut(torn []byte) error {
	name := r.path + ".torn-" + r.now().UTC().Format(stamp)
	aside, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("save the incomplete end: %w", err)
	}
	_, err = aside.Write(torn)
	if err = errors.Join(err, aside.Sync(), aside.Close()); err == nil {
		err = syncDirectory(filepath.Dir(r.path))
	}
	if err != nil {
		return fmt.Errorf("save the incomplete end: %w", err)
	}
	if err := errors.Join(r.file.Truncate(r.size), r.file.Sync()); err != nil {
		return fmt.Errorf("cut off the incomplete end: %w", err)
	}
	r.torn = name
	return nil
}

// lastAside finds the last record in the newest file that was set aside, if the current one is
// empty.
func (r *RotatingFile) lastAside() error {
	files := r.Aside()
	if len(files) == 0 {
		return nil
	}
	file, err := openOwn(files[len(files)-1], os.O_RDONLY)
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	start := max(info.Size()-2*mostBytes, 0)
	end, err := io.ReadAll(io.NewSectionReader(file, start, info.Size()-start))
	if err != nil {
		return err
	}
	r.last = lastLine(end[:wholeLines(end)])
	return nil
}

// firstTime is the time of a file's first record, or otherwise.
func firstTime(file io.ReaderAt, otherwise time.Time) time.Time {
	var first struct {
		Time time.Time `json:"timestamp"`
	}
	err := json.NewDecoder(io.NewSectionReader(file, 0, mostBytes)).Decode(&first)
	if err != nil || first.Time.IsZero() {
		return otherwise
	}
	return first.Time
}
