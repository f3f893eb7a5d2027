package provider

// SimulatedCase is a row of a table of [Simulated].
type SimulatedCase struct {
	// Digits are the last four of the phone or account number: four digits, two such
	// with a dash between, or "other".
	Digits string
	// Answer says in words what the rail or the charger does.
	Answer string
}

// Cases returns the table of transfers, for pages and documents that show it.
func (Simulated) Cases() []SimulatedCase {
	return []SimulatedCase{
		{"0000–0899", "Succeeds at once."},
		{"0901", "Fails with recipient_unavailable."},
		{"0902", "Fails with invalid_destination."},
		{"0903", "Stays in progress until it is settled by hand."},
		{"0904", "Succeeds after 25 seconds of the test clock."},
		{"0905", "Does not answer the first call; the next one reports it paid."},
		{"0906", "Is refused with recipient_unavailable before anything is reserved."},
		{"0907", "Stays pending for 25 seconds before it is submitted, then succeeds. It can be cancelled meanwhile."},
		{"other", "Succeeds at once."},
	}
}

// ChargeCases returns the table of charges of a phone number, and of their refunds.
func (Simulated) ChargeCases() []SimulatedCase {
	return []SimulatedCase{
		{"0901", "Is declined: The payer declined."},
		{"0902", "Is declined: The payer's balance is too low."},
		{"0903", "Stays in progress until it is settled by hand."},
		{"0904", "Succeeds after 25 seconds of the test clock."},
		{"0905", "Does not answer the first call; the next one reports it paid."},
		{"0906", "Stays pending for 25 seconds before it is submitted, then succeeds."},
		{"0907", "Asks for a code: 123456 is right, any other is wrong."},
		{"0908", "Is refused with too_many_prompts before the charger is asked."},
		{"0909", "Is declined at its deadline: The payer did not answer in time."},
		{"0910", "Is declined: The payer declined. Is reported paid 60 seconds later, a contradiction."},
		{"0911", "Succeeds at once; a refund is declined."},
		{"0912", "Succeeds at once; a refund stays in progress until it is settled by hand."},
		{"0913", "Succeeds at once; a refund does not answer the first call, and the next one reports it paid."},
		{"other", "Succeeds at once, and is refunded at once."},
	}
}
