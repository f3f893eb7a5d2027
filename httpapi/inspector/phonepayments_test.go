package inspector_test

import (
	"cmp"
	"context"
	"net/http"
	"path"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/disbursement"
	"github.com/seed-7082ffec/payments/httpapi/inspector"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/internal/test/testkit"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/payment"
	"github.com/seed-7082ffec/payments/payout"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/qrcode"
	"github.com/seed-7082ffec/payments/storage/memory"
)

func TestPaymentsFromPhones(t *testing.T) { onEachStore(t, testPaymentsFromPhones) }

func testPaymentsFromPhones(t *testing.T, s *site) {
	ama, err := s.Accounts.CreateCustomer(t.Context(), s.Caller, account.CreateCustomerParams{Name: "Ama Mensah", Email: "ama@example.com"})
	s.check(err)
	ask := func(number string) (page, body string) {
		t.Helper()
		at, body := s.do("payments", "create", "amount", "12.50", "phone_number", number, "description", "Two smoothies", "reference", "order-7", "customer", ama.ID)
		return "payments/" + path.Base(at), body
	}
	page, body := ask("024 123 0903")
	shows(t, body, "Created.", "GH₵12.50 from Ama Mensah", "pending", "mobile money", "mtn", "024****903", "Two smoothies", "order-7", ama.ID, "Cancel", s.BaseURL()+"/payment/pay_")
	s.check(s.Drain(t.Context()))
	body = s.page(page)
	shows(t, body, "processing", "Approve the payment of GHS 12.50 on your phone.", "SIM-"+page[len(page)-8:])
	expect.True(t, !strings.Contains(body, ">Cancel<"), "what is submitted can be cancelled")
	_, body = s.do(page, "succeed")
	shows(t, body, "The provider says that it succeeded.", "completed", "To the merchant", "Two smoothies.", "Reference", "Refund")
	_, body = s.do(page, "receipt")
	shows(t, body, "The receipt was sent again to the payer.")
	expect.Equal(t, strings.Count(body, "Receipt sent to the payer"), 2, "receipts on the timeline")
	expect.True(t, !strings.Contains(body, "Let the payer"), "it can be ended again")
	expect.True(t, !strings.Contains(body, "The payer is asked"), "it can be ended again")

	page, _ = ask("0201230903")
	_, body = s.do(page, "fail", "failure_reason", "The phone is off.")
	shows(t, body, "failed", "The phone is off.", "telecel", "payment.failed")
	page, _ = ask("0241230905")
	s.check(s.Drain(t.Context()))
	s.do("clock", "move-clock", "advance", "5", "unit", "minutes")
	shows(t, s.page(page), "No answer", "Asked again under the same id.", "Answered at attempt 2.")
	page, _ = ask("0241230906")
	s.check(s.Drain(t.Context()))
	_, body = s.do(page, "cancel")
	shows(t, body, "Cancelled.", "cancelled", "payment.canceled")

	page, _ = ask("0241230907")
	answer, body := s.post(page, s.token(), "confirm", "code", "123456")
	expect.Equal(t, answer.StatusCode, http.StatusUnprocessableEntity, "a code before it is asked for: %s", answer.Status)
	shows(t, body, "asks for no code")
	s.check(s.Drain(t.Context()))
	_, body = s.do(page, "confirm", "code", "999999")
	shows(t, body, "processing", "Enter the code for the payment")
	_, body = s.do(page, "confirm", "code", "123456")
	shows(t, body, "completed")

	list := s.page("payments?payment_method=mobile_money&customer=" + ama.ID)
	expect.Equal(t, rows(list), 5, "payments of the customer")
	expect.Equal(t, rows(s.page("payments?payment_method=service_wallet")), 0, "payments from wallets")
	shows(t, s.page("customers/"+ama.ID), path.Base(page), "GH₵12.50")
	for _, text := range []string{list, s.page(page), s.page("customers/" + ama.ID)} {
		expect.True(t, !strings.Contains(text, "241230907"), "a page shows the whole number")
	}
	for _, wrong := range [][]string{{"amount", ""}, {"amount", "0"}, {"phone_number", "12"}, {"phone_number", "0241230908"}, {"provider", "none"}, {"customer", "cus_none"}} {
		fields := append([]string{"amount", "1", "phone_number", "0241234567"}, wrong...)
		answer, body := s.post("payments", s.token(), "create", fields...)
		refused := answer.StatusCode == http.StatusUnprocessableEntity || wrong[1] == "0241230908" && answer.StatusCode == http.StatusTooManyRequests
		expect.True(t, refused, "%v: %s", wrong, answer.Status)
		expect.True(t, strings.Contains(body, "Not asked yet"), "%v: %s", wrong, answer.Status)
	}
}

// A code and an invoice are paid from a phone beside the wallet, and held meanwhile.
func TestPhonesBesideWallets(t *testing.T) { onEachStore(t, testPhonesBesideWallets) }

func testPhonesBesideWallets(t *testing.T, s *site) {
	code, err := s.QRCodes.Create(t.Context(), s.Caller, qrcode.CreateParams{Type: qrcode.Dynamic, Name: "Order 7"})
	s.check(err)
	at, body := s.do("qr-codes/"+code.ID, "pay-phone", "amount", "3.50", "phone_number", "0241230903", "provider", "telecel")
	shows(t, body, "The phone is asked.", "GH₵3.50 from 024 ••• 0903", "Order 7</a>", "telecel", "Held until", code.ID)
	answer, body := s.post("qr-codes/"+code.ID, s.token(), "pay-phone", "amount", "3.50", "phone_number", "0241234567")
	expect.Equal(t, answer.StatusCode, http.StatusUnprocessableEntity, "while it is held: %s", answer.Status)
	shows(t, body, "Another payment of this QR code is under way")
	answer, body = s.post("qr-codes/"+code.ID, s.token(), "pay-phone", "amount", "3.50")
	expect.Equal(t, answer.StatusCode, http.StatusUnprocessableEntity, "without a number: %s", answer.Status)
	shows(t, body, "aria-invalid")
	_, body = s.do("payments/"+path.Base(at), "succeed")
	expect.True(t, !strings.Contains(body, "Held until"), "what is paid is held")
	shows(t, s.page("qr-codes/"+code.ID), path.Base(at), "Off", "Switch on")

	i, err := s.Invoices.Create(t.Context(), s.Caller, invoice.CreateParams{AutoFinalize: true, Fields: invoice.Fields{
		Lines: []invoice.LineParams{{Description: "Catering", UnitAmount: new(int64(10000))}},
	}})
	s.check(err)
	at, body = s.do("invoices/"+i.ID, "pay-phone", "phone_number", "0241230901")
	shows(t, body, "GH₵100.00 from 024 ••• 0901", i.ID)
	s.check(s.Drain(t.Context()))
	shows(t, s.page("invoices/"+i.ID), path.Base(at), "The payer declined.", "invoice.payment_failed")
	s.do("invoices/"+i.ID, "pay-phone", "phone_number", "0241234567")
	s.check(s.Drain(t.Context()))
	shows(t, s.page("invoices/"+i.ID), "paid", "invoice.paid")
	expect.Equal(t, rows(s.page("payments?invoice="+i.ID)), 2, "attempts")
}

// A charge that the provider contradicted, or has not decided for long, is on the first page.
func TestChargesThatNeedAPerson(t *testing.T) {
	s := open(t, inspector.Config{})
	expect.True(t, !strings.Contains(s.page(""), "Needs you"), "nothing has happened")
	var ids []string
	for _, number := range []string{"0241230910", "0241230903", "0201230910"} {
		p, err := s.Payments.Create(t.Context(), s.Caller, payment.CreateParams{Amount: 1250, MobileMoney: payment.MobileMoney{PhoneNumber: number}})
		s.check(err)
		ids = append(ids, p.ID)
	}
	s.check(s.Drain(t.Context()))
	_, err := s.MoveClock(t.Context(), s.Caller, payments.ClockParams{By: 2 * time.Hour})
	s.check(err)
	s.check(s.Drain(t.Context()))
	shows(t, s.page(""), "Needs you", "payments/"+ids[0], "MTN says paid, the ledger says failed", "GH₵12.50 from 024 ••• 0910, 2 hours ago", "Decide", "payments/"+ids[1], "without an outcome for 2 hours", "Settle")

	expect.Equal(t, strings.Count(s.page("payments"), `badge bad">Contradiction`), 2, "contradictions in the list")

	// A person reads on its page what happened, and books the money or leaves it.
	before := must.Get(s.Accounts.Balance(t.Context(), s.Caller))(t).Available
	page := "payments/" + ids[0]
	shows(t, s.page(page), "Contradiction", "MTN says paid, the ledger says failed", "Nothing moves until you decide", "Book it as paid", "Keep it as failed")
	shows(t, s.page(page+"?form=book"), "MTN says paid, the ledger says failed.", "Balance of Adom Juice Bar", "Book GH₵12.50", "The payment stays failed")
	token := s.token()
	_, body := s.do(page, "book")
	shows(t, body, "The balance is corrected")
	expect.True(t, !strings.Contains(body, "Contradiction"), "what was decided is still to be decided")
	shows(t, body, `badge good">Booked as paid`, "Booked as paid by staff, today at", "MTN says paid", "The ledger says failed.", `<span class="src">Staff</span>`, "MTN said paid, the ledger said failed.", "GH₵12.50 booked", "Adjustment. Entry txn_", "Booked by staff")
	answer, _ := s.post(page, token, "book")
	expect.Equal(t, answer.StatusCode, http.StatusConflict, "booked twice: %s", answer.Status)
	_, body = s.do("payments/"+ids[2], "keep")
	shows(t, body, "It stays as it is booked", `badge bad">Failed`, "Kept as failed by staff", "Telecel said paid, the ledger said failed.", "Telecel says paid")
	expect.True(t, !strings.Contains(body, "Booked by staff"), "a decision without a booking shows money")
	after := must.Get(s.Accounts.Balance(t.Context(), s.Caller))(t).Available
	expect.True(t, after.Sub(before.Decimal).Equal(decimal.New(1250, -2)), "the balance was %s, and is %s", before, after)
	body = s.page("")
	expect.True(t, !strings.Contains(body, "Decide"), "the list of what needs a person")
	expect.True(t, strings.Contains(body, "Settle"), "the list of what needs a person")
}

// A top-up that has no outcome for long is settled on its page.
func TestStuckTopUpIsSettled(t *testing.T) {
	s := open(t, inspector.Config{})
	who := must.Get(s.Accounts.CreateConsumer(t.Context(), api.Caller{}, account.CreateHolderParams{Name: "Esi Owusu", Phone: "0241230903"}))(t)
	made := must.Get(s.Payments.TopUp(t.Context(), s.Caller, payment.TopUpParams{Account: who.ID, Amount: 1250}))(t)
	must.Get(s.MoveClock(t.Context(), s.Caller, payments.ClockParams{By: 2 * time.Hour}))(t)
	shows(t, s.page(""), "A top-up stays in processing", "GH₵12.50 from Esi Owusu", "top-ups/"+made.ID+`">Settle`)
	shows(t, s.page("top-ups"), "Esi Owusu", "GH₵12.50", "Processing")
	_, body := s.do("top-ups/"+made.ID, "succeed")
	shows(t, body, "In the wallet", "Completed")
	expect.Equal(t, must.Get(s.Accounts.WalletBalance(t.Context(), api.Caller{}, who.ID))(t).String(), "12.5", "the wallet")

	// The provider's contradiction moves no merchant's money.
	expect.ErrorIs(t, s.Providers.Notify(t.Context(), made.ID, provider.Result{Outcome: provider.Refused}), provider.ErrContradicted, "refused after all")
	body = s.page("top-ups/" + made.ID)
	shows(t, body, "MTN says failed, the ledger says paid", "Keep it as booked")
	expect.True(t, !strings.Contains(body, "Book it as"), "the merchant's balance is offered for a top-up")
	_, body = s.do("top-ups/"+made.ID, "keep")
	shows(t, body, "Kept as paid by staff")
}

// However many orders were contradicted, a person decides each on its page.
func TestManyContradictions(t *testing.T) {
	s := open(t, inspector.Config{})
	var first string
	for range api.MaxLimit + 1 {
		p := must.Get(s.Payments.Create(t.Context(), s.Caller, payment.CreateParams{Amount: 1250, MobileMoney: payment.MobileMoney{PhoneNumber: "0241230901"}}))(t)
		first = cmp.Or(first, p.ID)
		s.check(s.Drain(t.Context()))
		expect.ErrorIs(t, s.Providers.Notify(t.Context(), p.ID, provider.Result{Outcome: provider.Paid}), provider.ErrContradicted, "paid after all")
	}
	shows(t, s.page("payments/"+first), "MTN says paid, the ledger says failed", "Keep it as failed")
}

// A transfer that was paid after it had failed takes the money from the balance, and its page says so.
func TestContradictedTransferIsBooked(t *testing.T) {
	s := open(t, inspector.Config{})
	d, err := s.Disbursements.Create(t.Context(), s.Caller, disbursement.CreateParams{
		Amount: decimal.NewFromInt(20), Destination: payout.DestinationParams{Type: payout.MobileMoney, PhoneNumber: "0241230901", AccountName: "Abena Ofori"},
	})
	s.check(err)
	s.check(s.Drain(t.Context()))
	expect.ErrorIs(t, s.Providers.Notify(t.Context(), d.ID, provider.Result{Outcome: provider.Paid}), provider.ErrContradicted, "paid after all")
	shows(t, s.page("disbursements"), `badge bad">Contradiction`)
	shows(t, s.page("disbursements/"+d.ID), "MTN says paid, the ledger says failed", "Book it as paid")
	_, body := s.do("disbursements/"+d.ID, "book")
	shows(t, body, `badge good">Booked as paid`, "Booked by staff−GH₵20.00", "−GH₵20.00 booked")
}

// refusing is a charger that refuses every charge, and keeps the id of the last.
type refusing struct{ last string }

func (r *refusing) Charge(_ context.Context, c provider.Charge) (provider.Result, error) {
	r.last = c.ID
	return provider.Result{Outcome: provider.Refused}, nil
}

func (r *refusing) ChargeStatus(ctx context.Context, c provider.Charge) (provider.Result, error) {
	return r.Charge(ctx, c)
}

// What was decided about a charge of an invoice's own stands on the page of the invoice.
func TestContradictedChargeOfAnInvoiceIsBooked(t *testing.T) {
	charger := &refusing{}
	s := openWith(t, memory.New(), inspector.Config{}, payments.Config{Test: payments.Providers{Charger: charger}})
	i := must.Get(s.Invoices.Create(t.Context(), s.Caller, invoice.CreateParams{AutoFinalize: true, Fields: invoice.Fields{
		Lines: []invoice.LineParams{{Description: "Catering", UnitAmount: new(int64(10000))}},
	}}))(t)
	_, err := s.Invoices.Pay(t.Context(), s.Caller, i.ID, invoice.PayParams{})
	testkit.WantCode(t, "the charge", err, api.PaymentFailed)
	expect.ErrorIs(t, s.Providers.Notify(t.Context(), charger.last, provider.Result{Outcome: provider.Paid}), provider.ErrContradicted, "paid after all")
	shows(t, s.page("invoices/"+i.ID), `badge bad">Contradiction`, "Book it as paid")
	_, body := s.do("invoices/"+i.ID, "book")
	shows(t, body, "Booked by staff", "GH₵100.00 booked", "The provider contradicted itself: ", `<span class="src">Staff</span>`, ". Booked by staff, today at")
	shows(t, s.page("invoices/"+i.ID), "Lines", "What happened", "Booked by staff")
}

// What the sandbox holds is on the first page at once, with one row a kind, until it is settled or stuck.
func TestHeldOrdersAreOnTheFirstPage(t *testing.T) {
	s := open(t, inspector.Config{})
	pay := func(number string) string {
		p, err := s.Payments.Create(t.Context(), s.Caller, payment.CreateParams{Amount: 1250, MobileMoney: payment.MobileMoney{PhoneNumber: number}})
		s.check(err)
		s.check(s.Drain(t.Context()))
		return "payments/" + p.ID
	}
	pay("0241230907") // asks for a code
	expect.True(t, !strings.Contains(s.page(""), "Needs you"), "what waits for the payer needs a person")
	first := pay("0241230903")
	shows(t, s.page(""), `badge wait">Held`, "1 payment stays in processing", "GH₵12.50 from 024 ••• 0903: the number ends in 0903", first+`">Settle`)
	pay("0201230903")
	_, err := s.Disbursements.Create(t.Context(), s.Caller, disbursement.CreateParams{
		Amount: decimal.NewFromInt(20), Destination: payout.DestinationParams{Type: payout.MobileMoney, PhoneNumber: "0241230903", AccountName: "Abena Ofori"},
	})
	s.check(err)
	s.check(s.Drain(t.Context()))
	body := s.page("")
	shows(t, body, "2 payments stay in processing", `payments?status=processing">Settle`, "1 disbursement stays in processing", "GH₵20.00 to Abena Ofori")
	expect.Equal(t, strings.Count(body, ">Held<"), 2, "rows of what is held")
	_, err = s.MoveClock(t.Context(), s.Caller, payments.ClockParams{By: 2 * time.Hour})
	s.check(err)
	expect.True(t, !strings.Contains(s.page(""), ">Held<"), "what is stuck is held, too")
}

// What the provider says instead is missing on the balance, or too much on it.
func TestWhatContradictionsMove(t *testing.T) {
	for _, c := range []struct {
		flow     provider.Flow
		reported provider.Outcome
		missing  int64
	}{
		{provider.Charges, provider.Paid, 1250},
		{provider.Charges, provider.Refused, -1250},
		{provider.Transfers, provider.Paid, -1250},
		{provider.Transfers, provider.Reversed, 1250},
		{provider.Refunds, provider.Paid, -1250},
		{provider.Charges, "", 0},
	} {
		missing := inspector.Missing(&provider.OrderInfo{Flow: c.flow, Amount: 1250, Reported: c.reported})
		expect.Equal(t, missing, c.missing, "a %s that is %q now", c.flow, c.reported)
	}
}
