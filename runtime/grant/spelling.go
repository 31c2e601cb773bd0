package grant

import (
	"errors"
	"io"
	"os"
	"runtime"
	"strings"
)

var errSwapped = errors.New("it was replaced during opening")

// sameName returns an error unless name, in a directory, is the open file and no link to it, in the
// directory's spelling. The caller holds the file open, so that no other file has its number.
func sameName(dir *os.Root, name string, open os.FileInfo) error {
	now, err := dir.Lstat(name)
	switch {
	case err != nil:
		return err
	case !os.SameFile(now, open): // a link is a file of its own
		return errSwapped
	case !needsListing(dir, name, open, runtime.GOOS):
		return nil
	}
	return listed(dir, name)
}

// needsListing reports whether name could be found in another spelling: always on systems whose
// file systems usually fold, on others if the same letters in the other case name the same file,
// and for names with special rules in folding file systems: beyond ASCII, short names with "~",
// dots and spaces at the end.
func needsListing(dir *os.Root, name string, open os.FileInfo, goos string) bool {
	switch goos {
	case "windows", "darwin", "ios":
		return true
	}
	for i := range len(name) {
		if name[i] >= 0x80 || name[i] == '~' {
			return true
		}
	}
	if strings.HasSuffix(name, ".") || strings.HasSuffix(name, " ") {
		return true
	}
	other := strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' {
			return r ^ 0x20
		}
		return r
	}, name)
	if other == name {
		return false
	}
	info, err := dir.Lstat(other)
	return err == nil && os.SameFile(info, open)
}

// listed returns an error unless the directory has the name with this spelling.
func listed(dir *os.Root, name string) error {
	f, err := dir.Open(".")
	if err != nil {
		return err
	}
	defer f.Close()
	for {
		names, err := f.Readdirnames(512)
		for _, n := range names {
			if n == name {
				return nil
			}
		}
		if err == io.EOF {
			return errSpelling
		}
		if err != nil {
			return err
		}
	}
}
