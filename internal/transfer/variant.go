package transfer

import (
	"github.com/seed-7082ffec/payments/api"
)

// Variant is one of the two variants of a transfer. A transfer is a payout or a disbursement.
type Variant struct {
	// Object is the name of the object, such as "payout". It begins the names of its events.
	Object string
	// Table is the name of the kind that stores the transfers, and the end of their path.
	Table string
	// Done is the status that ends an external transfer well.
	Done string
	// NotCancellable is the code of a refused cancellation.
	NotCancellable api.Code
}

// The variants. Each has a table of its own, so that one's list never meets the other's
// objects.
var (
	Payout       = &Variant{Object: "payout", Table: "payouts", Done: "succeeded", NotCancellable: api.PayoutNotCancellable}
	Disbursement = &Variant{Object: "disbursement", Table: "disbursements", Done: "completed", NotCancellable: api.DisbursementNotCancellable}
)

// variants lists both.
var variants = []*Variant{Payout, Disbursement}
