// Package transfer says what distinguishes a payout from a disbursement: the name of the
// object, its table, and its words. Both are transfers of package payout, which owns their
// rules.
package transfer

import "github.com/seed-7082ffec/payments/api"

// Kind is one of the two kinds of transfers.
type Kind struct {
	// Object is the name of the object, as "payout". It begins the names of its events.
	Object string
	// Table is where its transfers are stored, and the end of their path.
	Table string
	// Done is the status that ends an external transfer well.
	Done string
	// NotCancellable is the code of a refused cancellation.
	NotCancellable api.Code
}

// The kinds. Each has a table of its own, so that one's list never meets the other's
// objects.
var (
	Payout       = &Kind{Object: "payout", Table: "payouts", Done: "succeeded", NotCancellable: api.PayoutNotCancellable}
	Disbursement = &Kind{Object: "disbursement", Table: "disbursements", Done: "completed", NotCancellable: api.DisbursementNotCancellable}
)

// Kinds are both kinds.
var Kinds = []*Kind{Payout, Disbursement}

// Of returns the kind of an object, or nil.
func Of(object string) *Kind {
	for _, k := range Kinds {
		if k.Object == object {
			return k
		}
	}
	return nil
}
