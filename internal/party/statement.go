package party

import (
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/document"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/ledger"
	"github.com/seed-7082ffec/payments/internal/money"
	"github.com/seed-7082ffec/payments/internal/phone"
	"github.com/seed-7082ffec/payments/internal/spreadsheet"
	"github.com/seed-7082ffec/payments/storage"
)

// accountOf returns the ledger account of the statement.
func accountOf(st *account.Statement) string { return ledger.Available(st.Merchant, st.Livemode).Name }

// spanOf returns the numbers of the statement's entries.
func spanOf(st *account.Statement) span { return span{st.First, st.First + st.Entries} }

func (s *Service) Statement(ctx context.Context, caller api.Caller, period api.Times) (*account.Statement, error) {
	st := &account.Statement{
		Object: "balance_statement", From: api.AtOrNil(period.From), Until: api.AtOrNil(period.Until),
		Currency: api.Currency, Livemode: caller.Live, Merchant: caller.Merchant,
	}
	var of span
	var opening, closing int64
	err := s.engine.View(ctx, caller, func(tx *engine.ReadTx) error {
		_, err := getMerchant(tx, caller.Merchant)
		if err != nil {
			return err
		}
		st.TakenAt = api.At(tx.Now)
		reader := entryReader{tx, accountOf(st)}
		if of, err = reader.span(period); err != nil {
			return err
		}
		if opening, err = reader.balanceAfter(of.first - 1); err != nil {
			return err
		}
		closing, err = reader.balanceAfter(of.end - 1)
		return err
	})
	if err != nil {
		return nil, err
	}
	var in, out int64
	err = s.entriesOf(ctx, accountOf(st), of, func(e *storage.Entry) error {
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
	if opening+in-out != closing {
		return nil, fmt.Errorf("account: the ledger of %s does not add up; run Verify", accountOf(st))
	}
	st.Opening, st.Credits, st.Debits, st.Closing = api.FromPesewas(opening), api.FromPesewas(in), api.FromPesewas(out), api.FromPesewas(closing)
	st.First, st.Entries = of.first, of.end-of.first
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

func (s *Service) StatementCSV(ctx context.Context, caller api.Caller, st *account.Statement, w io.Writer) error {
	if err := checkStatement(caller, st); err != nil {
		return err
	}
	c := csv.NewWriter(w)
	edge := func(at *api.Time, kind string, balance int64) []string {
		return []string{spreadsheet.Time(at), "", kind, "", "", spreadsheet.GHS(balance), api.Currency}
	}
	// The writer keeps its first error, and Flush and Error report it at the end.
	_ = c.Write(statementColumns)
	_ = c.Write(edge(st.From, "opening_balance", pesewas(st.Opening)))
	err := s.entriesOf(ctx, accountOf(st), spanOf(st), func(e *storage.Entry) error {
		at := api.At(e.At)
		return c.Write([]string{
			spreadsheet.Time(&at), e.Posting, e.Type, spreadsheet.Text(&e.Ref),
			spreadsheet.GHS(e.Amount), spreadsheet.GHS(e.Balance), api.Currency,
		})
	})
	if err != nil {
		return fmt.Errorf("account: write statement: %w", err)
	}
	_ = c.Write(edge(st.Until, "closing_balance", pesewas(st.Closing)))
	c.Flush()
	if err := c.Error(); err != nil {
		return fmt.Errorf("account: write statement: %w", err)
	}
	return nil
}

// maxStatementPDF is the largest number of entries in a PDF: some 470 pages, which are built in
// memory.
const maxStatementPDF = 20_000

func (s *Service) StatementPDF(ctx context.Context, caller api.Caller, st *account.Statement) ([]byte, error) {
	d, err := s.LayOutStatement(ctx, caller, st)
	if err != nil {
		return nil, err
	}
	return d.Bytes()
}

// maxIDLength is longer than any id of this library.
const maxIDLength = 32

// checkStatement refuses a statement that is not the caller's.
func checkStatement(caller api.Caller, st *account.Statement) error {
	if st.Merchant != caller.Merchant || st.Livemode != caller.Live {
		return api.NoSuch("statement")
	}
	return nil
}

// LayOutStatement builds the pages of the document.
func (s *Service) LayOutStatement(ctx context.Context, caller api.Caller, st *account.Statement) (*document.Document, error) {
	if err := checkStatement(caller, st); err != nil {
		return nil, err
	}
	if st.Entries > maxStatementPDF {
		return nil, api.Invalid("created", "The period has %d entries, and a PDF holds %d. Take a shorter period, or the CSV.", st.Entries, maxStatementPDF)
	}
	m, err := s.GetMerchant(ctx, caller, caller.Merchant)
	if err != nil {
		return nil, err
	}
	d, err := document.New(document.Info{
		Title: "Statement", Author: m.Name, At: st.TakenAt.Time, Foot: m.Name + " · Statement",
		Test: !st.Livemode,
	})
	if err != nil {
		return nil, err
	}
	d.Letterhead(document.Letterhead{
		Merchant: m.Name, Name: "Statement",
		Contacts: []string{m.Address, phone.Spaced(m.Phone), m.Email},
	})
	d.Headline(document.Headline{Label: "Closing balance", Figures: money.Figures(pesewas(st.Closing))})
	d.Facts([]document.Fact{{Name: "Period", Lines: []string{periodOf(st)}}})
	for _, row := range []struct {
		name   string
		amount int64
		bold   bool
	}{
		{"Opening balance", pesewas(st.Opening), false},
		{"In", pesewas(st.Credits), false},
		{"Out", -pesewas(st.Debits), false},
		{"Closing balance", pesewas(st.Closing), true},
	} {
		d.Put(document.Text{X: document.Left, Size: document.Body, Soft: !row.bold, Bold: row.bold, Text: row.name})
		d.Line(document.Text{X: document.Left + 200, Size: document.Body, Soft: !row.bold, Bold: row.bold, Right: true, Text: money.Figures(row.amount)})
		d.Space(2)
	}
	d.Space(18)
	const (
		typeAt, sourceAt = document.Left + 104, document.Left + 210
		amountEnd        = document.Right - 84
		balanceEnd       = document.Right
		size             = document.Label
		line, padding    = size * document.Leading, 2.5
		drop             = 1.25 // the room below letters is in their line already
	)
	head := func() {
		for _, c := range []document.Text{
			{X: document.Left, Text: "Accra time"},
			{X: typeAt, Text: "Type"},
			{X: sourceAt, Text: "Source"},
			{X: amountEnd, Right: true, Text: document.Cedis},
			{X: balanceEnd, Right: true, Text: "Balance"},
		} {
			c.Size, c.Soft = size, true
			d.Put(c)
		}
		d.Space(line + padding)
		d.Rule()
	}
	// row is the room of a row and the hairline below it.
	row := func(write func()) {
		d.Room(line + 2*padding)
		d.Space(padding + drop)
		write()
		d.Space(line + padding - drop)
		d.Rule()
	}
	edge := func(name string, balance int64) {
		row(func() {
			d.Put(document.Text{X: typeAt, Size: size, Bold: true, Text: name})
			d.Put(document.Text{X: balanceEnd, Size: size, Bold: true, Right: true, Text: money.Figures(balance)})
		})
	}
	d.Room(40) // keeps the table head from standing alone at the foot of a page
	head()
	d.Head = head
	edge("Opening balance", pesewas(st.Opening))
	err = s.entriesOf(ctx, accountOf(st), spanOf(st), func(e *storage.Entry) error {
		source := document.Text{X: sourceAt, Size: size, Soft: true, Text: e.Ref}
		const room = amountEnd - 62 - sourceAt
		// An id of wide letters gets a smaller size, because a shortened id is of no use.
		for len(e.Ref) <= maxIDLength && source.Size > 5 && d.Fit(source, room) != source.Text {
			source.Size -= 0.5
		}
		source.Text = d.Fit(source, room)
		row(func() {
			d.Put(document.Text{X: document.Left, Size: size, Text: e.At.UTC().Format(entryTime)})
			d.Put(document.Text{X: typeAt, Size: size, Text: typeInWords(e.Type)})
			d.Put(source)
			d.Put(document.Text{X: amountEnd, Size: size, Right: true, Text: money.Figures(e.Amount)})
			d.Put(document.Text{X: balanceEnd, Size: size, Soft: true, Right: true, Text: money.Figures(e.Balance)})
		})
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("account: lay statement out: %w", err)
	}
	edge("Closing balance", pesewas(st.Closing))
	return d, nil
}

// entryTime is how the PDF writes the time of an entry. Accra's clock is UTC.
const entryTime = "2 Jan 2006, 15:04:05"

// typeInWords writes a type of entries for people: Payout reversal.
func typeInWords(kind string) string {
	words := strings.ReplaceAll(kind, "_", " ")
	if words == "" {
		return ""
	}
	return strings.ToUpper(words[:1]) + words[1:]
}

func pesewas(amount api.GHS) int64 { return amount.Shift(2).IntPart() }

// periodOf describes the period in words. A whole day has no time.
func periodOf(st *account.Statement) string {
	from := func() string { return inWords(st.From.UTC(), st.From.UTC()) }
	until := func() string { return inWords(st.Until.UTC(), st.Until.UTC().AddDate(0, 0, -1)) }
	switch {
	case st.From != nil && st.Until != nil:
		return from() + " to " + until()
	case st.From != nil:
		return "From " + from()
	case st.Until != nil:
		return "Up to " + until()
	}
	return "All entries"
}

// inWords formats at as a date and time. If at is midnight, it formats day instead, without a time.
func inWords(at, day time.Time) string {
	if at.Equal(at.Truncate(24 * time.Hour)) {
		return day.Format("2 January 2006")
	}
	return at.Format("2 January 2006, 15:04:05")
}
