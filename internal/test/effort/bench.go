package effort

import "flag"

// Trial reports whether all benchmarks run once, as -benchtime=1x says. What makes their figures fair is then
// left out.
func Trial() bool {
	f := flag.Lookup("test.benchtime")
	return f != nil && f.Value.String() == "1x"
}
