//go:build !race

package payments_test

const raceDetector = false
