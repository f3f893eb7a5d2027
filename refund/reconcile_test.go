package refund_test

import (
	"strings"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/expect"
	"github.com/seed-7082ffec/payments/internal/must"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/refund"
	"github.com/seed-7082ffec/payments/storage/memory"
)

func TestReconcile(t *testing.T) {
	s := open(t, memory.New(), payments.Config{})
	var ids []string
	for _, method := range []string{"", "pm_refund_fail_1", "pm_refund_slow_1", "", ""} {
		ids = append(ids, s.refund(refund.CreateParams{Invoice: s.paidInvoice(5_50, method).ID}).ID)
		s.pass(time.Second)
	}
	s.refund(refund.CreateParams{Payment: s.paidQR(1_00).ID})          // to a wallet, so it is in no statement
	s.refund(refund.CreateParams{Invoice: s.paidInvoice(1_00, "").ID}) // not sent yet, so it is in no statement either
	const head = "Reference,Amount,Status\n"
	statement := head +
		ids[0] + ",5.50,SUCCESS\n" + // agrees
		ids[1] + ",5.50,rejected\n" + // agrees
		ids[2] + ",5.50,credited\n" + // still in progress here
		ids[3] + ",550,success\n" + // another amount
		"re_unknown,7.00,success\n" +
		ids[0] + ",5.50,success\n"
	words := map[string]provider.Outcome{"credited": provider.Paid}
	report := must.Get(s.Providers.Reconcile(t.Context(), api.Caller{}, provider.ReconcileParams{
		Rows: provider.CSV(strings.NewReader(statement)), Outcomes: words, Flows: []provider.Flow{provider.Refunds},
	}))(t)
	refs := func(list []provider.Difference) (refs []string) {
		for _, d := range list {
			if d.Order == nil {
				refs = append(refs, d.Row.Reference)
				continue
			}
			refs = append(refs, d.Order.ID)
			expect.True(t, d.Order.Merchant == s.Caller.Merchant, "%s is of %q", d.Order.ID, d.Order.Merchant)
		}
		return refs
	}
	type summary struct {
		Matched                     int
		Here, There, Amount, Status []string
		Repeated                    int
	}
	got := summary{
		report.Matched, refs(report.MissingHere), refs(report.MissingThere),
		refs(report.AmountDiffers), refs(report.StatusDiffers), len(report.Repeated),
	}
	want := summary{2, []string{"re_unknown"}, []string{ids[4]}, []string{ids[3]}, []string{ids[2]}, 1}
	expect.Same(t, got, want, "got")
	for what, c := range map[string]struct {
		live          bool
		until         time.Time
		here, missing int
	}{
		"live mode":   {true, time.Time{}, 5, 0},
		"before them": {false, s.Now().Add(-time.Hour), 1, 0},
	} {
		report := must.Get(s.Providers.Reconcile(t.Context(), api.Caller{Live: c.live}, provider.ReconcileParams{Rows: provider.CSV(strings.NewReader(statement)), Until: c.until}))(t)
		if len(report.MissingHere) != c.here || len(report.MissingThere) != c.missing {
			t.Errorf("%s: %d and %d are missing", what, len(report.MissingHere), len(report.MissingThere))
		}
	}
	if _, err := s.Providers.Reconcile(t.Context(), api.Caller{}, provider.ReconcileParams{Rows: provider.CSV(strings.NewReader("reference\n"))}); err == nil {
		t.Error("a statement without amounts is taken")
	}
}
