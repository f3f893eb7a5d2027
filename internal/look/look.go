// Package look is the language that all pages share: the style sheets. Pages of payers, the inspector
// and the reference build on them.
package look

import _ "embed" // for the style sheets

var (
	// Shared has the tokens and the parts that all pages have in common.
	//go:embed shared.css
	Shared string
	// Console has the parts of the inspector, the reference and the operator's pages. It follows Shared.
	//go:embed console.css
	Console string
)
