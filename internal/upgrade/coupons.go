package upgrade

import (
	"encoding/json"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments/internal/money"
)

// periodCoupon states the part of a coupon's amount that reduced the line of an invoice's period. Programs once
// shared the amount with the lines of changes. The rest becomes the invoice's own discount, which a copy of it takes
// over.
func periodCoupon(_ *record, d *document) error {
	var coupon struct {
		AmountOff *int64 `json:"amount_off"`
	}
	var lines struct {
		Data []struct {
			ID     string          `json:"id"`
			Amount int64           `json:"amount"`
			Period json.RawMessage `json:"period"`
		} `json:"data"`
	}
	var shares map[string]int64
	var credit string
	for name, into := range map[string]any{"redemption": &coupon, "lines": &lines, "shares": &shares, "credit_line": &credit} {
		if err := d.read(name, into); err != nil {
			return err
		}
	}
	if coupon.AmountOff == nil {
		return nil
	}
	off := *coupon.AmountOff
	var subtotal int64 // of a copy, which has no credit
	for _, l := range lines.Data {
		if l.Period != nil {
			off = shares[l.ID]
			if off == max(min(*coupon.AmountOff, l.Amount), 0) {
				return nil
			}
		}
		if l.Amount > 0 && l.ID != credit {
			subtotal += l.Amount
		}
	}
	if off == *coupon.AmountOff {
		return nil
	}
	if rest := min(*coupon.AmountOff, subtotal) - off; rest > 0 {
		if err := d.set("invoice_discount", rest); err != nil {
			return err
		}
	}
	return d.in("redemption", func(d *document) error { return d.set("amount_off", off) })
}

// percentOff is a percentage that a coupon takes off; nil for none.
type percentOff struct {
	Percent *decimal.Decimal `json:"percent_off"`
}

// netWaiting takes the percentage of a coupon off the charges that wait for a subscription's next invoice. The coupon
// of the invoice once reduced them. Now it reduces only the line of the period, which an amount reduces as before.
func netWaiting(_ *record, d *document) error {
	var coupon percentOff
	var discount struct {
		End *int64 `json:"end"`
	}
	var next int64
	for name, into := range map[string]any{"coupon_terms": &coupon, "discount": &discount, "current_period_end": &next} {
		if err := d.read(name, into); err != nil {
			return err
		}
	}
	if discount.End != nil && *discount.End <= next {
		coupon = percentOff{}
	}
	if err := d.in("waiting", coupon.net); err != nil {
		return err
	}
	return d.in("unpaid.used", func(d *document) error {
		of := coupon
		if d.has("coupon_terms") {
			of = percentOff{}
		}
		if err := d.read("coupon_terms", &of); err != nil {
			return err
		}
		return d.in("waiting", of.net)
	})
}

// net takes the percentage off a charge, unless the line is marked as net. No line has the mark afterwards.
func (p percentOff) net(line *document) error {
	var amount int64
	if err := line.read("amount", &amount); err != nil {
		return err
	}
	net := line.has("net")
	line.remove("net")
	if net || amount < 0 || p.Percent == nil {
		return nil
	}
	return line.set("amount", amount-money.Share(amount, *p.Percent))
}
