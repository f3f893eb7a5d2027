package invoice_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/shopspring/decimal"
	"pgregory.net/rapid"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/catalog"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/internal/test/testkit"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/storage/memory"
)

func (s *shop) coupon(p catalog.CreateCouponParams) string {
	s.t.Helper()
	return must.Get(s.Coupons.Create(s.t.Context(), s.Caller, p))(s.t).ID
}

func (s *shop) redeemed(coupon string) int64 {
	s.t.Helper()
	return must.Get(s.Coupons.Get(s.t.Context(), s.Caller, coupon))(s.t).TimesRedeemed
}

func percent(text string) *decimal.Decimal { return new(decimal.RequireFromString(text)) }

func taxed(pesewas int64, rate string) invoice.LineParams {
	l := line(pesewas)
	l.Taxable, l.TaxPercent = new(true), percent(rate)
	return l
}

// shares are the lines' shares of the discount on the whole invoice.
func shares(v *invoice.Invoice) (all []int64) {
	for _, l := range v.Lines.Data {
		all = append(all, l.DiscountShare)
	}
	return all
}

func TestDiscountReducesTaxes(t *testing.T) {
	s := open(t, memory.New(), payments.Config{})
	ten := s.coupon(catalog.CreateCouponParams{PercentOff: percent("10")})
	for name, test := range map[string]struct {
		f        invoice.Fields
		shares   []int64
		tax      int64
		discount int64
	}{
		// 10% of 1005 is 100.5, so 101: 90.45, 9.05 and 1.51 of it. The first two round to the nearest.
		"a percentage": {
			invoice.Fields{Coupon: &ten, Lines: []invoice.LineParams{taxed(900, "20"), taxed(90, "20"), taxed(15, "0")}},
			[]int64{90, 9, 2},
			162 + 16, 101,
		},
		"equal remainders": {
			invoice.Fields{Coupon: new(s.coupon(catalog.CreateCouponParams{AmountOff: new(int64(5))})), Lines: []invoice.LineParams{line(10), line(10), line(10)}},
			[]int64{2, 2, 1},
			0, 5,
		},
		"more than the subtotal": {
			invoice.Fields{Coupon: new(s.coupon(catalog.CreateCouponParams{AmountOff: new(int64(99_999_999))})), Lines: []invoice.LineParams{taxed(700, "15"), taxed(1, "15")}},
			[]int64{700, 1},
			0, 701,
		},
		"all of it": {
			invoice.Fields{Coupon: new(s.coupon(catalog.CreateCouponParams{PercentOff: percent("100")})), Lines: []invoice.LineParams{taxed(700, "15"), line(0)}},
			[]int64{700, 0},
			0, 700,
		},
		"no lines": {invoice.Fields{Coupon: &ten, Lines: []invoice.LineParams{}}, nil, 0, 0},
		"the caller's own": {
			invoice.Fields{Discount: new(int64(50)), Lines: []invoice.LineParams{taxed(100, "20"), taxed(100, "10")}},
			[]int64{25, 25},
			15 + 8, 50,
		},
		"both": {
			invoice.Fields{Coupon: &ten, Discount: new(int64(50)), Lines: []invoice.LineParams{taxed(100, "20"), taxed(100, "10")}},
			[]int64{35, 35},
			13 + 7, 70,
		},
		"both, more than there is": {
			invoice.Fields{Coupon: &ten, Discount: new(int64(195)), Lines: []invoice.LineParams{taxed(100, "20"), taxed(100, "10")}},
			[]int64{100, 100},
			0, 200,
		},
		// The percentage is of the subtotal. It is shared by what the lines cost after their own discounts.
		"beside a line's own": {
			invoice.Fields{Coupon: &ten, Lines: []invoice.LineParams{{Description: "x", UnitAmount: new(int64(100)), Discount: 60}, taxed(160, "10")}},
			[]int64{5, 21},
			14, 86,
		},
	} {
		v := s.get(s.draft(test.f).ID) // as it is stored
		expect.Equal(t, fmt.Sprint(shares(v)), fmt.Sprint(test.shares), "%s: shares", name)
		expect.Equal(t, v.Tax, test.tax, "%s: tax", name)
		expect.Equal(t, v.Discount, test.discount, "%s: discount", name)
		expect.Equal(t, v.Total, v.Subtotal+v.Tax-v.Discount, "%s: total", name)
	}
}

// The shares of a discount are all of it. No line's is above what the line costs, and each is less
// than a pesewa from its proportion. Taxes are on what is left, rounded once a rate.
func TestDiscountIsShared(t *testing.T) {
	s := open(t, memory.New(), payments.Config{})
	rapid.Check(t, func(rt *rapid.T) {
		var f invoice.Fields
		var subtotal, left int64
		for range rapid.IntRange(1, 12).Draw(rt, "lines") {
			p := taxed(rapid.Int64Range(0, 300_000).Draw(rt, "unit"), decimal.New(rapid.Int64Range(0, 10_000).Draw(rt, "rate"), -2).String())
			p.Discount = rapid.Int64Range(0, *p.UnitAmount/2).Draw(rt, "own")
			subtotal += *p.UnitAmount
			left += *p.UnitAmount - p.Discount
			f.Lines = append(f.Lines, p)
		}
		var off int64
		if rapid.Bool().Draw(rt, "by amount") {
			off = rapid.Int64Range(1, 2_000_000).Draw(rt, "amount")
			f.Coupon = new(s.coupon(catalog.CreateCouponParams{AmountOff: &off}))
		} else {
			basis := rapid.Int64Range(1, 10_000).Draw(rt, "hundredths of a percent")
			off = (subtotal*basis*2 + 10_000) / 20_000
			f.Coupon = new(s.coupon(catalog.CreateCouponParams{PercentOff: new(decimal.New(basis, -2))}))
		}
		off = min(off, left)
		v := must.Get(s.Invoices.Create(t.Context(), s.Caller, invoice.CreateParams{Fields: f}))(rt)

		var shared, own, taxes, rows int64
		for _, l := range v.Lines.Data {
			cost := l.Amount - l.Discount
			shared += l.DiscountShare
			own += l.Discount
			expect.True(rt, l.DiscountShare >= 0 && l.DiscountShare <= cost, "the share %d of a line of %d", l.DiscountShare, cost)
			far := l.DiscountShare*left - off*cost
			expect.True(rt, left <= 0 || far < left && far > -left, "the share %d of a line of %d, when %d of %d are shared", l.DiscountShare, cost, off, left)
		}
		taxes = taxOf(v.Lines.Data)
		for _, row := range v.TaxRows() {
			rows += row.Amount
		}
		if shared != off || v.Discount != off+own || v.Tax != taxes || rows != taxes || v.Total != v.Subtotal+v.Tax-v.Discount || v.Total < 0 {
			rt.Errorf("shared %d of %d; %+v; rows of taxes %d, want %d", shared, off, v, rows, taxes)
		}
	})
}

// Each way to take a line away or to add one shares the discount anew.
func TestDiscountFollowsTheLines(t *testing.T) {
	s := open(t, memory.New(), payments.Config{})
	ctx := t.Context()
	half := s.coupon(catalog.CreateCouponParams{PercentOff: percent("50")})
	v := s.draft(invoice.Fields{Lines: []invoice.LineParams{line(100)}, Coupon: &half})
	v = must.Get(s.Invoices.AddLine(ctx, s.Caller, v.ID, taxed(300, "10")))(t)
	expect.Equal(t, v.Discount, 200, "with a second line: discount")
	expect.Equal(t, v.Tax, 15, "with a second line: tax")
	expect.Equal(t, fmt.Sprint(shares(v)), "[50 150]", "with a second line: shares")
	v = must.Get(s.Invoices.Update(ctx, s.Caller, v.ID, invoice.Fields{Lines: []invoice.LineParams{line(10)}}))(t)
	expect.Equal(t, v.Discount, 5, "with another line: discount")
	expect.Equal(t, v.Total, 5, "with another line: total")
	v = must.Get(s.Invoices.Update(ctx, s.Caller, v.ID, invoice.Fields{Coupon: new("")}))(t)
	expect.True(t, v.Coupon == nil, "without the coupon: Coupon is set")
	expect.Equal(t, v.Discount, 0, "without the coupon: discount")
	expect.Equal(t, v.Total, 10, "without the coupon: total")
	// An inactive or deleted coupon stays on the draft as it was copied.
	v = must.Get(s.Invoices.Update(ctx, s.Caller, v.ID, invoice.Fields{Coupon: &half}))(t)
	must.Get(s.Coupons.Update(ctx, s.Caller, half, catalog.UpdateCouponParams{Active: new(false)}))(t)
	v = must.Get(s.Invoices.AddLine(ctx, s.Caller, v.ID, line(10)))(t)
	expect.Equal(t, v.Discount, int64(10), "the discount of an inactive coupon")
}

func TestCouponsAreCountedAtFinalization(t *testing.T) {
	onEachStore(t, payments.Config{}, func(t *testing.T, s *shop) {
		ctx := t.Context()
		twice := s.coupon(catalog.CreateCouponParams{AmountOff: new(int64(500)), MaxRedemptions: new(int64(2)), RedeemBy: s.Now().Add(time.Hour)})
		f := invoice.Fields{Coupon: &twice}
		draft := s.draft(f)
		first := s.openInvoice(f)
		expect.Equal(t, s.redeemed(twice), int64(1), "with a draft and an open invoice")
		second := must.Get(s.Invoices.Create(ctx, s.Caller, invoice.CreateParams{Fields: invoice.Fields{Coupon: &twice, Lines: []invoice.LineParams{line(900)}}, AutoFinalize: true}))(t)
		refused := func(what string, err error) {
			t.Helper()
			testkit.WantParam(t, what, err, api.CouponNotRedeemable, "coupon")
		}
		refused("a third", testkit.Err(s.Invoices.Finalize(ctx, s.Caller, draft.ID)))
		refused("a fourth at once", testkit.Err(s.Invoices.Create(ctx, s.Caller, invoice.CreateParams{Fields: invoice.Fields{Coupon: &twice, Lines: []invoice.LineParams{line(900)}}, AutoFinalize: true})))
		s.draft(f) // a draft may take it
		expect.Equal(t, s.redeemed(twice), int64(2), "used up")

		// A void gives it back, an uncollectible invoice and a duplicate do not.
		must.Get(s.Invoices.MarkUncollectible(ctx, s.Caller, first.ID))(t)
		copied := must.Get(s.Invoices.Duplicate(ctx, s.Caller, second.ID))(t)
		expect.Same(t, copied.Coupon, new(twice), "the duplicate: coupon")
		expect.Equal(t, copied.Discount, 500, "the duplicate: discount")
		expect.Equal(t, s.redeemed(twice), int64(2), "still used up")
		must.Get(s.Invoices.Void(ctx, s.Caller, first.ID))(t)
		expect.Equal(t, s.redeemed(twice), int64(1), "after a void")
		must.Get(s.Invoices.Finalize(ctx, s.Caller, copied.ID))(t)
		must.Get(s.Invoices.Pay(ctx, s.Caller, second.ID, invoice.PayParams{}))(t)
		must.Get(s.Invoices.Void(ctx, s.Caller, copied.ID))(t)
		expect.Equal(t, s.redeemed(twice), int64(1), "with a paid invoice")

		// Its last second still counts.
		s.pass(time.Hour)
		must.Get(s.Invoices.Finalize(ctx, s.Caller, draft.ID))(t)
		must.Get(s.Invoices.Void(ctx, s.Caller, draft.ID))(t)
		late := s.draft(f)
		s.pass(time.Millisecond)
		refused("after its time", testkit.Err(s.Invoices.Finalize(ctx, s.Caller, late.ID)))
		s.draft(f)

		// Inactive or deleted it is put on nothing, and no draft is finalized with it.
		must.Get(s.Coupons.Update(ctx, s.Caller, twice, catalog.UpdateCouponParams{Active: new(false)}))(t)
		for _, is := range []string{"inactive", "deleted"} {
			refused(is+" at finalization", testkit.Err(s.Invoices.Finalize(ctx, s.Caller, late.ID)))
			refused(is+" on a new draft", testkit.Err(s.Invoices.Create(ctx, s.Caller, invoice.CreateParams{Fields: f})))
			refused(is+" on a draft", testkit.Err(s.Invoices.Update(ctx, s.Caller, late.ID, f)))
			if is == "inactive" {
				must.Get(s.Coupons.Delete(ctx, s.Caller, twice))(t)
			}
		}
		testkit.WantParam(t, "unknown", testkit.Err(s.Invoices.Create(ctx, s.Caller, invoice.CreateParams{Fields: invoice.Fields{Coupon: new("cpn_1")}})), api.ResourceMissing, "coupon")
		live := s.Caller
		live.Live = true
		testkit.WantParam(t, "of the other mode", testkit.Err(s.Invoices.Create(ctx, live, invoice.CreateParams{Fields: f})), api.ResourceMissing, "coupon")
		bare := must.Get(s.Invoices.Update(ctx, s.Caller, late.ID, invoice.Fields{Coupon: new("")}))(t)
		expect.True(t, bare.Coupon == nil, "without it: Coupon is set")
		expect.Equal(t, bare.Total, 25_00, "without it: total")
		must.Get(s.Invoices.Finalize(ctx, s.Caller, late.ID))(t)
	})
}

// A void after the coupon's deletion has nothing to give back to.
func TestVoidAfterCouponIsDeleted(t *testing.T) {
	s := open(t, memory.New(), payments.Config{})
	coupon := s.coupon(catalog.CreateCouponParams{AmountOff: new(int64(500))})
	v := s.openInvoice(invoice.Fields{Coupon: &coupon})
	must.Get(s.Coupons.Delete(t.Context(), s.Caller, coupon))(t)
	v = must.Get(s.Invoices.Void(t.Context(), s.Caller, v.ID))(t)
	expect.Same(t, v.Coupon, new(coupon), "voided: coupon")
	expect.Equal(t, v.Discount, 500, "voided: discount")
}

// However many finalize at once, no coupon is redeemed more often than it may be.
func TestMaxRedemptionsHoldsUnderConcurrency(t *testing.T) {
	onEachStore(t, payments.Config{}, func(t *testing.T, s *shop) {
		const most, drafts = 3, 12
		coupon := s.coupon(catalog.CreateCouponParams{AmountOff: new(int64(1)), MaxRedemptions: new(int64(most))})
		ids := make([]string, drafts)
		for i := range ids {
			ids[i] = s.draft(invoice.Fields{Coupon: &coupon}).ID
		}
		var done atomic.Int64
		var all sync.WaitGroup
		for _, id := range ids {
			all.Go(func() {
				_, err := s.Invoices.Finalize(context.Background(), s.Caller, id)
				if err == nil {
					done.Add(1)
				} else if api.CodeOf(err) != api.CouponNotRedeemable {
					t.Errorf("got %v", err)
				}
			})
		}
		all.Wait()
		expect.Equal(t, done.Load(), int64(most), "finalized")
		expect.Equal(t, s.redeemed(coupon), int64(most), "redeemed")
	})
}

func TestLinesTakeFromTheirProduct(t *testing.T) {
	s := open(t, memory.New(), payments.Config{DefaultTax: percent("7")})
	ctx := t.Context()
	product := func(p catalog.CreateProductParams) string {
		p.Name = "Sobolo"
		return must.Get(s.Products.Create(ctx, s.Caller, p))(t).ID
	}
	full := product(catalog.CreateProductParams{UnitAmount: new(int64(1500)), Taxable: new(true), TaxPercent: percent("20")})
	bare := product(catalog.CreateProductParams{})
	rateless := product(catalog.CreateProductParams{UnitAmount: new(int64(100)), Taxable: new(true)})
	for name, test := range map[string]struct {
		p    invoice.LineParams
		want string // description, price, amount, whether it is taxed, and the rate
	}{
		"everything":         {invoice.LineParams{Product: full}, "Sobolo 1500 1500 true 20"},
		"nothing":            {invoice.LineParams{Product: full, Description: "Juice", UnitAmount: new(int64(0)), Taxable: new(false), TaxPercent: percent("5")}, "Juice 0 0 false 5"},
		"its price alone":    {invoice.LineParams{Product: full, Description: "Juice", Taxable: new(true), TaxPercent: percent("5"), Quantity: percent("2")}, "Juice 1500 3000 true 5"},
		"its rate":           {invoice.LineParams{Product: full, Taxable: new(false)}, "Sobolo 1500 1500 false 20"},
		"its taxable":        {invoice.LineParams{Product: full, TaxPercent: percent("5")}, "Sobolo 1500 1500 true 5"},
		"not its rate":       {invoice.LineParams{Product: full, Taxes: invoice.GhanaVAT()[:1]}, "Sobolo 1500 1500 true 15"},
		"its name":           {invoice.LineParams{Product: bare, UnitAmount: new(int64(5))}, "Sobolo 5 5 false <nil>"},
		"the rate of config": {invoice.LineParams{Product: rateless}, "Sobolo 100 100 true 7"},
	} {
		draft := s.draft(invoice.Fields{Lines: []invoice.LineParams{}})
		v := must.Get(s.Invoices.AddLine(ctx, s.Caller, draft.ID, test.p))(t)
		l := v.Lines.Data[0]
		expect.Equal(t, fmt.Sprint(l.Description, " ", l.UnitAmount, l.Amount, l.Taxable, l.TaxPercent), test.want, "a line that takes %s", name)
		expect.Equal(t, *l.Product, test.p.Product, "the product of a line that takes %s", name)
	}

	v := s.draft(invoice.Fields{Lines: []invoice.LineParams{{Product: full}}})
	must.Get(s.Products.Update(ctx, s.Caller, full, catalog.UpdateProductParams{Name: new("Asaana"), UnitAmount: new(new(int64(1))), Active: new(false)}))(t)
	v = must.Get(s.Invoices.AddLine(ctx, s.Caller, v.ID, line(5)))(t)
	expect.Equal(t, v.Lines.Data[0].Description, "Sobolo", "the line followed its product: description of the first line")
	expect.Equal(t, v.Subtotal, 1505, "the line followed its product: subtotal")
	must.Get(s.Products.Delete(ctx, s.Caller, rateless))(t)
	for product, want := range map[string]api.Code{full: api.ParameterInvalid, rateless: api.ResourceMissing, "prod_1": api.ResourceMissing, strings.Repeat("x", 256): api.ParameterInvalid} {
		p := line(5)
		p.Product = product
		testkit.WantParam(t, "a line of "+product, testkit.Err(s.Invoices.AddLine(ctx, s.Caller, v.ID, p)), want, "product")
		testkit.WantParam(t, "lines of "+product, testkit.Err(s.Invoices.Update(ctx, s.Caller, v.ID, invoice.Fields{Lines: []invoice.LineParams{line(1), p}})), want, "line_items[1].product")
	}
	testkit.WantParam(t, "no price", testkit.Err(s.Invoices.AddLine(ctx, s.Caller, v.ID, invoice.LineParams{Product: bare})), api.ParameterMissing, "unit_amount")
	var refusal *api.Error
	_, err := s.Invoices.Create(ctx, s.Caller, invoice.CreateParams{Fields: invoice.Fields{Lines: []invoice.LineParams{{Product: bare}}}})
	must.True(t, errors.As(err, &refusal), "no price at creation: %v", err)
	expect.Equal(t, refusal.Param, "line_items[0].unit_amount", "no price at creation: param")
}

// Page and PDF show the discount before the taxes that it reduced.
func TestSumsShowTheDiscount(t *testing.T) {
	s := open(t, memory.New(), payments.Config{})
	rows := func(f invoice.Fields) string {
		var all []string
		for _, sum := range s.get(s.draft(f).ID).Sums() {
			all = append(all, fmt.Sprint(sum.Name, " ", sum.Amount))
		}
		return strings.Join(all, ", ")
	}
	lines := []invoice.LineParams{taxed(1000, "20")}
	quarter, fixed := s.coupon(catalog.CreateCouponParams{PercentOff: percent("12.50")}), s.coupon(catalog.CreateCouponParams{AmountOff: new(int64(100))})
	expect.Equal(t, rows(invoice.Fields{Lines: lines, Coupon: &quarter}), "Subtotal 1000, Discount 12.5% -125, Tax 20% on 8.75 175, Total 1050", "a percentage")
	expect.Equal(t, rows(invoice.Fields{Lines: lines, Coupon: &fixed}), "Subtotal 1000, Discount -100, Tax 20% on 9.00 180, Total 1080", "an amount")
	expect.Equal(t, rows(invoice.Fields{Lines: lines, Coupon: &quarter, Discount: new(int64(75))}), "Subtotal 1000, Discount -200, Tax 20% on 8.00 160, Total 960", "a percentage and an amount")
	lines[0].Discount = 200
	expect.Equal(t, rows(invoice.Fields{Lines: lines, Coupon: &quarter}), "Subtotal 1000, Discount -325, Tax 20% on 6.75 135, Total 810", "beside a line's own")
}
