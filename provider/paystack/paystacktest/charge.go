package paystacktest

import (
	"net/http"
	"slices"
	"strings"
	"time"
)

type transaction struct {
	id                int64
	reference, status string
	amount            int64
	back              int64 // refunded or about to be
	returned          int64 // refunded
	phone             string
	moved             int
	made, hidden      time.Time
}

// order returns the library's id of the charge.
func (o *transaction) order() string { return order(o.reference) }

func (f *Fake) makeCharge(in object) answer {
	reference, amount := str(in, "reference"), integer(in, "amount")
	wallet, _ := in["mobile_money"].(object)
	if f.transactions[reference] != nil {
		return refused("Duplicate Transaction Reference")
	}
	if !strings.Contains(str(in, "email"), "@") {
		return refused("Invalid Email Address Passed")
	}
	network := str(wallet, "provider")
	if !slices.Contains([]string{"mtn", "vod", "atl"}, network) || len(str(wallet, "phone")) != 10 {
		f.problems = append(f.problems, "POST /charge: mobile_money is not complete")
		return refused("One of Authorization code, card object, bank object, ussd object, mobile money object, qr object, or EFT object should be passed.")
	}
	o := &transaction{
		id: f.next(), reference: reference, amount: amount, phone: str(wallet, "phone"), status: "pay_offline", made: f.now(), hidden: f.lag(),
	}
	f.transactions[reference] = o
	if strings.HasSuffix(o.phone, AsksCode) {
		o.status = "send_otp"
	}
	f.decideCharge(o)
	return done(o.object(true))
}

// fee is what a charge costs the operator, 1.95%.
func (o *transaction) fee() int64 { return o.amount * 195 / 10_000 }

// object returns a charge as the calls of /charge show it, or as the verification does, which has
// other words for charges in progress.
func (o *transaction) object(steps bool) object {
	is := object{
		"id": o.id, "domain": "live", "status": o.status, "reference": o.reference, "amount": o.amount, "currency": "GHS", "fees": nil,
		"channel": "mobile_money", "gateway_response": "", "message": nil, "metadata": "",
		"created_at": o.made.UTC().Format(time.RFC3339),
	}
	switch o.status {
	case "success", "reversed":
		is["fees"], is["gateway_response"] = o.fee(), "Approved"
	case "failed":
		is["gateway_response"] = "Declined by " + o.phone
	case "send_otp":
		is["display_text"] = "Please dial *110# to generate a voucher code. Input the voucher when done"
	case "pay_offline":
		is["display_text"] = "Please complete authorisation process on your mobile phone"
	}
	if !steps && (o.status == "send_otp" || o.status == "pay_offline") {
		is["status"] = "ongoing"
		delete(is, "display_text")
	}
	return is
}

// step returns a charge as the calls show it that go on with one: without its id.
func (o *transaction) step() object {
	is := o.object(true)
	delete(is, "id")
	return is
}

func (f *Fake) verifyCharge(op, reference string) answer {
	o := f.transactions[reference]
	if o == nil || f.hides(o.hidden) {
		return answer{status: http.StatusBadRequest, message: "Transaction reference not found.", code: "transaction_not_found"}
	}
	f.decideCharge(o)
	if op == "GET /charge/" {
		return done(o.step())
	}
	return done(o.object(false))
}

func (f *Fake) submitCode(in object) answer {
	o := f.transactions[str(in, "reference")]
	switch {
	case o == nil:
		return refused("Transaction reference is invalid")
	case o.status != "send_otp":
		return refused("Charge attempt is not awaiting a code")
	case str(in, "otp") != Code:
		return refused("Provided registration token is invalid")
	}
	o.status = "pay_offline"
	f.decideCharge(o)
	return done(o.step())
}
