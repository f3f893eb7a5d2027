package invoice_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/internal/test/testkit"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/storage/memory"
)

// Each thing that can be wrong with the fields of an invoice, and where the refusal
// says it is. A change that is refused changes nothing.
func TestInvalidFieldsAreRefused(t *testing.T) {
	s := open(t, memory.New(), payments.Config{})
	kept := s.draft(invoice.Fields{Name: new("Efua")})
	long, huge := strings.Repeat("x", 501), decimal.New(1, 1_000_000_000)
	cents, below, above := int64(100), int64(-1), int64(1<<62)
	with := func(change func(*invoice.LineParams)) invoice.Fields {
		l := line(cents)
		change(&l)
		return invoice.Fields{Lines: []invoice.LineParams{line(cents), l}}
	}
	pigeon := invoice.CollectionMethod("pigeon")
	for name, test := range map[string]struct {
		f     invoice.Fields
		code  api.Code
		param string
	}{
		"a long name":              {invoice.Fields{Name: new(strings.Repeat("n", 256))}, api.ParameterInvalid, "customer_name"},
		"a long address":           {invoice.Fields{Address: &long}, api.ParameterInvalid, "customer_address"},
		"a long description":       {invoice.Fields{Description: &long}, api.ParameterInvalid, "description"},
		"a long footer":            {invoice.Fields{Footer: &long}, api.ParameterInvalid, "footer"},
		"a long memo":              {invoice.Fields{Memo: &long}, api.ParameterInvalid, "memo"},
		"two addresses":            {invoice.Fields{Email: new("a@example.com,b@example.com")}, api.ParameterInvalid, "customer_email"},
		"no number abroad":         {invoice.Fields{Phone: new("+44 1234")}, api.InvalidPhoneNumber, "customer_phone"},
		"another way to collect":   {invoice.Fields{CollectionMethod: &pigeon}, api.ParameterInvalid, "collection_method"},
		"nested metadata":          {invoice.Fields{Metadata: api.Metadata{"m": []any{}}}, api.ParameterInvalid, "metadata.m"},
		"a customer of nobody":     {invoice.Fields{Customer: new("cus_1")}, api.ResourceMissing, "customer"},
		"a discount over the sum":  {invoice.Fields{Lines: []invoice.LineParams{line(cents)}, Discount: new(int64(101))}, api.ParameterInvalid, "discount"},
		"a discount below nothing": {invoice.Fields{Lines: []invoice.LineParams{line(cents)}, Discount: &below}, api.ParameterInvalid, "discount"},
		"a sum that nobody has": {
			invoice.Fields{Lines: []invoice.LineParams{{Description: "x", UnitAmount: new(int64(1e14)), Quantity: new(decimal.New(1, 6))}}},
			api.ParameterInvalid, "line_items[0].unit_amount",
		},
		"a line beyond the most": {
			invoice.Fields{Lines: []invoice.LineParams{{Description: "x", UnitAmount: new(int64(99_999_999)), Quantity: new(decimal.New(2, 0))}}},
			api.ParameterInvalid, "line_items[0]",
		},
		"lines beyond the most":   {invoice.Fields{Lines: []invoice.LineParams{line(99_999_999), line(1), line(1)}}, api.ParameterInvalid, "line_items[1]"},
		"a line of nothing":       {with(func(l *invoice.LineParams) { l.Description = "" }), api.ParameterMissing, "line_items[1].description"},
		"a long line":             {with(func(l *invoice.LineParams) { l.Description = long }), api.ParameterInvalid, "line_items[1].description"},
		"no price":                {with(func(l *invoice.LineParams) { l.UnitAmount = nil }), api.ParameterMissing, "line_items[1].unit_amount"},
		"a price below nothing":   {with(func(l *invoice.LineParams) { l.UnitAmount = &below }), api.ParameterInvalid, "line_items[1].unit_amount"},
		"a price above all":       {with(func(l *invoice.LineParams) { l.UnitAmount = &above }), api.ParameterInvalid, "line_items[1].unit_amount"},
		"none of it":              {with(func(l *invoice.LineParams) { l.Quantity = &decimal.Zero }), api.ParameterInvalid, "line_items[1].quantity"},
		"less than none":          {with(func(l *invoice.LineParams) { l.Quantity = new(decimal.New(-1, 0)) }), api.ParameterInvalid, "line_items[1].quantity"},
		"more than a million":     {with(func(l *invoice.LineParams) { l.Quantity = new(decimal.New(1_000_001, 0)) }), api.ParameterInvalid, "line_items[1].quantity"},
		"seven decimals":          {with(func(l *invoice.LineParams) { l.Quantity = new(decimal.New(1, -7)) }), api.ParameterInvalid, "line_items[1].quantity"},
		"a quantity of 1e9 zeros": {with(func(l *invoice.LineParams) { l.Quantity = &huge }), api.ParameterInvalid, "line_items[1].quantity"},
		"a long product":          {with(func(l *invoice.LineParams) { l.Product = long }), api.ParameterInvalid, "line_items[1].product"},
		"nested metadata of a line": {
			with(func(l *invoice.LineParams) { l.Metadata = api.Metadata{"m": []any{}} }), api.ParameterInvalid, "line_items[1].metadata.m",
		},
		"a tax above all": {
			with(func(l *invoice.LineParams) { l.Taxable, l.TaxPercent = new(true), new(decimal.New(101, 0)) }), api.ParameterInvalid, "line_items[1].tax_percent",
		},
		"a tax below nothing": {
			with(func(l *invoice.LineParams) { l.Taxable, l.TaxPercent = new(true), new(decimal.New(-1, 0)) }), api.ParameterInvalid, "line_items[1].tax_percent",
		},
		"a tax of 1e9 zeros": {
			with(func(l *invoice.LineParams) { l.Taxable, l.TaxPercent = new(true), &huge }), api.ParameterInvalid, "line_items[1].tax_percent",
		},
		"a tax without a name": {
			with(func(l *invoice.LineParams) {
				l.Taxable, l.Taxes = new(true), []invoice.Tax{{Percent: decimal.New(1, 0)}}
			}), api.ParameterInvalid, "line_items[1].tax_percent",
		},
		"a discount over the line": {with(func(l *invoice.LineParams) { l.Discount = 101 }), api.ParameterInvalid, "line_items[1].discount"},
	} {
		_, err := s.Invoices.Create(t.Context(), s.Caller, invoice.CreateParams{Fields: test.f})
		var e *api.Error
		must.True(t, errors.As(err, &e), "create with %s: got %+v", name, err)
		expect.Equal(t, e.Code, test.code, "create with %s: code", name)
		expect.Equal(t, e.Param, test.param, "create with %s: param", name)
		_, err = s.Invoices.Update(t.Context(), s.Caller, kept.ID, test.f)
		must.True(t, errors.As(err, &e), "update with %s: got %+v", name, err)
		expect.Equal(t, e.Code, test.code, "update with %s: code", name)
		expect.Equal(t, e.Param, test.param, "update with %s: param", name)
		if len(test.f.Lines) == 2 {
			_, err = s.Invoices.AddLine(t.Context(), s.Caller, kept.ID, test.f.Lines[1])
			bare := strings.TrimPrefix(test.param, "line_items[1].")
			must.True(t, errors.As(err, &e), "a line with %s: got %+v", name, err)
			expect.Equal(t, e.Code, test.code, "a line with %s: code", name)
			expect.Equal(t, e.Param, bare, "a line with %s: param", name)
		}
	}
	same(t, kept, s.get(kept.ID))
	next := s.draft(invoice.Fields{})
	expect.True(t, next.Number == "INV-2026-000002", "refusals took numbers: the next is %s", next.Number)
}

// same compares two invoices as callers see them.
func same(t *testing.T, want, got *invoice.Invoice) {
	t.Helper()
	a := must.Get(json.Marshal(want))(t)
	b := must.Get(json.Marshal(got))(t)
	expect.Same(t, string(b), string(a), "the invoice")
}

// What each status allows. What it refuses leaves the invoice as it is.
func TestStatusAllowsItsCallsOnly(t *testing.T) {
	s := open(t, memory.New(), payments.Config{})
	ctx := t.Context()
	to := func(status invoice.Status) *invoice.Invoice {
		t.Helper()
		if status == invoice.Draft {
			return s.draft(invoice.Fields{Phone: new("0245556666")})
		}
		v := s.openInvoice(invoice.Fields{Phone: new("0245556666")})
		var err error
		switch status {
		case invoice.Paid:
			v, err = s.Invoices.Pay(ctx, s.Caller, v.ID, invoice.PayParams{})
		case invoice.Void:
			v, err = s.Invoices.Void(ctx, s.Caller, v.ID)
		case invoice.Uncollectible:
			v, err = s.Invoices.MarkUncollectible(ctx, s.Caller, v.ID)
		}
		must.Do(t, err)
		return v
	}
	do := map[string]func(id string) error{
		"update": func(id string) error {
			return testkit.Err(s.Invoices.Update(ctx, s.Caller, id, invoice.Fields{Memo: new("m")}))
		},
		"add":      func(id string) error { return testkit.Err(s.Invoices.AddLine(ctx, s.Caller, id, line(1))) },
		"delete":   func(id string) error { return testkit.Err(s.Invoices.Delete(ctx, s.Caller, id)) },
		"finalize": func(id string) error { return testkit.Err(s.Invoices.Finalize(ctx, s.Caller, id)) },
		"send":     func(id string) error { return testkit.Err(s.Invoices.Send(ctx, s.Caller, id)) },
		"pay":      func(id string) error { return testkit.Err(s.Invoices.Pay(ctx, s.Caller, id, invoice.PayParams{})) },
		"void":     func(id string) error { return testkit.Err(s.Invoices.Void(ctx, s.Caller, id)) },
		"mark":     func(id string) error { return testkit.Err(s.Invoices.MarkUncollectible(ctx, s.Caller, id)) },
	}
	draftOnly := map[invoice.Status]api.Code{
		invoice.Open: api.InvoiceNotDraft, invoice.Paid: api.InvoiceNotDraft, invoice.Void: api.InvoiceNotDraft, invoice.Uncollectible: api.InvoiceNotDraft,
	}
	for name, codes := range map[string]map[invoice.Status]api.Code{
		"update": draftOnly, "add": draftOnly, "delete": draftOnly, "finalize": draftOnly,
		"send": {invoice.Draft: api.InvoiceNotOpen, invoice.Void: api.InvoiceNotOpen},
		"pay":  {invoice.Draft: api.InvoiceNotOpen, invoice.Paid: api.InvoiceAlreadyPaid, invoice.Void: api.InvoiceNotOpen, invoice.Uncollectible: api.InvoiceNotOpen},
		"void": {invoice.Draft: api.InvoiceNotVoidable, invoice.Paid: api.InvoiceNotVoidable, invoice.Void: api.InvoiceNotVoidable},
		"mark": {invoice.Draft: api.InvoiceNotOpen, invoice.Paid: api.InvoiceAlreadyPaid, invoice.Void: api.InvoiceNotOpen, invoice.Uncollectible: api.InvoiceNotOpen},
	} {
		for _, status := range []invoice.Status{invoice.Draft, invoice.Open, invoice.Paid, invoice.Void, invoice.Uncollectible} {
			v := to(status)
			before := s.get(v.ID)
			err := do[name](v.ID)
			testkit.WantCode(t, name+" of what is "+string(status), err, codes[status])
			if err != nil {
				same(t, before, s.get(v.ID))
			}
		}
		testkit.WantCode(t, name+" of nothing", do[name]("inv_1"), api.ResourceMissing)
	}
	// An invoice without an address has no one to tell, and nothing is collected of
	// one without lines.
	testkit.WantCode(t, "send to nobody", testkit.Err(s.Invoices.Send(ctx, s.Caller, s.openInvoice(invoice.Fields{}).ID)), api.InvoiceNoRecipient)
	testkit.WantCode(t, "send to a foreign phone alone", testkit.Err(s.Invoices.Send(ctx, s.Caller, s.openInvoice(invoice.Fields{Phone: new("+447911123456")}).ID)), api.InvoiceNoRecipient)
	testkit.WantCode(t, "finalize nothing", testkit.Err(s.Invoices.Finalize(ctx, s.Caller, s.draft(invoice.Fields{Lines: []invoice.LineParams{}}).ID)),
		api.InvoiceNoLines)
	testkit.WantCode(t, "finalize nothing at once", testkit.Err(s.Invoices.Create(ctx, s.Caller, invoice.CreateParams{AutoFinalize: true})), api.InvoiceNoLines)
	expect.NoError(t, testkit.Err(s.Invoices.Pay(ctx, s.Caller, to(invoice.Open).ID, invoice.PayParams{ReceiptPhone: "tok_12"})), "a payment with a source that is no number")
	testkit.WantCode(t, "a card that is declined", testkit.Err(s.Invoices.Pay(ctx, s.Caller, to(invoice.Open).ID, invoice.PayParams{PaymentMethod: "pm_fail_1"})), api.PaymentFailed)
}

func TestListLinesRefuses(t *testing.T) {
	s := open(t, memory.New(), payments.Config{})
	v, other := s.draft(invoice.Fields{}), s.draft(invoice.Fields{})
	list := func(id string, p api.Page) error {
		return testkit.Err(s.Invoices.ListLines(t.Context(), s.Caller, id, p))
	}
	testkit.WantCode(t, "after another's line", list(v.ID, api.Page{StartingAfter: other.Lines.Data[0].ID}), api.ResourceMissing)
	testkit.WantCode(t, "too many", list(v.ID, api.Page{Limit: 101}), api.ParameterInvalid)
	testkit.WantCode(t, "of nothing", list("inv_1", api.Page{}), api.ResourceMissing)
}

// A live invoice without a charger goes its way all the same: each day that it
// was to be charged counts, and after the last it is uncollectible.
func TestAutomaticChargesWithoutACharger(t *testing.T) {
	s := open(t, memory.New(), payments.Config{})
	live := api.Caller{Merchant: s.Caller.Merchant, Live: true}
	automatic := invoice.ChargeAutomatically
	v := must.Get(s.Invoices.Create(t.Context(), live, invoice.CreateParams{
		Fields: invoice.Fields{CollectionMethod: &automatic, Lines: []invoice.LineParams{line(100)}}, AutoFinalize: true,
	}))(t)
	for _, days := range []int{0, 1, 2, 2} {
		s.pass(time.Duration(days) * 24 * time.Hour)
	}
	is := must.Get(s.Invoices.Get(t.Context(), live, v.ID))(t)
	expect.Equal(t, is.Status, invoice.Uncollectible, "in the end: status")
	expect.Equal(t, is.AttemptCount, 4, "in the end: attempt count")
	expect.True(t, is.NextPaymentAttempt == nil, "in the end: NextPaymentAttempt is set")
	expect.Equal(t, is.AmountPaid, 0, "in the end: amount paid")
	events := must.Get(s.Events.List(t.Context(), live, event.ListParams{}))(t)
	count := map[event.Type]int{}
	for _, e := range events.Data {
		count[e.Type]++
	}
	want := map[event.Type]int{
		event.InvoiceCreated: 1, event.InvoiceFinalized: 1, event.InvoicePaymentFailed: 4, event.InvoiceMarkedUncollectible: 1,
	}
	expect.Same(t, count, want, "events")
	testkit.WantCode(t, "pay", testkit.Err(s.Invoices.Pay(t.Context(), live, v.ID, invoice.PayParams{})), api.InvoiceNotOpen)
}

// Of a customer who is deleted a draft forgets everything, and what was issued
// nothing.
func TestDeletedCustomerLeavesDraftsOnly(t *testing.T) {
	s := open(t, memory.New(), payments.Config{})
	c := must.Get(s.Accounts.CreateCustomer(t.Context(), s.Caller, account.CreateCustomerParams{Name: "Efua", Email: "efua@example.com", Phone: "0245556666", Address: "Osu"}))(t)
	draft, issued := s.draft(invoice.Fields{Customer: &c.ID, Phone: new("0245557777")}), s.openInvoice(invoice.Fields{Customer: &c.ID})
	other := s.draft(invoice.Fields{Name: new("Esi")})
	must.Get(s.Invoices.PDFURL(t.Context(), s.Caller, draft.ID))(t)
	before, name, err := s.Invoices.HostedPDF(t.Context(), token(draft))
	must.True(t, err == nil && name == draft.Number+".pdf" && len(before) != 0, "%s, %v", name, err)
	stranger := api.Caller{Merchant: s.Caller.Merchant, Live: true}
	must.Do(t, s.Accounts.ForgetCustomer(t.Context(), stranger, c.ID))
	must.Do(t, s.Drain(t.Context()))
	if is := s.get(draft.ID); is.Name == nil {
		t.Errorf("erased in the other mode: %+v", is)
	}
	must.Get(s.Accounts.DeleteCustomer(t.Context(), s.Caller, c.ID))(t)
	must.Do(t, s.Drain(t.Context()))
	is := s.get(draft.ID)
	expect.True(t, is.Name == nil, "the draft: Name is set")
	expect.True(t, is.Email == nil, "the draft: Email is set")
	expect.True(t, is.Phone == nil, "the draft: Phone is set")
	expect.True(t, is.Address == nil, "the draft: Address is set")
	expect.Same(t, is.Customer, new(c.ID), "the draft: customer")
	expect.Equal(t, is.Total, draft.Total, "the draft: total")
	same(t, issued, s.get(issued.ID))
	same(t, other, s.get(other.ID))
	after, _, err := s.Invoices.HostedPDF(t.Context(), token(draft))
	must.Do(t, err)
	expect.True(t, !bytes.Equal(before, after), "the document of the draft is the old one (%v)", err)
}
