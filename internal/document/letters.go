package document

import "slices"

// Common are the letters of nearly every document: the Latin letters of all Europe, those of
// Ghana's languages and their tone marks, punctuation, currency signs. The slice is sorted. After
// a change, run go generate.
var Common = func() []rune {
	var all []rune
	for _, block := range [][2]rune{
		{' ', '~'}, {'\u00a0', '\u017f'}, // ASCII, Latin-1, Latin Extended-A
		{'\u2010', '\u2027'}, {'\u2030', '\u203a'}, // dashes, quotation marks, dots
	} {
		for r := block[0]; r <= block[1]; r++ {
			all = append(all, r)
		}
	}
	all = append(all, []rune("ƁƆƉƊƐƑƒƔƘƙƤƩƱƲƳƴǍǎǐǑǒǓǔǝɓɔɖɗɛɣɩɪʃʊʋʼ\u0300\u0301\u0302\u0303\u0304\u0308\u030c\u0323€₦₵™−≤≥≠\uFFFD")...)
	slices.Sort(all)
	return slices.Compact(all)
}()

// isCommon reports whether all letters of a text are common.
func isCommon(text string) bool {
	for _, r := range text {
		if r < ' ' || r > '~' {
			if _, ok := slices.BinarySearch(Common, r); !ok {
				return false
			}
		}
	}
	return true
}
