package debugtools_test

import (
	"os"
	"testing"

	"github.com/mcpgen/mcpgen/runtime/debugtools"
)

// Where nothing else is wrong, all else is reported.
func TestWorkingDirectoryThatWasRemovedIsEmpty(t *testing.T) {
	directory, err := os.MkdirTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(directory)
	if err := os.Remove(directory); err != nil {
		t.Fatal(err)
	}
	_, info, err := debugtools.New(debugtools.Options{}).GetServerInfo(t.Context(), nil, debugtools.Nothing{})
	if err != nil || info.WorkingDirectory != "" || info.GoVersion == "" {
		t.Errorf("%+v, %v", info, err)
	}
}
