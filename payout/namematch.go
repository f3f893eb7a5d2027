package payout

import (
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// NameMatch decides whether the recipient's given name matches the name that the account is
// registered in. It must be safe for concurrent use.
type NameMatch func(given, registered string) bool

// DefaultNameMatch is the NameMatch if the host sets none. It compares words, in any order. Each word of the
// shorter name must be in the longer one, and at least two must agree, so that a missing middle name does
// not count. A middle name may be an initial. One word of at least six letters may have one wrong, missing,
// added or swapped letter. Case, accents, punctuation and titles do not count.
//
// Other names differ in few letters, too: Kofi and Kojo, Ama and Ada, Kwabena and Kwamena. So a shorter word
// must agree in every letter, and so must a day name of Ghana.
func DefaultNameMatch(given, registered string) bool {
	short, long := foldWords(given), foldWords(registered)
	if len(short) > len(long) || len(short) == len(long) && slices.Compare(short, long) > 0 {
		short, long = long, short
	}
	if len(short) == 0 {
		return false
	}
	alone := len(long) == 1
	var others []string // words of the shorter name that the longer one does not have
	for _, word := range short {
		if i := slices.Index(long, word); i >= 0 {
			long = slices.Delete(long, i, i+1)
		} else {
			others = append(others, word)
		}
	}
	agree, slips := len(short)-len(others), 0
	for _, word := range others {
		i := slices.IndexFunc(long, func(w string) bool { return isInitial(word, w) || isInitial(w, word) })
		if i < 0 && slips == 0 {
			i = slices.IndexFunc(long, func(w string) bool { return isSlip(word, w) })
			slips++
		}
		if i < 0 {
			return false
		}
		long = slices.Delete(long, i, i+1)
	}
	return agree+slips >= 2 || alone && agree+slips == 1
}

// isInitial reports whether a word is the first letter of another.
func isInitial(word, of string) bool {
	return len([]rune(word)) == 1 && word != of && strings.HasPrefix(of, word)
}

// slipLetters is how many letters a word has of which one may be wrong.
const slipLetters = 6

// isSlip reports whether two words, neither of which is a day name, differ in one letter or in the order of
// two neighbours.
func isSlip(one, other string) bool {
	a, b := []rune(one), []rune(other)
	if max(len(a), len(b)) < slipLetters || dayNames[one] || dayNames[other] {
		return false
	}
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	return max(len(a), len(b)) <= 1 || len(a) == 2 && len(b) == 2 && a[0] == b[1] && a[1] == b[0]
}

// dayNames are the names that people in Ghana get by the day of their birth, in the spellings of Akan, Fante,
// Ewe, Ga and Dagbani documents. Many differ in one letter.
var dayNames = func() map[string]bool {
	names := map[string]bool{}
	for name := range strings.FieldsSeq(`
		kwasi kwesi akwasi kosi kwashie akosua akousa esi asi akosiwa kwasiba kisi
		kwadwo kwodwo kodwo kojo kwojo cudjoe kudjo adwoa adjoa ajoa adzo adwowa
		kwabena kobina kobena ebo komla kobla kwabla abena abenaa araba abla brabla
		kwaku kweku kuuku koku kwayku akua ekua akuba aku akuwa
		yaw ekow kow yao yawo yaa yaaba aba yawa yaawa baaba
		kofi koffi fiifi yoofi kwofi afua efua afia afi efi afiba
		kwame kwamena kwamina komi kwami ato ama amba ame amma amaba
		tani tenii laadi lahari alaamisi azindow`) {
		names[name] = true
	}
	return names
}()

// MatchNames compares names letter by letter. It accepts names that differ in at most tolerance
// percent of the letters of the longer one: 0 accepts equal names only, and 100 accepts any.
// Case, accents, punctuation, titles and the order of words do not count. The letters of Ghana's
// languages equal their substitutes (ɛ is e, ɔ is o, ŋ is n). A missing middle name counts with
// all its letters, and day names are letters like others: with 20, Kofi Mensah is Kojo Mensah, too. Prefer
// [DefaultNameMatch].
func MatchNames(tolerance int) NameMatch {
	return func(given, registered string) bool {
		a, b := fold(given), fold(registered)
		longer := max(len(a), len(b))
		return longer > 0 && min(len(a), len(b)) > 0 && distance(a, b)*100 <= tolerance*longer
	}
}

// titles do not count as a part of a name.
var titles = []string{"mr", "mrs", "ms", "miss", "dr", "prof", "rev"}

// fold returns the letters of a name in a normal form, which is equal for all spellings that must
// match.
func fold(name string) []rune { return []rune(strings.Join(foldWords(name), " ")) }

// foldWords returns the words of fold in order.
func foldWords(name string) []string {
	var b strings.Builder
	for _, r := range norm.NFKD.String(strings.ToLower(name)) {
		switch {
		case r == 'ɛ':
			r = 'e'
		case r == 'ɔ':
			r = 'o'
		case r == 'ŋ':
			r = 'n'
		case r == 'ɖ':
			r = 'd'
		case r == 'ƒ':
			r = 'f'
		case r == 'ɣ':
			r = 'g'
		case r == 'ʋ':
			r = 'v'
		case unicode.Is(unicode.Mn, r), r == '\'', r == '’', r == '.':
			continue
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			r = ' '
		}
		b.WriteRune(r)
	}
	words := slices.DeleteFunc(strings.Fields(b.String()), func(word string) bool { return slices.Contains(titles, word) })
	slices.Sort(words)
	return words
}

// distance is the smallest number of letters to insert, remove or replace that turns one text
// into the other (Levenshtein).
func distance(a, b []rune) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range a {
		above := row[0] // of the column to the left
		row[0] = i + 1
		for j := range b {
			change := above
			if a[i] != b[j] {
				change++
			}
			above = row[j+1]
			row[j+1] = min(change, above+1, row[j]+1)
		}
	}
	return row[len(b)]
}

// AccountName is the name that an account is registered in.
type AccountName struct {
	Object   string `json:"object"` // always "account_name_lookup"
	Type     Type   `json:"type"`
	Provider string `json:"provider"` // the mobile-money provider, or the code of the bank
	Number   string `json:"number"`   // masked
	Name     string `json:"account_name"`
}

// NameQuota is the number of account names that a merchant may look up in each mode. It keeps a
// merchant from collecting the names of all numbers. Zero stands for the default of
// [DefaultNameQuota]; a negative number turns a limit off. Hours and days are those of UTC,
// Ghana's time.
type NameQuota struct{ Hour, Day int }

// DefaultNameQuota is the quota when the host sets nothing.
var DefaultNameQuota = NameQuota{Hour: 100, Day: 500}
