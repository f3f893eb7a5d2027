package effort

import "syscall"

// memory is the directory of a file system in memory.
const memory = "/dev/shm"

// memoryHasRoom reports whether it has more room than tests need. Containers may have 64 MB.
func memoryHasRoom() bool {
	var s syscall.Statfs_t
	return syscall.Statfs(memory, &s) == nil && s.Bavail*uint64(s.Bsize) > 1<<30
}
