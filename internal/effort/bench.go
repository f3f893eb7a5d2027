package effort

import (
	"flag"
	"testing"
)

// Turns is how often the sides of a benchmark take turns: n times, or once in a run that only tries whether
// the benchmark works.
func Turns(b *testing.B, n int) int {
	if b.N == 1 {
		return 1
	}
	return n
}

// Trial reports whether all benchmarks run once, as -benchtime=1x says. What makes their figures fair is then
// left out.
func Trial() bool {
	f := flag.Lookup("test.benchtime")
	return f != nil && f.Value.String() == "1x"
}
