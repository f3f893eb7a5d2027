//go:build race

// Package race tells tests whether the race detector watches them: what runs in one
// goroutine need not be run again for it.
package race

// Detector reports whether the race detector is on.
const Detector = true
