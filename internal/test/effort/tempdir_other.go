//go:build !linux

package effort

const memory = ""

func memoryHasRoom() bool { return false }
