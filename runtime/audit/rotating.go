package audit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcpgen/mcpgen/internal/groupcommit"
)

// RotateOptions configure when [Rotating] begins a new file. The zero value is 100 MiB, any age,
// and all files kept.
type RotateOptions struct {
	// MaxBytes is the size that a file does not exceed, unless by the records of one write. Zero is
	// 100 MiB.
	MaxBytes int64
	// MaxAge is the age of the first record of a file after which the next record begins another
	// file. Zero is any age.
	MaxAge time.Duration
	// Keep is the number of full files that stay, besides the one that is written. Older files are
	// deleted. A deleted record is missing when a chain is verified, unless a checkpoint covers it
	// (mcpgen audit verify --since). Zero keeps all files.
	Keep int
}

const (
	defaultMaxBytes = 100 << 20
	// mostTogether is how many records share a write, at most.
	mostTogether = 256
	// mostBytes bounds a record, a write, and the end of a file that is read.
	mostBytes = 4 << 20
	// keptBuffer is the size up to which a buffer is used again.
	keptBuffer = 1 << 20
)

// Rotating opens a file that takes each event as one line of JSON, and that is set aside when it is
// full or old: audit.jsonl becomes audit-20261121T200102.000000000Z.jsonl beside it, by the time in
// UTC. Record returns once the line is on the disk, synced; records of many callers share a write
// and a sync. An error means that the record does not count, as with a full disk; the part that was
// written is removed again.
//
// While the path does not lead to the open file, or another program has changed its size, every
// record is an error: the file was deleted, renamed or truncated, as by logrotate. Recording
// continues once the file is back at its path, unless its size has changed. [RotatingFile.Ready]
// returns the same error.
//
// Files have the permissions 0600. One that exists must be a regular file and no link, of this
// process's user or of root, writable by its owner alone and not readable by all; the same goes for
// audit.jsonl.lock. A directory that all may write, and that is not sticky as /tmp is, is refused.
// A part of a line, never acknowledged, that a crash leaves is moved to audit.jsonl.torn-TIME when
// the file is opened again, and reported by [RotatingFile.Torn]. One process at a time has the
// file, by a lock on audit.jsonl.lock where the system has such locks.
func Rotating(path string, options RotateOptions) (*RotatingFile, error) {
	if options.MaxBytes < 0 || options.MaxAge < 0 || options.Keep < 0 {
		return nil, errors.New("audit.Rotating: MaxBytes, MaxAge or Keep is negative: use a positive " +
			"value, or 0 for the default")
	}
	if options.MaxBytes == 0 {
		options.MaxBytes = defaultMaxBytes
	}
	if err := sheltered(path); err != nil {
		return nil, fmt.Errorf("audit.Rotating: %w", err)
	}
	lock, err := lockFile(path + ".lock")
	if err != nil {
		return nil, fmt.Errorf("audit.Rotating: %w", err)
	}
	r := &RotatingFile{path: path, options: options, lock: lock, now: time.Now,
		sync: (*os.File).Sync}
	if err := r.open(); err != nil {
		return nil, errors.Join(fmt.Errorf("audit.Rotating: %w", err), lock.Close())
	}
	r.together = groupcommit.New(mostTogether, func(_ context.Context, lines [][]byte) error {
		return r.write(lines)
	})
	return r, nil
}

// RotatingFile is what [Rotating] opens. It may be used from many goroutines at once.
type RotatingFile struct {
	path     string
	options  RotateOptions
	lock     *os.File
	together *groupcommit.Group[[]byte]
	now      func() time.Time     // or a test's
	sync     func(*os.File) error // or a test's

	mu      sync.Mutex  // of the fields below, held for a write
	file    *os.File    // nil if none could be opened, and after Close
	info    fs.FileInfo // the identity of file
	size    int64       // of the part that is certainly on the disk
	begun   time.Time   // the time of the first record
	dirty   bool        // there may be more in the file than size
	spent   bool        // the file takes no more: its state after a failed sync is unknown
	failed  bool        // the last write, or the last check
	changed error       // another program changed the file, which takes no more
	last    []byte      // the last line
	buffer  []byte      // of the last write, for the next one
	torn    string
	ended   bool
}

var errEnded = errors.New("audit: the file is closed")

// Record writes one event; see [Rotating].
func (r *RotatingFile) Record(ctx context.Context, e Event) error {
	line, err := e.Encode(0)
	if err == nil {
		err = fits(line)
	}
	if err != nil {
		return err
	}
	if err := r.together.Do(ctx, line); err != nil {
		return fmt.Errorf("audit: write the event: %w", err)
	}
	return nil
}

// OnlyWaits implements [WaitingSink].
func (*RotatingFile) OnlyWaits() {}

// RecordBatch writes events in their order with one sync; see [BatchSink].
func (r *RotatingFile) RecordBatch(ctx context.Context, events []Event) error {
	all := make([]Encoded, len(events))
	for i := range events {
		var err error
		if all[i].Text, err = events[i].Encode(0); err != nil {
			return err
		}
	}
	return r.RecordEncoded(ctx, all)
}

// RecordEncoded implements [EncodedSink], as RecordBatch.
func (r *RotatingFile) RecordEncoded(ctx context.Context, events []Encoded) error {
	lines := make([][]byte, len(events))
	for i, e := range events {
		if err := fits(e.Text); err != nil {
			return err
		}
		lines[i] = e.Text
	}
	if err := r.together.Alone(ctx, func() error { return r.write(lines) }); err != nil {
		return fmt.Errorf("audit: write the events: %w", err)
	}
	return nil
}

func fits(line []byte) error {
	if len(line) >= mostBytes {
		return fmt.Errorf("audit: the event has %d bytes, more than %d", len(line), mostBytes)
	}
	return nil
}

// Ready implements [ReadySink]. After a failed write it writes 64 KiB, syncs and removes them.
func (r *RotatingFile) Ready(ctx context.Context) error {
	err := r.together.Alone(ctx, func() error {
		r.mu.Lock()
		defer r.mu.Unlock()
		err := r.check()
		r.failed = err != nil
		return err
	})
	if err != nil {
		return fmt.Errorf("audit: cannot write to the file: %w", err)
	}
	return nil
}

func (r *RotatingFile) check() error {
	if !r.failed && !r.ended {
		return r.inPlace(r.size)
	}
	probe := bytes.Repeat([]byte(" "), 64<<10)
	if err := r.ready(int64(len(probe))); err != nil {
		return err
	}
	return errors.Join(r.put(probe), r.retract())
}

// Last is the last record of the file, and nil if it does not exist yet or is empty after a
// rotation that was cut short. A chain continues from it.
func (r *RotatingFile) Last() []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.last)
}

// Torn is the file with a part of a line that a crash left, and empty without one.
func (r *RotatingFile) Torn() string { return r.torn }

// Close ends the writing. Records that come later are errors.
func (r *RotatingFile) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		return nil
	}
	r.ended = true
	var err error
	if r.file != nil {
		err = r.file.Close()
		r.file = nil
	}
	return errors.Join(err, r.lock.Close())
}

// write appends lines and syncs, a part at a time where they are long.
func (r *RotatingFile) write(lines [][]byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(lines) > 0 {
		n, text := 0, r.buffer[:0]
		for n < len(lines) && (n == 0 || len(text)+len(lines[n]) < mostBytes) {
			text = append(append(text, lines[n]...), '\n')
			n++
		}
		if r.buffer = text; cap(text) > keptBuffer {
			r.buffer = nil
		}
		err := r.append(text, lines[n-1])
		if r.failed = err != nil; r.failed {
			return err
		}
		lines = lines[n:]
	}
	return nil
}

func (r *RotatingFile) append(text, last []byte) error {
	if err := r.ready(int64(len(text))); err != nil {
		return err
	}
	if err := r.put(text); err != nil {
		r.retract() // if it fails, the next write repeats it
		return err
	}
	r.dirty = false
	if r.size == 0 {
		r.begun = r.now()
	}
	r.size += int64(len(text))
	r.last = append(r.last[:0], last...)
	return nil
}

// put writes text to the disk. It stays dirty until it counts.
func (r *RotatingFile) put(text []byte) error {
	r.dirty = true
	if _, err := r.file.Write(text); err != nil {
		return err
	}
	if err := r.sync(r.file); err != nil {
		// The system drops data that it cannot write and reports this once: another sync would seem
		// to succeed.
		r.spent = true
		return err
	}
	return r.inPlace(r.size + int64(len(text)))
}

// inPlace returns an error unless the path leads to the open file, with so many bytes.
func (r *RotatingFile) inPlace(size int64) error {
	now, err := os.Lstat(r.path)
	const cure = "move the open file back, or restart the server, which starts a new one"
	switch {
	case err != nil:
		return fmt.Errorf("the open file was deleted or moved: %w; %s", err, cure)
	case !os.SameFile(now, r.info):
		return fmt.Errorf("%s is not the open file, which was deleted or moved; %s", r.path, cure)
	case now.Size() != size && r.changed == nil:
		r.changed = fmt.Errorf("%s has %d bytes instead of %d: another program changed it; "+
			"let no other program write or truncate it, and restart the server",
			r.path, now.Size(), size)
	}
	return r.changed
}

// retract removes the part that is not certain to be on the disk.
func (r *RotatingFile) retract() error {
	if !r.dirty {
		return nil
	}
	if r.changed != nil {
		return r.changed
	}
	if err := r.file.Truncate(r.size); err != nil {
		return fmt.Errorf("remove the incomplete record: %w", err)
	}
	r.dirty = false
	return nil
}

// ready has a file that takes so many bytes more.
func (r *RotatingFile) ready(more int64) error {
	if r.ended {
		return errEnded
	}
	if r.file == nil {
		if err := r.resumeRotation(); err != nil {
			return err
		}
	}
	if err := r.retract(); err != nil {
		return err
	}
	full := r.size > 0 && r.size+more > r.options.MaxBytes
	old := r.size > 0 && r.options.MaxAge > 0 && r.now().Sub(r.begun) >= r.options.MaxAge
	rotate := full || old || r.spent
	if rotate || r.failed {
		if err := r.inPlace(r.size); err != nil {
			return err
		}
	}
	if rotate {
		return r.rotate()
	}
	return nil
}

// rotate sets the file aside, and opens an empty one.
func (r *RotatingFile) rotate() error {
	aside, err := r.aside()
	if err != nil {
		return err
	}
	r.file.Close() // which was synced; some systems rename no open file
	r.file = nil
	if err := os.Rename(r.path, aside); err != nil {
		return fmt.Errorf("rename the full file: %w", err)
	}
	r.spent = false
	if err := r.create(); err != nil {
		return err
	}
	return r.prune()
}

// resumeRotation continues a rotation that failed halfway.
func (r *RotatingFile) resumeRotation() error {
	file, err := openOwn(r.path, os.O_WRONLY|os.O_APPEND)
	if errors.Is(err, fs.ErrNotExist) {
		return r.create()
	}
	if err != nil {
		return fmt.Errorf("open the file again: %w", err)
	}
	return r.use(file)
}

// use makes an open file the one that is written.
func (r *RotatingFile) use(file *os.File) error {
	info, err := file.Stat()
	if err != nil {
		return errors.Join(err, file.Close())
	}
	r.file, r.info = file, info
	return nil
}

const stamp = "20060102T150405.000000000Z"

// parts are the parts before and after the time in the name of a file that was set aside.
func (r *RotatingFile) parts() (before, after string) {
	after = filepath.Ext(r.path)
	return strings.TrimSuffix(r.path, after) + "-", after
}

// aside is an unused name, later than those before it.
func (r *RotatingFile) aside() (string, error) {
	before, after := r.parts()
	moment := r.now().UTC()
	if files := r.Aside(); len(files) > 0 { // the clock may have been set back
		newest, err := time.Parse(stamp, strings.TrimSuffix(strings.TrimPrefix(files[len(files)-1],
			before), after))
		if err == nil && !moment.After(newest) {
			moment = newest.Add(1)
		}
	}
	name := before + moment.Format(stamp) + after
	if _, err := os.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("%s already exists", name)
	}
	return name, nil
}

// Aside are the files that were set aside, oldest first.
func (r *RotatingFile) Aside() []string {
	before, after := r.parts()
	entries, _ := os.ReadDir(filepath.Dir(r.path)) // an unreadable directory has none
	var files []string
	for _, e := range entries {
		file := filepath.Join(filepath.Dir(r.path), e.Name())
		rest, ok := strings.CutPrefix(file, filepath.Clean(before))
		moment, ok2 := strings.CutSuffix(rest, after)
		if _, err := time.Parse(stamp, moment); ok && ok2 && err == nil {
			files = append(files, file)
		}
	}
	return files // in the order of their names, and so of their times
}

// create opens an empty file that survives a crash.
func (r *RotatingFile) create() error {
	file, err := os.OpenFile(r.path, os.O_WRONLY|os.O_APPEND|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("start a new file: %w", err)
	}
	if err := syncDirectory(filepath.Dir(r.path)); err != nil {
		return errors.Join(fmt.Errorf("start a new file: %w", err), file.Close(), os.Remove(r.path))
	}
	r.size = 0
	return r.use(file)
}

// prune deletes the files beyond Keep.
func (r *RotatingFile) prune() error {
	if r.options.Keep == 0 {
		return nil
	}
	files := r.Aside()
	for _, file := range files[:max(len(files)-r.options.Keep, 0)] {
		if err := os.Remove(file); err != nil {
			return fmt.Errorf("delete an old file: %w", err)
		}
	}
	return nil
}
