package messaging

import (
	"cmp"
	"regexp"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

const (
	// smsLength is how many characters of the alphabet of plain SMS one SMS holds.
	smsLength = 160
	// shortName and shortPlan are the greatest lengths of the names in a text that is one SMS. A long
	// link shortens them further, down to leastName.
	shortName, shortPlan, leastName = 24, 14, 8
	// cutSign ends a name that was cut. The sign … is not in the alphabet.
	cutSign = "..."
)

// plainSMS are the characters that plain SMS has beside the letters without marks and the digits.
const plainSMS = "@£$¥èéùìòÇØøÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !\"#¤%&'()*+,-./:;<=>?¡ÄÖÑÜ§¿äöñüà"

// plainer are the characters that stand for others in plain SMS: letters of Ghana's languages, and signs.
var plainer = strings.NewReplacer(
	"ɛ", "e", "Ɛ", "E", "ɔ", "o", "Ɔ", "O", "ŋ", "n", "Ŋ", "N", "ɖ", "d", "Ɖ", "D", "ƒ", "f", "Ƒ", "F", "ɣ", "g", "Ɣ", "G", "ʋ", "v", "Ʋ", "V",
	"’", "'", "‘", "'", "“", "\"", "”", "\"", "–", "-", "—", "-", "…", "...", "₵", "c", "€", "EUR",
	"[", "(", "{", "(", "]", ")", "}", ")", "\\", "/", "|", "/", "~", "-",
)

// plain returns a name on one line, in the alphabet of plain SMS. One other character would make each
// part of the SMS 70 characters long.
func plain(name string) string {
	var b strings.Builder
	for _, r := range plainer.Replace(name) {
		switch {
		case isPlain(r):
			b.WriteRune(r)
		case unicode.IsSpace(r):
			b.WriteByte(' ')
		default: // a letter loses its marks; signs such as emoji are left out
			for _, part := range norm.NFKD.String(string(r)) {
				if isPlain(part) {
					b.WriteRune(part)
				}
			}
		}
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

func isPlain(r rune) bool {
	return r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' || strings.ContainsRune(plainSMS, r)
}

// cut returns a line that has at most so many characters.
func cut(name string, most int) string {
	line := []rune(name)
	if len(line) <= most {
		return name
	}
	return strings.TrimRight(string(line[:most-len(cutSign)]), " ") + cutSign
}

// Short returns a text that fits in one SMS of 160 plain characters. write makes the text from the names of a
// merchant and a plan, cut to 24 and 14 characters. For a long link Short cuts them further, down to 8. If the
// text is still too long, it keeps the names at 24 and 14, and the SMS has two parts.
func (*Service) Short(merchant, plan string, write func(merchant, plan string) string) string {
	merchant, plan = cmp.Or(plain(merchant), "Your merchant"), cmp.Or(plain(plan), "your plan")
	text := write(cut(merchant, shortName), cut(plan, shortPlan))
	for name, of := shortName, shortPlan; len([]rune(text)) > smsLength; {
		switch {
		case name > leastName:
			name--
		case of > leastName:
			of--
		default:
			return write(cut(merchant, shortName), cut(plan, shortPlan))
		}
		if shorter := write(cut(merchant, name), cut(plan, of)); len([]rune(shorter)) <= smsLength {
			return shorter
		}
	}
	return text
}

// address matches a word that reads as the address of a website or a mailbox.
var address = regexp.MustCompile(`(?i)://|^www\.|@|\.\pL{2}|\d\.\d+\.\d`)

// CodeName returns a name as the SMS of a code shows it, or none if nothing of it is left. A stranger can have a
// code sent to any phone, so CodeName leaves out words that look like an address.
func (*Service) CodeName(name, none string) string {
	var words []string
	for _, word := range strings.Fields(plain(name)) {
		if !address.MatchString(word) {
			words = append(words, word)
		}
	}
	return cmp.Or(cut(strings.Join(words, " "), maxName), none)
}
