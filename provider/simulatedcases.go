package provider

// SimulatedCase is a row of the simulated rail's table.
type SimulatedCase struct {
	// Digits are the last four of the phone or account number: four digits, two such
	// with a dash between, or "other".
	Digits string
	// Answer says in words what the rail does.
	Answer string
}

// Cases returns the table of [Simulated], for pages and documents that show it.
func (Simulated) Cases() []SimulatedCase {
	return []SimulatedCase{
		{"0000–0899", "Succeeds at once."},
		{"0901", "Fails with recipient_unavailable."},
		{"0902", "Fails with invalid_destination."},
		{"0903", "Stays in progress until it is settled by hand."},
		{"0904", "Succeeds after 25 seconds of the test clock."},
		{"0905", "Does not answer the first call; the next one reports it paid."},
		{"0906", "Is refused with recipient_unavailable before anything is reserved."},
		{"other", "Succeeds at once."},
	}
}
