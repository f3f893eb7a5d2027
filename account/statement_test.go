package account_test

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/shopspring/decimal"
	"pgregory.net/rapid"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/party"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/internal/test/testkit"
	"github.com/seed-7082ffec/payments/storage"
)

// row is an entry in the form that every format of a statement can give.
type row struct{ At, Type, Source, Amount, Balance string }

// listed returns the entries of a period from the API, the oldest first.
func (b *bench) listed(t testing.TB, caller api.Caller, p account.ListEntriesParams) []row {
	t.Helper()
	var rows []row
	for p.Limit = 7; ; {
		list := must.Get(b.ListEntries(t.Context(), caller, p))(t)
		for _, e := range list.Data {
			rows = append(rows, row{e.CreatedAt.UTC().Format(time.RFC3339), e.Type, e.Source, e.Amount.StringFixed(2), e.Balance.StringFixed(2)})
		}
		if !list.HasMore {
			slices.Reverse(rows)
			return rows
		}
		p.StartingAfter = list.Data[len(list.Data)-1].ID
	}
}

// written returns the entries in the CSV of a statement, after checking its first and last rows.
func (b *bench) written(t testing.TB, caller api.Caller, st *account.Statement) []row {
	t.Helper()
	var text bytes.Buffer
	must.Do(t, b.StatementCSV(t.Context(), caller, st, &text))
	table, err := csv.NewReader(&text).ReadAll()
	must.True(t, err == nil && len(table) >= 3, "%d rows, %v", len(table), err)
	first, last := table[1], table[len(table)-1]
	if first[2] != "opening_balance" || first[5] != st.Opening.StringFixed(2) || last[2] != "closing_balance" || last[5] != st.Closing.StringFixed(2) {
		t.Errorf("edges %v and %v of %+v", first, last, st)
	}
	var rows []row
	for _, r := range table[2 : len(table)-1] {
		rows = append(rows, row{r[0], r[2], strings.TrimPrefix(r[3], "'"), r[4], r[5]})
	}
	return rows
}

// textsOf returns the texts on the pages of the statement's PDF.
func (b *bench) textsOf(t testing.TB, caller api.Caller, st *account.Statement) (pages [][]string) {
	t.Helper()
	laid := must.Get(b.LayOutStatement(t.Context(), caller, st))(t)
	for _, page := range laid.Pages() {
		var texts []string
		for _, placed := range page {
			texts = append(texts, placed.Text)
		}
		pages = append(pages, texts)
	}
	return pages
}

// drawn returns the entries in the PDF of a statement.
func (b *bench) drawn(t testing.TB, caller api.Caller, st *account.Statement) []row {
	t.Helper()
	pages := b.textsOf(t, caller, st)
	plain := strings.NewReplacer(",", "", "−", "-").Replace
	var rows []row
	for _, texts := range pages {
		for i, text := range texts {
			at, err := time.Parse("2 Jan 2006, 15:04:05", text)
			if err != nil {
				continue
			}
			rows = append(rows, row{at.Format(time.RFC3339), strings.ReplaceAll(strings.ToLower(texts[i+1]), " ", "_"), texts[i+2], plain(texts[i+3]), plain(texts[i+4])})
		}
	}
	all := strings.Join(slices.Concat(pages...), "\n")
	for name, times := range map[string]int{"Opening balance": 2, "Closing balance": 3} { // the last is the headline, too
		expect.True(t, strings.Count(all, name) == times, "%s stands %d times", name, strings.Count(all, name))
	}
	return rows
}

// For random movements and periods, a statement adds up, adjoins the next one and agrees with the
// ledger. Its CSV, its PDF and the API give the same entries.
func TestStatementsAgree(t *testing.T) {
	begin := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	rapid.Check(t, func(r *rapid.T) {
		b := newBench(t, nil)
		caller := api.Caller{Merchant: b.merchant(t), Live: rapid.Bool().Draw(r, "live")}
		now, balance := begin, int64(0)
		var model []row
		sums := map[int64]int64{} // of the entries up to each second
		for i := range rapid.IntRange(0, 60).Draw(r, "entries") {
			now = now.Add(time.Duration(rapid.SampledFrom([]int{0, 0, 1, 20, 90}).Draw(r, "later")) * time.Second)
			// Another process's clock may be behind.
			at := now.Add(-time.Duration(rapid.SampledFrom([]int{0, 0, 0, 1, 59}).Draw(r, "behind")) * time.Second)
			b.set(at)
			amount := rapid.Int64Range(1, 5_000_000).Draw(r, "pesewas")
			if balance > 0 && rapid.Bool().Draw(r, "out") {
				amount = -min(amount, balance)
			}
			a := must.Get(b.Adjust(t.Context(), caller, account.AdjustParams{
				Amount: decimal.New(amount, -2), Reason: "test", Actor: fmt.Sprint("tester ", i),
			}))(r)
			balance += amount
			sums[at.Unix()] += amount
			model = append(model, row{at.Format(time.RFC3339), "adjustment", a.ID, decimal.New(amount, -2).StringFixed(2), decimal.New(balance, -2).StringFixed(2)})
		}
		last := int64(0)
		var joined []row
		cuts := rapid.SliceOfN(rapid.IntRange(-60, 2000), 0, 4).Draw(r, "cuts")
		slices.Sort(cuts)
		var from time.Time
		for i := range len(cuts) + 1 {
			var until time.Time
			if i < len(cuts) {
				until = begin.Add(time.Duration(cuts[i]) * time.Second)
			}
			period := api.Times{From: from, Until: until}
			st := must.Get(b.Statement(t.Context(), caller, period))(r)
			pesewas := func(a api.GHS) int64 { return a.Shift(2).IntPart() }
			expect.True(r, pesewas(st.Opening) == last, "opens with %s, after %d", st.Opening, last)
			expect.True(r, st.Opening.Add(st.Credits.Decimal).Sub(st.Debits.Decimal).Equal(st.Closing.Decimal), "does not add up: %+v", st)
			last = pesewas(st.Closing)
			rows := b.listed(t, caller, account.ListEntriesParams{Created: period})
			expect.True(r, int64(len(rows)) == st.Entries, "%d entries, %d are listed", st.Entries, len(rows))
			sum := st.Opening.Decimal
			for _, e := range rows {
				sum = sum.Add(decimal.RequireFromString(e.Amount))
				expect.True(r, sum.StringFixed(2) == e.Balance, "after %+v there are %s", e, sum)
			}
			expect.True(r, sum.Equal(st.Closing.Decimal), "closes with %s, the entries with %s", st.Closing, sum)
			expect.Same(r, b.written(t, caller, st), rows, "the CSV")
			expect.Same(r, b.drawn(t, caller, st), rows, "the PDF")
			joined = append(joined, rows...)
			from = until
		}
		expect.Same(r, joined, model, "all periods together")
		expect.True(r, last == balance, "the last closes with %d, the balance is %d", last, balance)
		if t.Failed() {
			r.FailNow()
		}
	})
}

// onEachStore runs a test on a service over each store.
func onEachStore(t *testing.T, test func(t *testing.T, b *bench)) {
	testkit.OverStores(t, func(t *testing.T, store storage.Store) {
		must.Do(t, store.Define(t.Context(), append(engine.Kinds(), party.Kinds()...)...))
		test(t, newBench(t, func(storage.Store) storage.Store { return store }))
	})
}

// Where clocks agree, the period that contains an entry's time contains the entry. Later bookings
// never move a cut.
func TestStatementPeriods(t *testing.T) { onEachStore(t, testPeriods) }

func testPeriods(t *testing.T, b *bench) {
	caller := api.Caller{Merchant: b.merchant(t)}
	begin := *b.now.Load()
	book := func(seconds int) {
		t.Helper()
		b.set(begin.Add(time.Duration(seconds) * time.Second))
		must.Get(b.Adjust(t.Context(), caller, account.AdjustParams{Amount: decimal.NewFromInt(1), Reason: "r", Actor: "a"}))(t)
	}
	count := func(from, until int) int64 {
		t.Helper()
		st := must.Get(b.Statement(t.Context(), caller, api.Times{From: begin.Add(time.Duration(from) * time.Second), Until: begin.Add(time.Duration(until) * time.Second)}))(t)
		return st.Entries
	}
	expect.Equal(t, count(0, 10), 0, "nothing was booked")
	for i := range 500 {
		book(i * 10)
	}
	for _, c := range []struct {
		from, until int
		want        int64
	}{
		{0, 10, 1},
		{0, 11, 2},
		{1, 10, 0},
		{-100, 0, 0},
		{-100, 5000, 500},
		{4990, 5000, 1},
		{4991, 9999, 0},
		{100, 100, 0},
		{200, 100, 0},
		{1000, 3000, 200},
	} {
		expect.Equal(t, count(c.from, c.until), c.want, "entries from %d to %d", c.from, c.until)
	}
	for i := range 700 {
		book(5000 + i)
	}
	expect.Equal(t, count(1000, 3000), 200, "entries after more was booked")
}

func TestEntryFilters(t *testing.T) { onEachStore(t, testEntryFilters) }

func testEntryFilters(t *testing.T, b *bench) {
	caller := api.Caller{Merchant: b.merchant(t)}
	begin := *b.now.Load()
	var ids []string
	for i := range 30 {
		b.advance(time.Second)
		if i%10 == 3 {
			a := must.Get(b.Adjust(t.Context(), caller, account.AdjustParams{Amount: decimal.NewFromInt(1), Reason: "r", Actor: "a"}))(t)
			ids = append(ids, a.ID)
			continue
		}
		must.Do(t, b.Deposit(t.Context(), api.Caller{}, account.DepositParams{To: caller.Merchant, Amount: decimal.NewFromInt(1), Source: "bank", Ref: fmt.Sprint("r-", i)}))
	}
	list := func(p account.ListEntriesParams) *api.List[account.Entry] {
		t.Helper()
		return must.Get(b.ListEntries(t.Context(), caller, p))(t)
	}
	newest := list(account.ListEntriesParams{Type: "adjustment", Page: api.Page{Limit: 2}})
	must.True(t, len(newest.Data) == 2, "newest adjustments: %+v", newest)
	expect.Equal(t, newest.Data[0].Source, ids[2], "newest adjustments: source of the first")
	expect.Equal(t, newest.Data[1].Source, ids[1], "newest adjustments: source of the second")
	expect.Equal(t, newest.HasMore, true, "newest adjustments: HasMore")
	oldest := list(account.ListEntriesParams{Type: "adjustment", Page: api.Page{StartingAfter: newest.Data[1].ID}})
	must.True(t, len(oldest.Data) == 1, "the page after: %+v", oldest)
	expect.Equal(t, oldest.Data[0].Source, ids[0], "the page after: source of the first")
	expect.Equal(t, oldest.HasMore, false, "the page after: HasMore")
	back := list(account.ListEntriesParams{Type: "adjustment", Page: api.Page{EndingBefore: oldest.Data[0].ID, Limit: 1}})
	must.True(t, len(back.Data) == 1, "the page before: %+v", back)
	expect.Equal(t, back.Data[0].Source, ids[1], "the page before: source of the first")
	expect.Equal(t, back.HasMore, true, "the page before: HasMore")
	one := list(account.ListEntriesParams{Source: "r-20"})
	must.True(t, len(one.Data) == 1, "one source: %+v", one)
	expect.Equal(t, one.Data[0].Type, "deposit", "one source: type of the first")
	expect.Equal(t, one.HasMore, false, "one source: HasMore")
	none := list(account.ListEntriesParams{Type: "payment"})
	expect.Equal(t, len(none.Data), 0, "none: number")
	expect.Equal(t, none.HasMore, false, "none: HasMore")
	within := list(account.ListEntriesParams{Created: api.Times{From: begin.Add(11 * time.Second), Until: begin.Add(21 * time.Second)}, Type: "adjustment"})
	must.True(t, len(within.Data) == 1, "in a period: %+v", within)
	expect.Equal(t, within.Data[0].Source, ids[1], "in a period: source of the first")
	testkit.WantCode(t, "an unknown cursor", testkit.Err(b.ListEntries(t.Context(), caller, account.ListEntriesParams{Page: api.Page{StartingAfter: "txn_1"}})), api.ResourceMissing)
}

func TestAdjust(t *testing.T) { onEachStore(t, testAdjust) }

func testAdjust(t *testing.T, b *bench) {
	caller := api.Caller{Merchant: b.merchant(t), Live: true}
	ghs := decimal.RequireFromString
	fine := account.AdjustParams{Amount: ghs("100.05"), Reason: "Top-up by bank transfer", Actor: "esi@operator.example", Reference: "ticket-1"}
	var replayed bool
	once := caller
	once.IdempotencyKey, once.Replayed = "k", &replayed
	made := must.Get(b.Adjust(t.Context(), once, fine))(t)
	again, err := b.Adjust(t.Context(), once, fine)
	if diff := cmp.Diff(made, again); diff != "" || err != nil || !replayed {
		t.Errorf("repeated: %v %s", err, diff)
	}
	for name, c := range map[string]struct {
		change func(*account.AdjustParams)
		code   api.Code
	}{
		"nothing":        {func(p *account.AdjustParams) { p.Amount = decimal.Zero }, api.ParameterInvalid},
		"half a pesewa":  {func(p *account.AdjustParams) { p.Amount = ghs("0.005") }, api.ParameterInvalid},
		"too much":       {func(p *account.AdjustParams) { p.Amount = ghs("-1000000") }, api.ParameterInvalid},
		"no reason":      {func(p *account.AdjustParams) { p.Reason = "" }, api.ParameterMissing},
		"no actor":       {func(p *account.AdjustParams) { p.Actor = "" }, api.ParameterMissing},
		"a long reason":  {func(p *account.AdjustParams) { p.Reason = strings.Repeat("r", 501) }, api.ParameterInvalid},
		"a long ref":     {func(p *account.AdjustParams) { p.Reference = strings.Repeat("r", 101) }, api.ParameterInvalid},
		"below zero":     {func(p *account.AdjustParams) { p.Amount = ghs("-100.06") }, api.InsufficientBalance},
		"a bell in name": {func(p *account.AdjustParams) { p.Actor = "\a" }, api.ParameterInvalid},
	} {
		p := fine
		c.change(&p)
		testkit.WantCode(t, name, testkit.Err(b.Adjust(t.Context(), caller, p)), c.code)
	}
	testkit.WantCode(t, "no merchant", testkit.Err(b.Adjust(t.Context(), api.Caller{Merchant: "mer_1"}, fine)), api.ResourceMissing)

	b.advance(time.Hour)
	taken := must.Get(b.Adjust(t.Context(), caller, account.AdjustParams{Amount: ghs("-100.05"), Reason: "Booked twice", Actor: "kojo"}))(t)
	list := must.Get(b.ListAdjustments(t.Context(), caller, api.Page{}))(t)
	expect.Same(t, list.Data, []account.Adjustment{*taken, *made}, "the list")
	other, err := b.ListAdjustments(t.Context(), api.Caller{Merchant: caller.Merchant}, api.Page{})
	must.Do(t, err)
	expect.Equal(t, len(other.Data), 0, "in the other mode: number")
	entries, err := b.ListEntries(t.Context(), caller, account.ListEntriesParams{})
	if err != nil || len(entries.Data) != 2 || entries.Data[0].Source != taken.ID || entries.Data[0].Type != "adjustment" || entries.Data[0].Amount.String() != "-100.05" {
		t.Errorf("entries %+v, %v", entries, err)
	}
	v, err := b.Verify(t.Context())
	must.Do(t, err)
	expect.Equal(t, len(v.Problems), 0, "the ledger: number of problems")
}

// The document has pages, each with the table head. It shortens a source that is too long.
func TestStatementPDF(t *testing.T) {
	b := newBench(t, nil)
	m := must.Get(b.CreateMerchant(t.Context(), api.Caller{}, account.CreateMerchantParams{Name: "Ɛdɔm Juice Bar", Address: "Ring Road East\nAccra", Email: "hello@adom.example"}))(t)
	caller := api.Caller{Merchant: m.ID}
	for range 150 {
		must.Do(t, b.Deposit(t.Context(), api.Caller{}, account.DepositParams{To: m.ID, Amount: decimal.RequireFromString("1234.56"), Source: "bank", Ref: strings.Repeat("=W", 50)}))
	}
	st := must.Get(b.Statement(t.Context(), caller, api.Times{From: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}))(t)
	pages := b.textsOf(t, caller, st)
	must.True(t, len(pages) >= 3, "%d pages", len(pages))
	for i, texts := range pages {
		all := strings.Join(texts, "\n")
		expect.True(t, strings.Contains(all, "TEST MODE"), "page %d: %.300s", i+1, all)
		expect.True(t, strings.Contains(all, "Balance"), "page %d: %.300s", i+1, all)
		expect.True(t, !strings.Contains(all, strings.Repeat("=W", 50)), "page %d: %.300s", i+1, all)
	}
	data := must.Get(b.StatementPDF(t.Context(), caller, st))(t)
	if dir := os.Getenv("PAYMENTS_SCREENSHOTS"); dir != "" {
		must.Do(t, os.WriteFile(filepath.Join(dir, "statement.pdf"), data, 0o644))
	}
	again, err := b.StatementPDF(t.Context(), caller, st)
	must.Do(t, err)
	expect.True(t, bytes.Equal(data, again), "made again, the bytes differ (%v)", err)
	if pdftotext, err := exec.LookPath("pdftotext"); err == nil {
		command := exec.Command(pdftotext, "-layout", "-", "-")
		command.Stdin = bytes.NewReader(data)
		out := must.Get(command.Output())(t)
		for _, want := range []string{"Ɛdɔm Juice Bar", "185,184.00", "TEST MODE", "page 3 of"} {
			expect.True(t, strings.Contains(string(out), want), "the document does not say %s", want)
		}
	}
}

// failing writes this many bytes, and then fails.
type failing struct{ left int }

var errFull = errors.New("the disk is full")

func (f *failing) Write(p []byte) (int, error) {
	if f.left -= len(p); f.left < 0 {
		return 0, errFull
	}
	return len(p), nil
}

func TestStatementFailures(t *testing.T) {
	b := newBench(t, nil)
	caller := api.Caller{Merchant: b.merchant(t)}
	for range 300 {
		must.Do(t, b.Deposit(t.Context(), api.Caller{}, account.DepositParams{To: caller.Merchant, Amount: decimal.NewFromInt(1), Source: "bank"}))
	}
	st := must.Get(b.Statement(t.Context(), caller, api.Times{}))(t)
	for _, left := range []int{0, 5000} {
		expect.ErrorIs(t, b.StatementCSV(t.Context(), caller, st, &failing{left}), errFull, "after %d bytes", left)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	expect.ErrorIs(t, b.StatementCSV(gone, caller, st, &failing{1 << 20}), context.Canceled, "the caller has gone")
	for name, other := range map[string]api.Caller{"another merchant": {Merchant: b.merchant(t)}, "the other mode": {Merchant: caller.Merchant, Live: true}} {
		testkit.WantCode(t, "the CSV for "+name, b.StatementCSV(t.Context(), other, st, io.Discard), api.ResourceMissing)
		testkit.WantCode(t, "the PDF for "+name, testkit.Err(b.StatementPDF(t.Context(), other, st)), api.ResourceMissing)
	}
	testkit.WantCode(t, "of nobody", testkit.Err(b.Statement(t.Context(), api.Caller{Merchant: "mer_1"}, api.Times{})), api.ResourceMissing)
}

// The service makes no statement of a ledger that does not add up.
func TestStatementRefusesDamagedLedger(t *testing.T) {
	store := &damaged{}
	b := newBench(t, func(s storage.Store) storage.Store {
		store.Store = s
		return store
	})
	caller := api.Caller{Merchant: b.merchant(t)}
	for range 5 {
		b.advance(time.Hour)
		must.Do(t, b.Deposit(t.Context(), api.Caller{}, account.DepositParams{To: caller.Merchant, Amount: decimal.NewFromInt(1), Source: "bank"}))
	}
	must.Get(b.Statement(t.Context(), caller, api.Times{}))(t)
	from := api.Times{From: b.now.Load().Add(-90 * time.Minute)} // the last two
	for name, change := range map[string]func([]storage.Entry) []storage.Entry{
		"another amount": func(page []storage.Entry) []storage.Entry {
			for i := range page {
				if page[i].Number == 4 {
					page[i].Amount++
				}
			}
			return page
		},
		"an entry that is gone": func(page []storage.Entry) []storage.Entry {
			return slices.DeleteFunc(page, func(e storage.Entry) bool { return e.Number == 4 })
		},
		"the one before is gone": func(page []storage.Entry) []storage.Entry {
			return slices.DeleteFunc(page, func(e storage.Entry) bool { return e.Number == 3 })
		},
	} {
		store.entries = change
		if st, err := b.Statement(t.Context(), caller, from); err == nil || api.CodeOf(err) != "" {
			t.Errorf("%s: %+v, %v", name, st, err)
		}
	}
}

// The PDF never shortens an id, even one with wide letters.
func TestStatementShowsWholeIDs(t *testing.T) {
	b := newBench(t, nil)
	caller := api.Caller{Merchant: b.merchant(t)}
	const wide = "adj_0V9smGme0mWmWmWmWmWmWm"
	b.engine.NewID = func(prefix string) string {
		if prefix == "adj_" {
			return wide
		}
		return prefix + "1"
	}
	must.Get(b.Adjust(t.Context(), caller, account.AdjustParams{Amount: decimal.NewFromInt(999_999), Reason: "test", Actor: "a"}))(t)
	st := must.Get(b.Statement(t.Context(), caller, api.Times{}))(t)
	rows := b.drawn(t, caller, st)
	must.True(t, len(rows) == 1, "drawn %+v", rows)
	expect.Equal(t, rows[0].Source, wide, "drawn: source of the first")
}
