//go:build !unix

package httpload

import "time"

// ProcessorTime is 0: this system does not tell.
func ProcessorTime() time.Duration { return 0 }
