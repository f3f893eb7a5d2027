package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/provider/mtnmomo"
	"github.com/seed-7082ffec/payments/provider/paystack"
)

// words are the providers' words that the library does not know by itself.
var words = map[string]provider.Outcome{"processed": provider.Paid, "abandoned": provider.Refused}

// closeDay closes a day with one provider. It reads the provider's statement, books the fees and
// settlements that the books lack, and compares the money that lies with the provider by the books
// with what the provider says. It may be repeated. It returns an error if the day does not close.
func closeDay(ctx context.Context, a *app, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("close", flag.ContinueOnError)
	route := flags.String("provider", "", "paystack or mtnmomo")
	path := flags.String("statement", "", "CSV file with the columns reference, amount and status, and maybe fee and type")
	date := flags.String("day", "", "the day, such as 2026-11-22; without it today until now, for which the provider is asked for the balance")
	balance := flags.String("balance", "", "what lay with the provider at the end of the day, in GHS, over all accounts there")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *route != paystack.Route && *route != mtnmomo.Route {
		return errors.New("give -provider paystack or -provider mtnmomo")
	}
	statement, err := os.ReadFile(*path)
	if err != nil {
		return fmt.Errorf("-statement: %w", err)
	}
	d := day{app: a, route: *route, statement: statement, out: out}
	if err := d.setTime(*date); err != nil {
		return err
	}
	if *balance != "" {
		cedis, err := decimal.NewFromString(*balance)
		pesewas := cedis.Shift(2)
		if err != nil || !pesewas.IsInteger() || !pesewas.BigInt().IsInt64() {
			return errors.New("-balance must be an amount in GHS, such as 1250.50")
		}
		d.reported = new(pesewas.IntPart())
	}
	return d.close(ctx)
}

// day is a day at a provider.
type day struct {
	*app
	route       string
	from, until time.Time // until is zero for now
	statement   []byte
	reported    *int64
	out         io.Writer
	open        int // differences found
}

// setTime sets the bounds of the day. Ghana's clock is UTC.
func (d *day) setTime(date string) error {
	now := time.Now()
	if d.clock != nil {
		now = d.clock()
	}
	today := now.UTC().Truncate(24 * time.Hour)
	d.from = today
	if date == "" {
		return nil
	}
	from, err := time.Parse(time.DateOnly, date)
	if err != nil || from.After(today) {
		return errors.New("-day must be a day that has begun, such as 2026-11-22")
	}
	if d.from = from; from.Before(today) {
		d.until = from.AddDate(0, 0, 1)
	}
	return nil
}

func (d *day) close(ctx context.Context) error {
	operator := api.Caller{Live: true}
	read := d.rows(ctx)
	report, err := d.svc.Providers.Reconcile(ctx, operator, provider.ReconcileParams{
		Rows: read, Route: d.route, From: d.from, Until: d.until, Book: true, Outcomes: words,
	})
	if err != nil {
		return err
	}
	d.print("%s on %s: %d rows agree, %d fees and settlements are booked now.", d.route, d.from.Format(time.DateOnly), report.Matched, len(report.Booked))
	different := d.differences(report)
	position, err := d.svc.Providers.Position(ctx, operator, provider.PositionParams{
		Route: d.route, From: d.from, Until: d.until, Rows: d.rows(ctx), Reported: d.reported, Outcomes: words,
	})
	if err != nil {
		return err
	}
	unexplained := position.Difference
	for _, l := range position.Lines {
		d.print("  %s: the books have %s, the statement %s", named(l.Reference), cedis(l.Booked), cedis(l.Reported))
		if read.seen[l.Reference] && !different[l.Reference] {
			// They agree, but for the day: a fee of yesterday may be booked today.
			unexplained -= l.Reported - l.Booked
		}
	}
	d.print("By the books %s lie with %s.", cedis(position.Booked), d.route)
	switch {
	case position.Reported == nil:
		d.print("The provider told no balance of then: give -balance.")
	default:
		d.print("The provider says %s, a difference of %s. Not explained by bookings of another day: %s.",
			cedis(*position.Reported), cedis(position.Difference), cedis(unexplained))
		if unexplained != 0 {
			d.open++
		}
	}
	if d.open > 0 {
		return errors.New("the day does not close: look into the lines above. Notify books an outcome, Accounts.Adjust corrects a balance")
	}
	d.print("The day is closed.")
	return nil
}

// differences prints where the statement and the books disagree, and returns the references.
func (d *day) differences(r *provider.Reconciliation) map[string]bool {
	of := map[string]bool{}
	for _, kind := range []struct {
		says string
		list []provider.Difference
	}{
		{"is in the statement and not in the books", r.MissingHere},
		{"is in the books and not in the statement", r.MissingThere},
		{"has another amount in the statement", r.AmountDiffers},
		{"has another outcome in the statement", r.StatusDiffers},
		{"has another fee in the statement", r.FeeDiffers},
		{"went to another provider by the books", r.RouteDiffers},
	} {
		for _, x := range kind.list {
			reference, inStatement := x.Row.Reference, x.Order == nil || x.Row.Reference != ""
			if !inStatement {
				if reference = x.Order.ID; !x.Order.Outcome.Final() {
					d.print("  %s is still under way", reference)
					continue
				}
				if x.Order.Outcome == provider.Refused {
					continue // the provider need not list an order for which no money moved
				}
			}
			of[reference] = true
			d.open++
			line := fmt.Sprintf("  %s %s", named(reference), kind.says)
			if inStatement {
				line += fmt.Sprintf("; statement: GHS %s %s", x.Row.Amount.StringFixed(2), x.Row.Status)
			}
			if x.Order != nil {
				line += fmt.Sprintf("; books: %s %s", cedis(x.Order.Amount), x.Order.Outcome)
			}
			d.print("%s", line)
		}
	}
	for _, row := range r.Repeated {
		d.open++
		d.print("  %s is in the statement twice", named(row.Reference))
	}
	return of
}

// named is a reference for people. A provider's own bookings, such as its fees, may have none.
func named(reference string) string { return cmp.Or(reference, "A row without a reference") }

func (d *day) print(format string, args ...any) { fmt.Fprintf(d.out, format+"\n", args...) }

func cedis(pesewas int64) string { return "GHS " + api.FromPesewas(pesewas).StringFixed(2) }

// rows reads the statement. Paystack's references become the library's ids.
func (d *day) rows(ctx context.Context) *rows {
	booked := func(id string) (provider.Outcome, error) {
		order, err := d.svc.Providers.Get(ctx, api.Caller{Live: true}, id)
		if api.CodeOf(err) == api.ResourceMissing {
			return provider.NotFound, nil
		}
		if err != nil {
			return "", err
		}
		return order.Outcome, nil
	}
	return &rows{provider.CSV(bytes.NewReader(d.statement)), booked, map[string]bool{}}
}

type rows struct {
	provider.RowReader
	booked func(id string) (provider.Outcome, error)
	seen   map[string]bool // references
}

// Read implements [provider.RowReader].
func (r *rows) Read() (provider.Row, error) {
	row, err := r.RowReader.Read()
	if id, ok := paystack.OrderID(row.Reference); ok {
		row.Reference = id
	}
	// Paystack calls a charge reversed once all of it was refunded. The refund has a row of its own, so the
	// charge was paid. Only one that the books have as taken back, too, was reversed.
	if err == nil && row.Status == "reversed" && !strings.HasPrefix(row.Reference, "po_") {
		var booked provider.Outcome
		if booked, err = r.booked(row.Reference); booked != provider.Reversed {
			row.Status = "success"
		}
	}
	r.seen[row.Reference] = true
	return row, err
}
