package billmodel

import "time"

// Status is the status of a subscription.
type Status string

// The statuses of a subscription.
const (
	Trialing  Status = "trialing"
	Active    Status = "active"
	PastDue   Status = "past_due"
	Paused    Status = "paused"
	Cancelled Status = "cancelled"
)

// Interval is how long a period is.
type Interval struct {
	Unit  string // day, week, month or year
	Count int
}

// Calendar is a subscription whose invoices are sent, and when what happens to it.
type Calendar struct {
	Subscription
	Status      Status
	Interval    Interval
	Anchor      time.Time
	Now         time.Time // the time up to which the calendar has gone
	CancelledAt time.Time // zero unless Cancelled
	// DaysUntilDue are those of later invoices.
	DaysUntilDue int
	// AtEnd says that the subscription ends with its period.
	AtEnd  bool
	Sheets []*Sheet // of the invoices, the oldest first

	n int // the period, counted from the anchor
}

// Sheet is what the calendar knows of an invoice.
type Sheet struct {
	*Invoice
	Date time.Time
	// Start and End are those of its period; zero for the final invoice.
	Start, End time.Time
	// Due is zero for an invoice that was made late, until a test takes it from the invoice.
	Due time.Time

	overdue bool
}

// Boundary returns the start of a period, by counting months on the fingers.
func Boundary(anchor time.Time, i Interval, n int) time.Time {
	steps := n * i.Count
	switch i.Unit {
	case "day":
		return anchor.Add(time.Duration(steps) * day)
	case "week":
		return anchor.Add(time.Duration(steps) * 7 * day)
	case "year":
		steps *= 12
	}
	return MonthsLater(anchor, steps)
}

const day = 24 * time.Hour

// MonthsLater returns the same day of a later month, or its last day if it has none such.
func MonthsLater(anchor time.Time, steps int) time.Time {
	y, m := anchor.Year(), int(anchor.Month())
	for range steps {
		if m++; m == 13 {
			y, m = y+1, 1
		}
	}
	for d := anchor.Day(); ; d-- {
		at := time.Date(y, time.Month(m), d, anchor.Hour(), anchor.Minute(), anchor.Second(), 0, time.UTC)
		if int(at.Month()) == m {
			return at
		}
	}
}

// Begin starts the first period, or a trial until a time.
func (c *Calendar) Begin(trialEnd time.Time) {
	c.Status, c.Anchor = Active, c.Now
	if trialEnd.IsZero() {
		c.enter(0, c.Now)
		return
	}
	c.Status, c.Anchor = Trialing, trialEnd
	c.Start, c.End = c.Now, trialEnd
}

// GoTo lets time pass.
func (c *Calendar) GoTo(to time.Time) {
	for c.Status != Cancelled {
		at, what := to.Add(time.Second), func() {}
		for _, v := range c.Sheets {
			if v.Status != Open || v.Due.IsZero() {
				continue
			}
			late := v.Due.Truncate(day).Add(day) // the day on which it was due is over
			if t := late.Add(30 * day); v.overdue && t.Before(at) {
				at, what = t, func() { v.Status = Uncollectible; c.Cancel(t, to) }
			} else if !v.overdue && late.Before(at) {
				at, what = late, func() { v.overdue = true }
			}
		}
		switch {
		case !c.End.Before(at):
		case c.AtEnd:
			at, what = c.End, func() { c.Cancel(c.End, to) }
		case c.Status != Paused:
			at, what = c.End, func() {
				if c.Status == Trialing {
					c.Status, c.n = Active, -1
				}
				c.enter(c.n+1, to)
			}
		}
		if d := c.Coupon; d != nil && !d.End.IsZero() && d.End.Before(at) {
			at, what = d.End, func() { c.PutOn(nil) }
		}
		if at.After(to) {
			break
		}
		what()
		c.Settle()
	}
	c.Now = to
}

// enter begins period n with its invoice, which is made at a time.
func (c *Calendar) enter(n int, made time.Time) {
	c.n = n
	v := c.Bill(Boundary(c.Anchor, c.Interval, n), Boundary(c.Anchor, c.Interval, n+1))
	c.Sheets = append(c.Sheets, c.sheet(v, c.Start, made))
	c.Sheets[len(c.Sheets)-1].Start, c.Sheets[len(c.Sheets)-1].End = c.Start, c.End
}

// sheet dates an invoice. One that is made more than a day late is due as if it were of the time at which it is
// made, which the caller knows better.
func (c *Calendar) sheet(v *Invoice, date, made time.Time) *Sheet {
	is := &Sheet{Invoice: v, Date: date}
	if v.Total == 0 {
		v.Status = Paid
	}
	if made.Sub(date) <= day {
		is.Due = date.AddDate(0, 0, c.DaysUntilDue)
	}
	return is
}

// Settle sets whether the subscription is past_due.
func (c *Calendar) Settle() {
	if c.Status != Active && c.Status != PastDue {
		return
	}
	c.Status = Active
	for _, v := range c.Sheets {
		if v.Status == Open && v.overdue {
			c.Status = PastDue
		}
	}
}

// Cancel ends the subscription at a time. A final invoice is made at another.
func (c *Calendar) Cancel(at, made time.Time) {
	if v := c.Finish(); v != nil {
		c.Sheets = append(c.Sheets, c.sheet(v, at, made))
	}
	c.Status, c.CancelledAt = Cancelled, at
}

// Pause stops the invoices, and ends a trial.
func (c *Calendar) Pause() {
	if c.Status == Trialing {
		c.End, c.Anchor = c.Now, c.Now
	}
	c.Status = Paused
	if c.AtEnd {
		c.GoTo(c.Now)
	}
}

// Resume begins a new period.
func (c *Calendar) Resume() {
	c.Status, c.Anchor = Active, c.Now
	c.enter(0, c.Now)
	c.Settle()
}

// Move changes terms and interval. While the subscription is in its trial or paused, the change waits for the
// next period.
func (c *Calendar) Move(to Terms, i Interval, prorated bool) {
	same := i == c.Interval
	c.Interval = i
	switch {
	case c.Status != Active && c.Status != PastDue:
		c.Terms = to
	case same:
		c.Change(c.Now, to, prorated)
	default:
		c.Leave(c.Now, to, prorated)
		c.Anchor = c.Now
		c.enter(0, c.Now)
		c.Settle()
	}
}

// EndAtPeriodEnd has the subscription end with its period, or go on. A paused one ends at once.
func (c *Calendar) EndAtPeriodEnd(ends bool) {
	if c.AtEnd = ends; ends && c.Status == Paused {
		c.Cancel(c.Now, c.Now)
	}
}
