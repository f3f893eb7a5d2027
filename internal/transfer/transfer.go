// Package transfer describes the differences between a payout and a disbursement: the name of the
// object, its table, and its words. Package payout owns the rules of both.
package transfer

import "github.com/seed-7082ffec/payments/api"

// Kind is one of the two kinds of transfers.
type Kind struct {
	// Object is the name of the object, such as "payout". The names of its events begin with it.
	Object string
	// Table is the name of the kind that stores the transfers, and the end of their path.
	Table string
	// Done is the status that ends an external transfer well.
	Done string
	// NotCancellable is the code of a refused cancellation.
	NotCancellable api.Code
}

// The kinds. Each has its own table, so its lists never contain the other's objects.
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
