package paystacktest

import (
	"fmt"
	"net/http"
	"strings"
	"time"
)

type recipient struct{ kind, bank, number string }

type transfer struct {
	reference, status, code string
	amount                  int64
	to                      recipient
	moved                   int
	hidden                  time.Time // until then it is not found
}

// order returns the library's id of the transfer.
func (o *transfer) order() string { return order(o.reference) }

func (f *Fake) makeRecipient(in object) answer {
	to := recipient{str(in, "type"), str(in, "bank_code"), str(in, "account_number")}
	switch {
	case !pays(to.bank, to.kind):
		return refused("Bank is invalid")
	case strings.HasSuffix(to.number, NoAccount):
		return refused("Account number is invalid")
	}
	for code, known := range f.recipients {
		if known == to {
			return answer{status: http.StatusCreated, message: "Transfer recipient created successfully", data: object{"recipient_code": code}}
		}
	}
	code := fmt.Sprintf("RCP_%d", f.next())
	f.recipients[code] = to
	return answer{status: http.StatusCreated, message: "Transfer recipient created successfully", data: object{"recipient_code": code}}
}

func (f *Fake) makeTransfer(in object) answer {
	to, ok := f.recipients[str(in, "recipient")]
	reference, amount := str(in, "reference"), integer(in, "amount")
	switch {
	case f.transfers[reference] != nil:
		return refused("Please provide a unique reference. Reference already exists on a transfer")
	case !ok:
		return refused("Recipient specified is invalid")
	case f.faults.EmptyFloat && !f.calm || amount > f.float:
		return refused("Your balance is not enough to fulfil this request")
	}
	o := &transfer{reference: reference, status: "pending", code: fmt.Sprintf("TRF_%d", f.next()), amount: amount, to: to, hidden: f.lag()}
	if f.faults.OTP && !f.calm {
		o.status = "otp"
	}
	f.transfers[reference] = o
	f.decideTransfer(o)
	return done(o.object())
}

// fee is what a transfer costs the operator: GHS 1 to mobile money, and GHS 8 to a bank.
func (o *transfer) fee() int64 {
	if o.to.kind == "ghipss" {
		return 8_00
	}
	return 1_00
}

func (o *transfer) object() object {
	return object{
		"amount": o.amount, "currency": "GHS", "domain": "live", "reference": o.reference, "status": o.status,
		"transfer_code": o.code, "source": "balance", "reason": nil, "fee_charged": o.fee(),
	}
}

func (f *Fake) verifyTransfer(reference string) answer {
	o := f.transfers[reference]
	if o == nil || f.hides(o.hidden) {
		return answer{status: http.StatusNotFound, message: "Transfer not found", code: "not_found"}
	}
	f.decideTransfer(o)
	return done(o.object())
}
