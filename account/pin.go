package account

// SetPINParams hold a new PIN.
type SetPINParams struct {
	// PIN is 4 to 6 digits, in live mode neither repeated nor sequential ones.
	PIN string `json:"-"`
}
