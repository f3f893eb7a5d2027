//go:build unix

package httpload

import (
	"syscall"
	"time"
)

// CPUTime is what this process has used of the processors; 0 where the system
// does not tell.
func CPUTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
