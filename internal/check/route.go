package check

import "strings"

// Route reports whether a name is that of a provider: 1 to 40 lower-case letters, digits and
// underscores. It is part of the name of an account in the books.
func Route(name string) bool {
	return name != "" && len(name) <= 40 && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789_") == ""
}
