package invoice_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/internal/test/testkit"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/storage/memory"
)

func lines(n int) []invoice.LineParams { return slices.Repeat([]invoice.LineParams{line(1)}, n) }

// newest returns the snapshot of an invoice in its newest event, and the bytes of it.
func (s *shop) newest(t event.Type) (*invoice.Invoice, int) {
	s.t.Helper()
	list := must.Get(s.Events.List(s.t.Context(), s.Caller, event.ListParams{Type: t}))(s.t)
	must.True(s.t, len(list.Data) != 0, "there is no %s", t)
	var v invoice.Invoice
	must.Do(s.t, json.Unmarshal(list.Data[0].Data.Object, &v))
	return &v, len(list.Data[0].Data.Object)
}

func TestLinesAreBounded(t *testing.T) {
	s := open(t, memory.New(), payments.Config{})
	ctx := t.Context()
	full := s.draft(invoice.Fields{Lines: lines(250)})
	refused := func(what string, err error) {
		t.Helper()
		var refusal *api.Error
		must.True(t, errors.As(err, &refusal), "%s: %v", what, err)
		expect.Equal(t, refusal.Code, api.ParameterInvalid, "%s: code", what)
		expect.Equal(t, refusal.Param, "line_items", "%s: param", what)
	}
	_, err := s.Invoices.Create(ctx, s.Caller, invoice.CreateParams{Fields: invoice.Fields{Lines: lines(251)}})
	refused("create", err)
	_, err = s.Invoices.Update(ctx, s.Caller, full.ID, invoice.Fields{Lines: lines(251)})
	refused("update", err)
	_, err = s.Invoices.AddLine(ctx, s.Caller, full.ID, line(1))
	refused("add a line", err)
	expect.Equal(t, len(s.get(full.ID).Lines.Data), 250, "lines")
	copied := must.Get(s.Invoices.Duplicate(ctx, s.Caller, full.ID))(t)
	expect.Equal(t, len(copied.Lines.Data), 250, "the duplicate: number of lines")
	expect.Equal(t, copied.Lines.HasMore, false, "Lines.HasMore")
}

// A few long lines are as bad as many.
func TestBytesOfLinesAreBounded(t *testing.T) {
	s := open(t, memory.New(), payments.Config{})
	long := line(1)
	long.Description, long.Metadata = strings.Repeat("x", 500), api.Metadata{}
	for i := range 50 {
		long.Metadata[fmt.Sprint("key", i)] = strings.Repeat("x", 500)
	}
	v := s.draft(invoice.Fields{Lines: slices.Repeat([]invoice.LineParams{long}, 9)})
	testkit.WantCode(t, "a tenth long line", testkit.Err(s.Invoices.AddLine(t.Context(), s.Caller, v.ID, long)), api.ParameterInvalid)
	v = must.Get(s.Invoices.AddLine(t.Context(), s.Caller, v.ID, line(1)))(t)
	expect.Equal(t, len(v.Lines.Data), 10, "it has %d lines", len(v.Lines.Data))
	// What the largest invoice is told of can be received: see webhook.Handler.
	if _, size := s.newest(event.InvoiceUpdated); size > 400<<10 {
		t.Errorf("its event has %d bytes", size)
	}
}

// Every event of an invoice carries its first ten lines, however it was made.
func TestEventsCarryTheFirstLines(t *testing.T) {
	s := open(t, memory.New(), payments.Config{InvoiceReminders: []int{0}})
	ctx := t.Context()
	for n, more := range map[int]bool{10: false, 11: true, 250: true} {
		due := s.Now().Add(24 * time.Hour)
		v := s.draft(invoice.Fields{Lines: lines(n), Email: new("a@example.com"), DueDate: &due})
		spare := s.draft(invoice.Fields{Lines: lines(n)})
		// told looks at the newest event of the type; the answer has all lines.
		told := func(typ event.Type, err error) {
			t.Helper()
			must.Do(t, err)
			got, size := s.newest(typ)
			whole, err := s.Invoices.Get(ctx, s.Caller, got.ID)
			if api.CodeOf(err) == api.ResourceMissing {
				whole, err = spare, nil
			}
			must.Do(t, err)
			first := whole.Lines.Data[:10]
			if len(got.Lines.Data) != 10 || got.Lines.Data[0].ID != first[0].ID || got.Lines.Data[9].ID != first[9].ID || got.Lines.HasMore != more {
				t.Errorf("%d lines, %s: %d lines, more is %t", n, typ, len(got.Lines.Data), got.Lines.HasMore)
			}
			if len(whole.Lines.Data) != n || whole.Lines.HasMore || got.Total != int64(n) || size > 5000 {
				t.Errorf("%d lines, %s: the invoice has %d, the total is %d, %d bytes", n, typ, len(whole.Lines.Data), got.Total, size)
			}
		}
		told(event.InvoiceCreated, nil)
		_, err := s.Invoices.Update(ctx, s.Caller, v.ID, invoice.Fields{Memo: new("x")})
		told(event.InvoiceUpdated, err)
		_, err = s.Invoices.Delete(ctx, s.Caller, spare.ID)
		told(event.InvoiceDeleted, err)
		_, err = s.Invoices.Finalize(ctx, s.Caller, v.ID)
		told(event.InvoiceFinalized, err)
		_, err = s.Invoices.Send(ctx, s.Caller, v.ID)
		told(event.InvoiceSent, err)
		s.pass(24 * time.Hour) // the reminder
		told(event.InvoiceSent, nil)
		_, err = s.Invoices.Pay(ctx, s.Caller, v.ID, invoice.PayParams{})
		told(event.InvoicePaid, err)
	}
}

func TestSendsAreBounded(t *testing.T) {
	onEachStore(t, payments.Config{}, func(t *testing.T, s *shop) {
		v := s.openInvoice(invoice.Fields{Phone: new("0245556666")})
		send := func(key string) error {
			caller := s.Caller
			caller.IdempotencyKey = key
			_, err := s.Invoices.Send(t.Context(), caller, v.ID)
			return err
		}
		for i := range 5 {
			must.Do(t, send(fmt.Sprint("send-", i)))
			must.Do(t, send(fmt.Sprint("send-", i))) // which counts nothing
		}
		told := len(s.texts("+233245556666"))
		var refusal *api.Error
		if err := send("once more"); !errors.As(err, &refusal) || refusal.Code != api.RateLimited || refusal.RetryAfter != time.Hour {
			t.Errorf("a sixth: %v", err)
		}
		expect.Equal(t, len(s.texts("+233245556666")), told, "messages after the refused one")
		other := s.openInvoice(invoice.Fields{Phone: new("0245556666")})
		must.Get(s.Invoices.Send(t.Context(), s.Caller, other.ID))(t)
		s.pass(time.Hour)
		must.Do(t, send("once more")) // the refusal kept no key
	})
}
