package payout

// AccountName is the name that an account is registered in.
type AccountName struct {
	Object   string `json:"object"` // always "account_name_lookup"
	Type     Type   `json:"type"`
	Provider string `json:"provider"` // the mobile-money provider, or the code of the bank
	Number   string `json:"number"`   // masked
	Name     string `json:"account_name"`
}
