package refund_test

import (
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/disbursement"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/internal/test/testkit"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/message"
	"github.com/seed-7082ffec/payments/payment"
	"github.com/seed-7082ffec/payments/payout"
	"github.com/seed-7082ffec/payments/qrcode"
	"github.com/seed-7082ffec/payments/refund"
	"github.com/seed-7082ffec/payments/storage/memory"
)

func TestRefundToWallet(t *testing.T) {
	onEachStore(t, payments.Config{}, func(t *testing.T, s *shop) {
		paid := s.paidQR(12_50)
		s.holds("paid", "1012.5", "0", "987.5")
		r := s.refund(refund.CreateParams{Payment: paid.ID, Amount: new(int64(5_00)), Reason: "One juice was warm", Metadata: api.Metadata{"ticket": "7"}})
		if !strings.HasPrefix(r.ID, "re_") || r.Status != refund.Succeeded || r.Amount != 5_00 || r.Payment != paid.ID || r.CompletedAt == nil ||
			r.QRCode == nil || *r.QRCode != *paid.QRCode || r.Invoice != nil || *r.Reason != "One juice was warm" || r.Metadata["ticket"] != "7" {
			t.Errorf("got %+v", r)
		}
		s.holds("partly refunded", "1007.5", "0", "992.5")
		expect.Equal(t, s.refunded(paid.ID), 5_00, "pesewas are refunded")
		expect.Equal(t, s.told(r.ID), "[created succeeded]", "told")
		// The refund was never in another status than the one that both events show.
		want := must.Get(json.Marshal(r))(t)
		for e, err := range api.All(t.Context(), s.Caller, event.ListParams{}, s.Events.List) {
			must.Do(t, err)
			if strings.HasPrefix(string(e.Type), "refund.") && string(e.Data.Object) != string(want) {
				t.Errorf("%s shows %s, and the refund is %s", e.Type, e.Data.Object, want)
			}
		}
		sms := must.Get(s.Messages.List(t.Context(), s.Caller, message.ListParams{To: s.Consumer.Phone, Page: api.Page{Limit: 1}}))(t)
		if want := "Adom Juice Bar refunded you GHS 5.00 of payment " + paid.ID + ". Refund " + r.ID + "."; sms.Data[0].Text != want {
			t.Errorf("told by SMS: %s", sms.Data[0].Text)
		}
		testkit.WantParam(t, "more than is left", testkit.Err(s.Refunds.Create(t.Context(), s.Caller, refund.CreateParams{Payment: paid.ID, Amount: new(int64(7_51))})), api.AmountTooLarge, "amount")
		rest := s.refund(refund.CreateParams{Payment: paid.ID})
		expect.Equal(t, rest.Amount, 7_50, "the rest: amount")
		expect.True(t, rest.Reason == nil, "the rest has a reason: %+v", rest)
		testkit.WantParam(t, "once more", testkit.Err(s.Refunds.Create(t.Context(), s.Caller, refund.CreateParams{Payment: paid.ID})), api.PaymentRefunded, "")
		testkit.WantParam(t, "one pesewa more", testkit.Err(s.Refunds.Create(t.Context(), s.Caller, refund.CreateParams{Payment: paid.ID, Amount: new(int64(1))})), api.PaymentRefunded, "")
		s.holds("refunded", "1000", "0", "1000")

		list := must.Get(s.Refunds.List(t.Context(), s.Caller, refund.ListParams{Payment: paid.ID}))(t)
		must.True(t, len(list.Data) == 2, "listed %+v", list)
		expect.Equal(t, list.Data[0].ID, rest.ID, "listed: ID of the first")
		expect.Equal(t, list.Data[1].ID, r.ID, "listed: ID of the second")
		expect.Equal(t, list.URL, "/v1/refunds", "listed: URL")
		for what, p := range map[string]refund.ListParams{
			"another payment": {Payment: "pay_1"}, "an invoice": {Invoice: "inv_1"}, "failed": {Status: refund.Failed},
		} {
			expect.Equal(t, len(must.Get(s.Refunds.List(t.Context(), s.Caller, p))(t).Data), 0, "%s", what)
		}
		s.Verified()
	})
}

func TestRefusedRefunds(t *testing.T) {
	s := open(t, memory.New(), payments.Config{})
	paid := s.paidQR(1_00)
	v := s.paidInvoice(2_00, "")
	unpaid := must.Get(s.Invoices.Create(t.Context(), s.Caller, invoice.CreateParams{}))(t)
	free := s.paidInvoice(0, "")
	for what, c := range map[string]struct {
		p     refund.CreateParams
		code  api.Code
		param string
	}{
		"nothing":             {refund.CreateParams{}, api.ParameterMissing, "payment"},
		"no such payment":     {refund.CreateParams{Payment: "pay_0"}, api.ResourceMissing, "payment"},
		"no such invoice":     {refund.CreateParams{Invoice: "inv_0"}, api.ResourceMissing, "invoice"},
		"not its payment":     {refund.CreateParams{Invoice: v.ID, Payment: paid.ID}, api.ParameterInvalid, "payment"},
		"an unpaid invoice":   {refund.CreateParams{Invoice: unpaid.ID}, api.PaymentNotRefundable, ""},
		"a payment of zero":   {refund.CreateParams{Invoice: free.ID}, api.PaymentNotRefundable, ""},
		"zero":                {refund.CreateParams{Payment: paid.ID, Amount: new(int64(0))}, api.ParameterInvalid, "amount"},
		"less than zero":      {refund.CreateParams{Payment: paid.ID, Amount: new(int64(-1))}, api.ParameterInvalid, "amount"},
		"too much":            {refund.CreateParams{Payment: paid.ID, Amount: new(int64(1_01))}, api.AmountTooLarge, "amount"},
		"another currency":    {refund.CreateParams{Payment: paid.ID, Currency: "USD"}, api.CurrencyNotSupported, "currency"},
		"a long reason":       {refund.CreateParams{Payment: paid.ID, Reason: strings.Repeat("x", 501)}, api.ParameterInvalid, "reason"},
		"a reason that bells": {refund.CreateParams{Payment: paid.ID, Reason: "\a"}, api.ParameterInvalid, "reason"},
		"nested metadata":     {refund.CreateParams{Payment: paid.ID, Metadata: api.Metadata{"a": []int{1}}}, api.ParameterInvalid, "metadata.a"},
	} {
		testkit.WantParam(t, what, testkit.Err(s.Refunds.Create(t.Context(), s.Caller, c.p)), c.code, c.param)
	}
	other := must.Get(s.Accounts.CreateMerchant(t.Context(), api.Caller{}, account.CreateMerchantParams{Name: "Other"}))(t)
	for what, caller := range map[string]api.Caller{"another merchant": {Merchant: other.ID}, "live mode": {Merchant: s.Caller.Merchant, Live: true}} {
		testkit.WantParam(t, what, testkit.Err(s.Refunds.Create(t.Context(), caller, refund.CreateParams{Payment: paid.ID})), api.ResourceMissing, "payment")
	}
	status := func(is account.Status) {
		must.Get(s.Accounts.UpdateConsumer(t.Context(), api.Caller{}, s.Consumer.ID, account.UpdateHolderParams{Status: new(is)}))(t)
	}
	status(account.Frozen)
	testkit.WantParam(t, "a frozen wallet", testkit.Err(s.Refunds.Create(t.Context(), s.Caller, refund.CreateParams{Payment: paid.ID})), api.WalletNotActive, "")
	status(account.Active)
	gone := s.NewConsumer("Esi", "0241000009", 10)
	code := must.Get(s.QRCodes.Create(t.Context(), s.Caller, qrcode.CreateParams{}))(t)
	theirs := must.Get(s.QRCodes.Pay(t.Context(), s.Caller, code.ID, qrcode.PayParams{
		Wallet: account.WalletRef{AccountID: gone.ID}, PIN: s.PIN, Amount: new(int64(10_00)),
	}))(t)
	must.Get(s.Accounts.UpdateConsumer(t.Context(), api.Caller{}, gone.ID, account.UpdateHolderParams{Status: new(account.Closed)}))(t)
	testkit.WantParam(t, "a closed wallet", testkit.Err(s.Refunds.Create(t.Context(), s.Caller, refund.CreateParams{Payment: theirs.ID})), api.AccountNotFound, "")

	// A refused refund counts for nothing.
	expect.Equal(t, s.refunded(paid.ID), 0, "pesewas are refunded")
	must.Get(s.Disbursements.Create(t.Context(), s.Caller, disbursement.CreateParams{
		Amount:      decimal.New(1013_00, -2),
		Destination: payout.DestinationParams{Type: payout.ServiceWallet, AccountID: s.Consumer.ID},
	}))(t)
	for what, p := range map[string]refund.CreateParams{"wallet": {Payment: paid.ID}, "charger": {Invoice: v.ID}} {
		testkit.WantParam(t, "nothing left, "+what, testkit.Err(s.Refunds.Create(t.Context(), s.Caller, p)), api.InsufficientBalance, "")
	}
	s.Verified()
}

// Concurrent refunds never exceed the payment.
func TestConcurrentRefundsNeverExceedPayment(t *testing.T) {
	onEachStore(t, payments.Config{}, func(t *testing.T, s *shop) {
		for what, p := range map[string]refund.CreateParams{
			"wallet":  {Payment: s.paidQR(10_05).ID},
			"charger": {Invoice: s.paidInvoice(10_05, "").ID},
		} {
			p.Amount = new(int64(1_00))
			var all sync.WaitGroup
			outcomes := make([]error, 50)
			for i := range outcomes {
				all.Go(func() { _, outcomes[i] = s.Refunds.Create(t.Context(), s.Caller, p) })
			}
			all.Wait()
			won := 0
			for _, err := range outcomes {
				if err == nil {
					won++
				} else {
					testkit.WantParam(t, what, err, api.AmountTooLarge, "amount")
				}
			}
			expect.Equal(t, won, 10, "%s: %d of 50 were made", what, won)
			must.Do(t, s.Drain(t.Context()))
			list := must.Get(s.Refunds.List(t.Context(), s.Caller, refund.ListParams{Page: api.Page{Limit: 1}}))(t)
			expect.Equal(t, s.refunded(list.Data[0].Payment), 10_00, "%s: pesewas that are refunded", what)
		}
		s.holds("afterwards", "1000.1", "0", "999.95")
		s.Verified()
	})
}

// Refunds and payouts share one balance. A refund or payout that does not fit is refused, and the
// balance never falls below zero.
func TestConcurrentRefundsAndPayoutsShareBalance(t *testing.T) {
	onEachStore(t, payments.Config{}, func(t *testing.T, s *shop) {
		qr, charged := s.paidQR(500_00), s.paidInvoice(500_00, "")
		must.Get(s.Disbursements.Create(t.Context(), s.Caller, disbursement.CreateParams{
			Amount:      decimal.NewFromInt(1900),
			Destination: payout.DestinationParams{Type: payout.ServiceWallet, AccountID: s.Consumer.ID},
		}))(t) // GHS 100 are left
		var all sync.WaitGroup
		outcomes := make([]error, 60)
		for i := range outcomes {
			all.Go(func() {
				switch i % 3 {
				case 0:
					_, outcomes[i] = s.Refunds.Create(t.Context(), s.Caller, refund.CreateParams{Payment: qr.ID, Amount: new(int64(10_00))})
				case 1:
					_, outcomes[i] = s.Refunds.Create(t.Context(), s.Caller, refund.CreateParams{Invoice: charged.ID, Amount: new(int64(10_00))})
				default:
					_, outcomes[i] = s.Disbursements.Create(t.Context(), s.Caller, disbursement.CreateParams{
						Amount:      decimal.NewFromInt(10),
						Destination: payout.DestinationParams{Type: payout.ServiceWallet, AccountID: s.Consumer.ID},
					})
				}
			})
		}
		all.Wait()
		won := 0
		for _, err := range outcomes {
			if err == nil {
				won++
			} else {
				testkit.WantParam(t, "beside each other", err, api.InsufficientBalance, "")
			}
		}
		must.Do(t, s.Drain(t.Context()))
		b := must.Get(s.Accounts.Balance(t.Context(), s.Caller))(t)
		expect.Equal(t, won, 10, "refunds that were made")
		expect.True(t, b.Available.IsZero(), "%s are left", b.Available)
		expect.True(t, b.Reserved.IsZero(), "%s are reserved", b.Reserved)
		s.Verified()
	})
}

// The simulated charger answers by the payment method.
func TestRefundThroughCharger(t *testing.T) {
	onEachStore(t, payments.Config{}, func(t *testing.T, s *shop) {
		for method, c := range map[string]struct {
			status refund.Status
			asked  time.Duration
			told   string
		}{
			"":                 {refund.Succeeded, 0, "[created succeeded]"},
			"pm_card":          {refund.Succeeded, 0, "[created succeeded]"},
			"pm_refund_fail_1": {refund.Failed, 0, "[created failed]"},
			"pm_refund_lost_1": {refund.Succeeded, 2 * time.Second, "[created succeeded]"},
		} {
			v := s.paidInvoice(25_00, method)
			s.holds(method+", paid", "1025", "0", "1000")
			r := s.refund(refund.CreateParams{Invoice: v.ID, Amount: new(int64(10_00)), Reason: "Too many"})
			if r.Status != refund.Pending || r.CompletedAt != nil || *r.Invoice != v.ID || r.Payment != *v.Payment || r.CreditNote != nil {
				t.Errorf("%s: made %+v", method, r)
			}
			s.holds(method+", pending", "1015", "10", "1000")
			expect.Equal(t, s.refunded(r.Payment), 10_00, "%s: pesewas that count while it is pending", method)
			s.pass(0)
			if c.asked > 0 {
				if is := s.get(r.ID); is.Status != refund.Processing {
					t.Errorf("%s: %s while nothing is known", method, is.Status)
				}
				s.pass(c.asked)
			}
			is := s.get(r.ID)
			if is.Status != c.status || is.ProviderReference == nil || *is.ProviderReference != "SIM-"+r.ID[len(r.ID)-8:] || (is.CompletedAt == nil) == (c.status == refund.Succeeded) {
				t.Errorf("%s: %+v", method, is)
			}
			expect.Equal(t, s.told(r.ID), c.told, "%s: told", method)
			shown := must.Get(s.Invoices.Get(t.Context(), s.Caller, v.ID))(t)
			if c.status == refund.Failed {
				if is.FailureReason == nil || is.CreditNote != nil || s.refunded(r.Payment) != 0 || shown.AmountRefunded != 0 {
					t.Errorf("%s: %+v, the invoice %+v", method, is, shown)
				}
				s.holds(method+", failed", "1025", "0", "1000")
			} else {
				if is.CreditNote == nil || s.refunded(r.Payment) != 10_00 || shown.AmountRefunded != 10_00 || shown.Status != invoice.Paid || shown.AmountDue != 0 {
					t.Errorf("%s: %+v, the invoice %+v", method, is, shown)
				}
				s.holds(method+", settled", "1015", "0", "1000")
			}
			b := must.Get(s.Accounts.Balance(t.Context(), s.Caller))(t)
			must.Get(s.Disbursements.Create(t.Context(), s.Caller, disbursement.CreateParams{
				Amount:      b.Available.Sub(decimal.NewFromInt(1000)),
				Destination: payout.DestinationParams{Type: payout.ServiceWallet, AccountID: s.NewConsumer("Esi", phones[method], 0).ID},
			}))(t)
		}
		s.Verified()
	})
}

var phones = map[string]string{"": "0241000002", "pm_card": "0241000003", "pm_refund_fail_1": "0241000004", "pm_refund_lost_1": "0241000005"}

// The invoice shows the refunded amount, and each refund has a credit note.
func TestInvoicesShowRefunds(t *testing.T) {
	s := open(t, memory.New(), payments.Config{})
	v := s.paidInvoice(25_00, "")
	first := s.refund(refund.CreateParams{Invoice: v.ID, Amount: new(int64(10_00))})
	s.pass(0)
	second := s.refund(refund.CreateParams{Payment: *v.Payment})
	s.pass(0)
	_, token, _ := strings.Cut(v.HostedURL, "/invoice/")
	h := must.Get(s.Invoices.Hosted(t.Context(), token))(t)
	if len(h.CreditNotes) != 2 || h.CreditNotes[0].Refund != second.ID || h.CreditNotes[1].Number != "CN-2026-000001" ||
		h.CreditNotes[0].Before != 10_00 || h.CreditNotes[0].Amount != 15_00 || h.Invoice.AmountRefunded != 25_00 {
		t.Errorf("got %+v", h)
	}
	address := must.Get(s.Refunds.CreditNoteURL(t.Context(), s.Caller, first.ID))(t)
	expect.Equal(t, address, v.HostedURL+"/credit_notes/"+first.ID, "URL of the credit note")
	data, name, err := s.Invoices.HostedCreditNote(t.Context(), token, first.ID)
	must.Do(t, err)
	expect.Equal(t, name, "CN-2026-000001.pdf", "name of the credit note")
	expect.True(t, strings.HasPrefix(string(data), "%PDF-"), "the credit note is no PDF: %.20q", data)
	other := s.paidInvoice(1_00, "")
	_, elsewhere, _ := strings.Cut(other.HostedURL, "/invoice/")
	_, _, err = s.Invoices.HostedCreditNote(t.Context(), elsewhere, first.ID)
	testkit.WantParam(t, "on another invoice's page", err, api.ResourceMissing, "")
	qr := s.refund(refund.CreateParams{Payment: s.paidQR(1_00).ID})
	testkit.WantParam(t, "of no invoice", testkit.Err(s.Refunds.CreditNoteURL(t.Context(), s.Caller, qr.ID)), api.ResourceMissing, "")

	mails := must.Get(s.Messages.List(t.Context(), s.Caller, message.ListParams{To: "efua@example.com"}))(t)
	texts := must.Get(s.Messages.List(t.Context(), s.Caller, message.ListParams{To: "0245556666"}))(t)
	found := 0
	for _, m := range append(mails.Data, texts.Data...) {
		if strings.Contains(m.Text, "efund") {
			found++
		}
	}
	expect.Equal(t, found, 4, "the customer is told %d times, want twice by e-mail and by SMS", found)
	if _, name, err := s.Invoices.CreditNotePDF(t.Context(), s.Caller, second.ID); err != nil || name != "CN-2026-000002.pdf" {
		t.Errorf("the credit note is the file %q, %v", name, err)
	}
}

func TestRefundOfInvoicePaidFromWallet(t *testing.T) {
	s := open(t, memory.New(), payments.Config{})
	v := must.Get(s.Invoices.Create(t.Context(), s.Caller, invoice.CreateParams{AutoFinalize: true, Fields: invoice.Fields{
		Lines: []invoice.LineParams{{Description: "Catering", UnitAmount: new(int64(25_00))}},
	}}))(t)
	must.Get(s.Invoices.PayFromWallet(t.Context(), s.Caller, v.ID, invoice.PayFromWalletParams{Wallet: account.WalletRef{AccountID: s.Consumer.ID}, PIN: s.PIN}))(t)
	s.holds("paid", "1025", "0", "975")
	r := s.refund(refund.CreateParams{Invoice: v.ID, Amount: new(int64(5_00))})
	expect.Equal(t, r.Status, refund.Succeeded, "status of %+v", r)
	expect.Same(t, r.CreditNote, new("CN-2026-000001"), "number of the credit note")
	expect.Equal(t, r.PaymentMethod, payment.ServiceWallet, "payment method")
	s.holds("refunded", "1020", "0", "980")
	sms := must.Get(s.Messages.List(t.Context(), s.Caller, message.ListParams{To: s.Consumer.Phone, Page: api.Page{Limit: 1}}))(t)
	expect.True(t, strings.Contains(sms.Data[0].Text, "refunded you GHS 5.00 of invoice "+v.Number), "told %s", sms.Data[0].Text)
}

// The money goes back to the payer, who hears of it also if the invoice has another number. A
// payer with the invoice's number hears of it once.
func TestRefundOfInvoiceTellsPayer(t *testing.T) {
	s := open(t, memory.New(), payments.Config{})
	const customer, helper = "0245556666", "0241000002"
	for payer, pay := range map[string]func(id string) error{
		s.Consumer.Phone: func(id string) error {
			p := invoice.PayFromWalletParams{Wallet: account.WalletRef{AccountID: s.Consumer.ID}, PIN: s.PIN}
			return testkit.Err(s.Invoices.PayFromWallet(t.Context(), s.Caller, id, p))
		},
		helper: func(id string) error {
			return testkit.Err(s.Invoices.StartPayment(t.Context(), s.Caller, id, payment.MobileMoney{PhoneNumber: helper}))
		},
		customer: func(id string) error {
			return testkit.Err(s.Invoices.StartPayment(t.Context(), s.Caller, id, payment.MobileMoney{PhoneNumber: customer}))
		},
	} {
		v := must.Get(s.Invoices.Create(t.Context(), s.Caller, invoice.CreateParams{AutoFinalize: true, Fields: invoice.Fields{
			Phone: new(customer), Lines: []invoice.LineParams{{Description: "Catering", UnitAmount: new(int64(25_00))}},
		}}))(t)
		must.Do(t, pay(v.ID))
		s.pass(0)
		r := s.refund(refund.CreateParams{Invoice: v.ID})
		s.pass(0)
		for _, number := range []string{customer, payer} {
			told := 0
			for _, m := range s.Sent(number) {
				if strings.Contains(m.Text, r.ID) {
					told++
				}
			}
			expect.Equal(t, told, 1, "%s is told of a refund to %s", number, payer)
		}
	}
}
