package effort

import (
	"os"
	"testing"
)

// TempDir is t.TempDir, but in memory where the system has room there: a database of a test waits for no disk
// then. No test loses the machine. Benchmarks get a directory on the disk.
func TempDir(t testing.TB) string {
	t.Helper()
	if _, benchmark := t.(*testing.B); benchmark || !memoryHasRoom() {
		return t.TempDir()
	}
	dir, err := os.MkdirTemp(memory, "payments")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}
