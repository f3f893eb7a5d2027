package payout

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/money"
	"github.com/seed-7082ffec/payments/internal/outside"
	"github.com/seed-7082ffec/payments/storage"
)

// Row is a line of a provider's statement.
type Row struct {
	// Reference is the id under which we submitted the transfer, po_…, or the refund,
	// re_….
	Reference string
	// Amount is in GHS, without our fee.
	Amount decimal.Decimal
	// Status is in the provider's words; see [ReconcileParams].
	Status string
}

// RowReader reads a provider's statement. It returns io.EOF at the end.
type RowReader interface {
	Read() (Row, error)
}

// ReconcileParams say what a statement covers.
type ReconcileParams struct {
	Live bool
	// From and Until bound when the transfers of the statement were created: what
	// we have sent in this time and the statement does not know is reported. A zero
	// time leaves that end open.
	From, Until time.Time
	// Outcomes translates the provider's words into outcomes. Those known without it,
	// in any case of letters: succeeded, success, successful, completed, paid;
	// failed, failure, rejected, refused, reversed; pending, processing,
	// in_progress.
	Outcomes map[string]Outcome
}

// Difference is a row that does not agree with a transfer of ours, or one without
// the other.
type Difference struct {
	Row      Row       // zero for a transfer that the statement does not know
	Transfer *Transfer // nil for a row that we do not know
	Merchant string
}

// Reconciliation is the outcome of comparing a statement with what was sent.
type Reconciliation struct {
	Matched int
	// MissingHere are rows whose reference is none of ours.
	MissingHere []Difference
	// MissingThere are transfers that the rail was told of and the statement does
	// not have.
	MissingThere []Difference
	// AmountDiffers and StatusDiffers are rows that disagree with our transfer. A
	// row that disagrees in both is in both.
	AmountDiffers []Difference
	StatusDiffers []Difference
	// Repeated are rows whose reference stood in the statement before.
	Repeated []Row
}

var knownOutcomes = map[string]Outcome{
	"succeeded": Paid, "success": Paid, "successful": Paid, "completed": Paid, "paid": Paid,
	"failed": Refused, "failure": Refused, "rejected": Refused, "refused": Refused, "reversed": Refused,
	"pending": InProgress, "processing": InProgress, "in_progress": InProgress,
}

// Reconcile compares a provider's statement with the transfers that its rail was
// told of, over all merchants. Nothing is changed: what differs is for people to
// look into, and for [Outgoing.Notify] to book. It reads in small steps beside
// traffic, and remembers the references of the statement. An error of the reader
// ends it.
func (o *Outgoing) Reconcile(ctx context.Context, rows RowReader, p ReconcileParams) (*Reconciliation, error) {
	found, err := outside.Reconcile(ctx, rows.Read, outside.Books[Row, Transfer]{
		Reference: func(row Row) string { return row.Reference },
		Find: func(ctx context.Context, id string) (*Transfer, string, error) {
			n, caller, err := o.find(ctx, id)
			if api.CodeOf(err) == api.ResourceMissing || err == nil && caller.Live != p.Live {
				return nil, "", nil
			}
			if err != nil {
				return nil, "", err
			}
			t, err := o.Get(ctx, caller, n, id)
			return t, caller.Merchant, err
		},
		SameAmount: func(row Row, t *Transfer) bool { return row.Amount.Equal(t.Amount.Decimal) },
		SameStatus: func(row Row, t *Transfer) bool { return p.means(row.Status, t.Status) },
		Told: func(ctx context.Context, do func(string, *Transfer, string)) error {
			q := storage.Query{Range: api.InTimes(nil, "created", api.Times{From: p.From, Until: p.Until})}
			return orders.Each(ctx, o.engine, p.Live, q, func(tx *engine.ReadTx, id string, ordered *outside.Order) error {
				found, err := nounOf(ordered.Noun).transfers.Get(tx, tx.Caller.Scope(), id)
				if err == nil && found.Value.SubmittedAt != nil {
					do(id, &found.Value.Transfer, tx.Caller.Merchant)
				}
				return err
			})
		},
	})
	if err != nil {
		return nil, fmt.Errorf("payout: reconcile: %w", err)
	}
	show := func(d outside.Difference[Row, Transfer]) Difference { return Difference{d.Row, d.Object, d.Merchant} }
	return &Reconciliation{
		Matched:       found.Matched,
		MissingHere:   outside.Each(found.MissingHere, show),
		MissingThere:  outside.Each(found.MissingThere, show),
		AmountDiffers: outside.Each(found.OtherAmount, show),
		StatusDiffers: outside.Each(found.OtherStatus, show),
		Repeated:      found.Repeated,
	}, nil
}

// Outcome translates a word of the provider's; empty for one that is not known.
func (p *ReconcileParams) Outcome(word string) Outcome {
	if outcome, ok := p.Outcomes[word]; ok {
		return outcome
	}
	return knownOutcomes[strings.ToLower(strings.TrimSpace(word))]
}

// means reports whether the provider's word says what our status says.
func (p *ReconcileParams) means(word string, ours Status) bool {
	switch p.Outcome(word) {
	case Paid:
		return ours == Succeeded || ours == Completed
	case Refused:
		return ours == Failed
	case InProgress:
		return ours == Processing
	}
	return false
}

// CSV reads a statement as comma-separated values. The first line names the
// columns, in any order and among others: reference, amount and status, in any
// case of letters.
func CSV(r io.Reader) RowReader {
	c := csv.NewReader(r)
	c.ReuseRecord = true
	return &csvRows{csv: c}
}

type csvRows struct {
	csv     *csv.Reader
	columns []int // of reference, amount and status; nil before the first line
}

func (c *csvRows) Read() (Row, error) {
	if c.columns == nil {
		if err := c.head(); err != nil {
			return Row{}, err
		}
	}
	line, err := c.csv.Read()
	if err != nil {
		return Row{}, err
	}
	n, _ := c.csv.FieldPos(0)
	amount, err := money.ParseGHS(strings.TrimSpace(line[c.columns[1]]))
	if err != nil {
		return Row{}, fmt.Errorf("line %d: the amount is %w", n, err)
	}
	return Row{
		Reference: strings.TrimSpace(line[c.columns[0]]), Amount: amount, Status: strings.TrimSpace(line[c.columns[2]]),
	}, nil
}

func (c *csvRows) head() error {
	line, err := c.csv.Read()
	if errors.Is(err, io.EOF) {
		return errors.New("the statement is empty; its first line names the columns")
	}
	if err != nil {
		return err
	}
	c.columns = nil
	for _, wanted := range []string{"reference", "amount", "status"} {
		found := -1
		for i, name := range line {
			// A byte order mark may stand before the first name.
			if strings.EqualFold(strings.TrimSpace(strings.TrimPrefix(name, "\ufeff")), wanted) {
				found = i
			}
		}
		if found < 0 {
			c.columns = nil
			return fmt.Errorf("the first line names no column %q", wanted)
		}
		c.columns = append(c.columns, found)
	}
	return nil
}
