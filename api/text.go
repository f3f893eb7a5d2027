package api

// Limits of text, in characters (Unicode code points).
const (
	MaxName      = 255
	MaxText      = 500
	MaxReference = 100
)
