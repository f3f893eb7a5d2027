package ids

import (
	"math/big"
	"strings"
)

// base36Chars is how many characters of base 36 the characters after a prefix need.
const base36Chars = 26

// ToBase36 writes an id of Make without upper case, for providers that refuse it: "po_" and 22
// characters become "po-" and 26 of base 36. It reports false for any other text.
func ToBase36(id string) (string, bool) {
	prefix, text, found := strings.Cut(id, "_")
	if !found || !lowerCase(prefix) || len(text) != Length || !IsBase62(text) {
		return "", false
	}
	n, base, digit := new(big.Int), big.NewInt(int64(len(alphabet))), new(big.Int)
	for i := range len(text) {
		n.Mul(n, base).Add(n, digit.SetInt64(int64(strings.IndexByte(alphabet, text[i]))))
	}
	text = n.Text(36)
	return prefix + "-" + strings.Repeat("0", base36Chars-len(text)) + text, true
}

// FromBase36 returns the id that ToBase36 wrote. It reports false for any other text.
func FromBase36(text string) (string, bool) {
	prefix, digits, found := strings.Cut(text, "-")
	n, ok := new(big.Int).SetString(digits, 36)
	if !found || !ok || !lowerCase(prefix) || len(digits) != base36Chars {
		return "", false
	}
	b := make([]byte, Length)
	base, digit := big.NewInt(int64(len(alphabet))), new(big.Int)
	for i := Length - 1; i >= 0; i-- {
		n.DivMod(n, base, digit)
		b[i] = alphabet[digit.Int64()]
	}
	id := prefix + "_" + string(b)
	// Signs, upper case and numbers that are too large are no text of ToBase36.
	back, ok := ToBase36(id)
	return id, ok && back == text
}

// lowerCase reports whether s is the prefix of an id without its underscore.
func lowerCase(s string) bool {
	for i := range len(s) {
		if s[i] < 'a' || s[i] > 'z' {
			return false
		}
	}
	return s != "" && len(s) <= 8
}
