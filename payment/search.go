package payment

// SearchParams selects payments for a person who looks for one; zero values select all.
type SearchParams struct {
	// Text is one of: an id, a reference, an amount in cedis, a phone number or its last four digits, a
	// name or its first word. The name is that of the payer, of a customer or of a wallet's holder.
	// Only names ignore case. An id finds its payment whatever the other fields say.
	Text string
	// Network is mtn, telecel or airteltigo.
	Network string
	ListParams
}
