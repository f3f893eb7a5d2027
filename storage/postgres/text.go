package postgres

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/seed-7082ffec/payments/storage"
)

// isValidText reports whether PostgreSQL can store a text: it is UTF-8 without the character
// zero. Other text matches nothing.
func isValidText(s string) bool { return utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 }

// cursorText returns a valid text with the same position as s among valid texts.
func cursorText(s string) string {
	if isValidText(s) {
		return s
	}
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		if r == 0 {
			return s[:i] + "\x01" // after s[:i] itself, before all that it begins
		}
		if r == utf8.RuneError && size <= 1 {
			return s[:i] + string(utf8.MaxRune)
		}
		i += size
	}
	return s
}

// checkSchema refuses schema names that need quotes or belong to PostgreSQL.
func checkSchema(name string) error {
	ok := name != "" && len(name) <= 63 && !strings.HasPrefix(name, "pg_") && (name[0] < '0' || name[0] > '9')
	for i := range len(name) {
		c := name[i]
		ok = ok && (c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '_')
	}
	if !ok {
		return fmt.Errorf("%w: postgres: schema %q: a schema's name has lower-case letters, digits and underscores", storage.ErrInvalid, name)
	}
	return nil
}
