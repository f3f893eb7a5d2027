package subscription_test

import (
	"math/big"
	"slices"
	"sort"
	"time"

	"github.com/seed-7082ffec/payments/catalog"
	"github.com/seed-7082ffec/payments/subscription"
)

// model is a subscription once more, as a calendar on paper has it: without a store, a worker or a clock
// that runs. It knows nothing of the code that it checks.
type model struct {
	status       subscription.Status
	anchor       time.Time
	n            int // the period, counted from the anchor
	start, end   time.Time
	plan         *catalog.Plan
	quantity     int64
	daysUntilDue int
	atEnd        bool
	cancelledAt  time.Time
	invoices     []*sheet
	waiting      []line
	credit       int64
	// old is what the period has cost, and changed says that a change has set it.
	old      int64
	oldName  string
	changed  bool
	discount *reduction
	// now is the time up to which the model has gone.
	now time.Time
}

// sheet is an invoice of the model.
type sheet struct {
	date, start, end time.Time
	lines            []line
	total            int64
	due              time.Time // zero: it was made late, and the test takes it from the invoice
	status           string
	overdue          bool
}

// reduction is a coupon of the model, in hundredths of a percent.
type reduction struct {
	share int64
	once  bool
	end   time.Time // zero for none
}

// boundary returns the start of a period, by counting months on the fingers.
func boundary(anchor time.Time, p *catalog.Plan, n int) time.Time {
	steps := n * int(p.IntervalCount)
	switch p.Interval {
	case catalog.Day:
		return anchor.Add(time.Duration(steps) * 24 * time.Hour)
	case catalog.Week:
		return anchor.Add(time.Duration(steps) * 7 * 24 * time.Hour)
	case catalog.Year:
		steps *= 12
	}
	return monthsLater(anchor, steps)
}

func monthsLater(anchor time.Time, steps int) time.Time {
	y, m := anchor.Year(), int(anchor.Month())
	for range steps {
		if m++; m == 13 {
			y, m = y+1, 1
		}
	}
	for d := anchor.Day(); ; d-- { // the last day that the month has
		at := time.Date(y, time.Month(m), d, anchor.Hour(), anchor.Minute(), anchor.Second(), 0, time.UTC)
		if int(at.Month()) == m {
			return at
		}
	}
}

// nearest rounds a fraction to the nearest whole number, a half away from zero.
func nearest(amount, part, whole int64) int64 {
	r := new(big.Rat).Mul(big.NewRat(amount, 1), big.NewRat(part, whole))
	sign := int64(r.Sign())
	r.Abs(r).Add(r, big.NewRat(1, 2))
	return sign * new(big.Int).Quo(r.Num(), r.Denom()).Int64()
}

// goTo lets time pass.
func (m *model) goTo(to time.Time) {
	for m.status != subscription.Cancelled {
		at, what := to.Add(time.Second), func() {}
		for _, v := range m.invoices {
			if v.status != "open" || v.due.IsZero() {
				continue
			}
			if t := v.due.Add(30 * 24 * time.Hour); v.overdue && t.Before(at) {
				at, what = t, func() { v.status = "uncollectible"; m.cancel(t) }
			} else if !v.overdue && v.due.Before(at) {
				at, what = v.due, func() { v.overdue = true }
			}
		}
		switch {
		case !m.end.Before(at):
		case m.atEnd:
			at, what = m.end, func() { m.cancel(m.end) }
		case m.status != subscription.Paused:
			at, what = m.end, func() {
				if m.status == subscription.Trialing {
					m.status, m.n = subscription.Active, -1
				}
				m.enter(m.n+1, to)
			}
		}
		if d := m.discount; d != nil && !d.end.IsZero() && d.end.Before(at) {
			at, what = d.end, func() { m.discount = nil }
		}
		if at.After(to) {
			break
		}
		what()
		m.settle()
	}
	m.now = to
}

// enter begins period n with its invoice, which is made at a time.
func (m *model) enter(n int, made time.Time) {
	m.n, m.start, m.end = n, boundary(m.anchor, m.plan, n), boundary(m.anchor, m.plan, n+1)
	if d := m.discount; d != nil && !d.end.IsZero() && !m.start.Before(d.end) {
		m.discount = nil
	}
	v := &sheet{date: m.start, start: m.start, end: m.end, status: "open", lines: append(m.waiting, line{m.plan.Name, m.plan.Amount * m.quantity})}
	m.waiting = nil
	var subtotal int64
	for _, l := range v.lines {
		subtotal += l.Amount
	}
	m.old, m.oldName, m.changed = v.lines[len(v.lines)-1].Amount, m.plan.Name, false
	v.total = subtotal
	if d := m.discount; d != nil && subtotal > 0 {
		off := nearest(subtotal, d.share, 10_000)
		v.total -= off
		m.old -= lastShare(off, v.lines, subtotal)
		if d.once {
			m.discount = nil
		}
	}
	if v.total < 0 {
		v.lines = append(v.lines, line{"Credit for later invoices", -v.total})
		m.credit -= v.total
		v.total = 0
	} else if used := min(m.credit, v.total); used > 0 {
		v.lines = append(v.lines, line{"Credit from earlier invoices", -used})
		m.credit -= used
		v.total -= used
	}
	if v.total == 0 {
		v.status = "paid"
	}
	if made.Sub(m.start) <= 24*time.Hour {
		v.due = m.start.AddDate(0, 0, m.daysUntilDue)
	}
	m.invoices = append(m.invoices, v)
}

// lastShare returns the last line's share of a discount: each line gets the exact part rounded down, and
// those that lost most by it get the rest.
func lastShare(off int64, lines []line, sum int64) int64 {
	type part struct {
		at   int
		got  int64
		lost *big.Rat
	}
	var parts []part
	rest := off
	for i, l := range lines {
		exact := new(big.Rat).Mul(big.NewRat(off, 1), big.NewRat(l.Amount, sum))
		down := new(big.Int).Div(exact.Num(), exact.Denom()) // Euclidean: towards minus infinity
		rest -= down.Int64()
		parts = append(parts, part{i, down.Int64(), exact.Sub(exact, new(big.Rat).SetInt(down))})
	}
	sort.SliceStable(parts, func(a, b int) bool { return parts[a].lost.Cmp(parts[b].lost) > 0 })
	for i := range parts {
		if int64(i) < rest {
			parts[i].got++
		}
	}
	return parts[slices.IndexFunc(parts, func(p part) bool { return p.at == len(lines)-1 })].got
}

func (m *model) cancel(at time.Time) {
	m.status, m.cancelledAt, m.credit, m.waiting = subscription.Cancelled, at, 0, nil
}

// settle sets whether the subscription is past_due.
func (m *model) settle() {
	if m.status != subscription.Active && m.status != subscription.PastDue {
		return
	}
	m.status = subscription.Active
	for _, v := range m.invoices {
		if v.status == "open" && v.overdue {
			m.status = subscription.PastDue
		}
	}
}

// change changes plan and quantity.
func (m *model) change(plan *catalog.Plan, quantity int64, prorated bool) {
	same := plan.Interval == m.plan.Interval && plan.IntervalCount == m.plan.IntervalCount
	nothing := plan.ID == m.plan.ID && quantity == m.quantity
	m.plan, m.quantity = plan, quantity
	if nothing || m.status != subscription.Active && m.status != subscription.PastDue {
		return
	}
	left, whole := int64(m.end.Sub(m.now)/time.Second), int64(m.end.Sub(m.start)/time.Second)
	if prorated {
		if !m.changed && m.invoices[len(m.invoices)-1].status != "paid" {
			m.old = 0
		}
		m.wait("Unused time on "+m.oldName, nearest(-m.old, left, whole))
		if same {
			m.old, m.oldName, m.changed = plan.Amount*quantity, plan.Name, true
			m.wait("Remaining time on "+plan.Name, nearest(m.old, left, whole))
		}
	}
	if !same {
		m.anchor = m.now
		m.enter(0, m.now)
		m.settle()
	}
}

func (m *model) wait(text string, amount int64) {
	if amount != 0 {
		m.waiting = append(m.waiting, line{text, amount})
	}
}
