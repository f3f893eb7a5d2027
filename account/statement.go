package account

import (
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/document"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/ledger"
	"github.com/seed-7082ffec/payments/internal/money"
	"github.com/seed-7082ffec/payments/internal/spreadsheet"
	"github.com/seed-7082ffec/payments/storage"
)

// Statement reports the changes of a merchant's available balance in a period, in GHS. Opening
// plus Credits less Debits is Closing, exactly. The figures come from the ledger.
// [Statement.CSV], [Statement.PDF] and, for the same period, [Service.ListEntries] give the
// entries themselves.
type Statement struct {
	Object string `json:"object"` // always "balance_statement"
	// From is the start of the period. Until is its end, and not part of it. Each is nil where
	// the period is open.
	From     *api.Time `json:"from"`
	Until    *api.Time `json:"until"`
	Opening  api.GHS   `json:"opening_balance"`
	Credits  api.GHS   `json:"credits"` // money in
	Debits   api.GHS   `json:"debits"`  // money out, as a positive amount
	Closing  api.GHS   `json:"closing_balance"`
	Entries  int64     `json:"entries"` // the number of entries
	Currency string    `json:"currency"`
	Livemode bool      `json:"livemode"`

	service  *Service
	merchant *Merchant
	account  string
	span     span
	opening  int64
	closing  int64
	takenAt  time.Time
}

// Statement returns the statement of a period of the caller's available balance.
//
// An entry belongs to the period that contains its time. Entries are in the order of their times,
// except that the clocks of processes sharing a store may differ by up to a minute. The service
// cuts between two entries, at the same place for the period that ends there and the one that
// begins. So the closing balance of one statement is the opening balance of the next. A statement
// never changes once its period has been over for a minute.
func (s *Service) Statement(ctx context.Context, caller api.Caller, period api.Times) (*Statement, error) {
	st := &Statement{
		Object: "balance_statement", From: api.AtOrNil(period.From), Until: api.AtOrNil(period.Until),
		Currency: api.Currency, Livemode: caller.Live,
		service: s, account: ledger.Available(caller.Merchant, caller.Live).Name,
	}
	err := s.engine.View(ctx, caller, func(tx *engine.ReadTx) error {
		var err error
		if st.merchant, err = getMerchant(tx, caller.Merchant); err != nil {
			return err
		}
		st.takenAt = tx.Now
		book := entryReader{tx, st.account}
		if st.span, err = book.span(period); err != nil {
			return err
		}
		if st.opening, err = book.balanceAfter(st.span.first - 1); err != nil {
			return err
		}
		st.closing, err = book.balanceAfter(st.span.end - 1)
		return err
	})
	if err != nil {
		return nil, err
	}
	var in, out int64
	err = s.entriesOf(ctx, st.account, st.span, func(e *storage.Entry) error {
		if e.Amount > 0 {
			in += e.Amount
		} else {
			out -= e.Amount
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if st.opening+in-out != st.closing {
		return nil, fmt.Errorf("account: the ledger of %s does not add up; run Verify", st.account)
	}
	st.Opening, st.Credits, st.Debits, st.Closing = api.FromPesewas(st.opening), api.FromPesewas(in), api.FromPesewas(out), api.FromPesewas(st.closing)
	st.Entries = st.span.end - st.span.first
	return st, nil
}

// balanceAfter returns the balance after the entry with that number, in pesewas.
func (b entryReader) balanceAfter(number int64) (int64, error) {
	entries, err := b.read(span{number, number + 1})
	if number < 1 || err != nil {
		return 0, err
	}
	if len(entries) != 1 {
		return 0, fmt.Errorf("account: entry %d of %s is missing", number, b.account)
	}
	return entries[0].Balance, nil
}

// statementColumns head the CSV. Amounts are in GHS.
var statementColumns = []string{"created_at", "id", "type", "source", "amount", "balance", "currency"}

// CSV writes the statement as a table, the oldest entry first. It has a row with the type
// opening_balance, one row for each entry, and one with the type closing_balance. CSV reads a
// part of the ledger at a time, so it takes little memory. It puts an apostrophe before text that
// a spreadsheet would take for a formula.
func (st *Statement) CSV(ctx context.Context, w io.Writer) error {
	c := csv.NewWriter(w)
	edge := func(at *api.Time, kind string, balance int64) []string {
		return []string{spreadsheet.Time(at), "", kind, "", "", spreadsheet.GHS(balance), api.Currency}
	}
	// The writer keeps its first error, and Flush and Error report it at the end.
	_ = c.Write(statementColumns)
	_ = c.Write(edge(st.From, "opening_balance", st.opening))
	err := st.service.entriesOf(ctx, st.account, st.span, func(e *storage.Entry) error {
		at := api.At(e.At)
		return c.Write([]string{
			spreadsheet.Time(&at), e.Posting, e.Type, spreadsheet.Text(&e.Ref),
			spreadsheet.GHS(e.Amount), spreadsheet.GHS(e.Balance), api.Currency,
		})
	})
	if err != nil {
		return fmt.Errorf("account: write statement: %w", err)
	}
	_ = c.Write(edge(st.Until, "closing_balance", st.closing))
	c.Flush()
	if err := c.Error(); err != nil {
		return fmt.Errorf("account: write statement: %w", err)
	}
	return nil
}

// maxStatementPDF is the largest number of entries in a PDF: some 400 pages, which are built in
// memory.
const maxStatementPDF = 20_000

// PDF returns the statement as a document of A4 pages. A second call makes the same bytes.
//
// Refusals: parameter_invalid (created) for more than 20,000 entries. Use a shorter period or CSV
// instead.
func (st *Statement) PDF(ctx context.Context) ([]byte, error) {
	d, err := st.layOut(ctx)
	if err != nil {
		return nil, err
	}
	return d.Bytes()
}

// maxIDLength is longer than any id of this library.
const maxIDLength = 32

// layOut builds the pages of the document.
func (st *Statement) layOut(ctx context.Context) (*document.Document, error) {
	if st.Entries > maxStatementPDF {
		return nil, api.Invalid("created", "The period has %d entries, and a PDF holds %d. Take a shorter period, or the CSV.", st.Entries, maxStatementPDF)
	}
	d, err := document.New(document.Info{
		Title: "Statement", Author: st.merchant.Name, At: st.takenAt, Foot: "Statement · " + st.period(),
		Test: !st.Livemode,
	})
	if err != nil {
		return nil, err
	}
	const (
		typeAt, sourceAt = document.Left + 95, document.Left + 193
		amountEnd        = document.Right - 90
		balanceEnd       = document.Right
	)
	d.Paragraph(document.Left, 300, document.Text{Size: 15, Bold: true, Text: st.merchant.Name})
	for _, text := range []string{st.merchant.Address, st.merchant.Phone, st.merchant.Email} {
		if text != "" {
			d.Paragraph(document.Left, 300, document.Text{Size: 9, Grey: true, Text: text})
		}
	}
	d.Space(12)
	d.Line(document.Text{X: document.Left, Size: 18, Bold: true, Text: "Statement"})
	d.Line(document.Text{X: document.Left, Size: 10, Text: st.period()})
	d.Space(8)
	for _, row := range []struct {
		name   string
		amount api.GHS
	}{
		{"Opening balance", st.Opening},
		{"In", st.Credits},
		{"Out", api.GHS{Decimal: st.Debits.Neg()}},
		{"Closing balance", st.Closing},
	} {
		d.Put(document.Text{X: document.Left, Size: 10, Text: row.name})
		d.Line(document.Text{X: document.Left + 200, Size: 10, Right: true, Text: money.Text(row.amount.Shift(2).IntPart())})
	}
	d.Space(14)
	head := func() {
		for _, c := range []document.Text{
			{X: document.Left, Text: "Time (UTC)"},
			{X: typeAt, Text: "Type"},
			{X: sourceAt, Text: "Source"},
			{X: amountEnd, Right: true, Text: "Amount (GHS)"},
			{X: balanceEnd, Right: true, Text: "Balance (GHS)"},
		} {
			c.Size, c.Bold, c.Grey = 8, true, true
			d.Put(c)
		}
		d.Space(14)
		d.Rule()
		d.Space(5)
	}
	edge := func(name string, balance int64) {
		d.Room(12)
		d.Put(document.Text{X: typeAt, Size: 8, Bold: true, Text: name})
		d.Line(document.Text{X: balanceEnd, Size: 8, Bold: true, Right: true, Text: money.Text(balance)})
	}
	d.Room(40) // keeps the table head from standing alone at the foot of a page
	head()
	d.Head = head
	edge("Opening balance", st.opening)
	err = st.service.entriesOf(ctx, st.account, st.span, func(e *storage.Entry) error {
		d.Room(12)
		d.Put(document.Text{X: document.Left, Size: 8, Text: e.At.UTC().Format("2006-01-02 15:04:05")})
		d.Put(document.Text{X: typeAt, Size: 8, Text: strings.ReplaceAll(e.Type, "_", " ")})
		source := document.Text{X: sourceAt, Size: 8, Grey: true, Text: e.Ref}
		const room = amountEnd - 65 - sourceAt
		// An id of wide letters gets a smaller size, because a shortened id is of no use.
		for len(e.Ref) <= maxIDLength && source.Size > 5 && d.Fit(source, room) != source.Text {
			source.Size -= 0.5
		}
		source.Text = d.Fit(source, room)
		d.Put(source)
		d.Put(document.Text{X: amountEnd, Size: 8, Right: true, Text: money.Text(e.Amount)})
		d.Line(document.Text{X: balanceEnd, Size: 8, Right: true, Text: money.Text(e.Balance)})
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("account: lay statement out: %w", err)
	}
	edge("Closing balance", st.closing)
	return d, nil
}

// period describes the period in words.
func (st *Statement) period() string {
	const layout = "2 January 2006 15:04:05 UTC"
	switch {
	case st.From != nil && st.Until != nil:
		return st.From.UTC().Format(layout) + " to " + st.Until.UTC().Format(layout)
	case st.From != nil:
		return "from " + st.From.UTC().Format(layout)
	case st.Until != nil:
		return "up to " + st.Until.UTC().Format(layout)
	}
	return "all entries"
}
