package disbursement_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/disbursement"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/faultstore"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/payout"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/storage/memory"
	"github.com/seed-7082ffec/payments/storage/sqlite"
)

// open returns a service over a store, and its merchant. A new merchant has GHS 1,000.
func open(t testing.TB, store storage.Store, c payments.Config) (*payments.Service, api.Caller) {
	t.Helper()
	c.Logger = slog.New(slog.DiscardHandler)
	svc := must.Get(payments.New(t.Context(), store, c))(t)
	merchants := must.Get(svc.Accounts.ListMerchants(t.Context(), api.Caller{}, api.Page{}))(t)
	if len(merchants.Data) > 0 {
		return svc, api.Caller{Merchant: merchants.Data[0].ID}
	}
	m := must.Get(svc.Accounts.CreateMerchant(t.Context(), api.Caller{}, account.CreateMerchantParams{Name: "M", Phone: "0301000000"}))(t)
	must.Do(t, svc.Accounts.Deposit(t.Context(), api.Caller{}, account.DepositParams{To: m.ID, Amount: decimal.NewFromInt(1000), Source: "test"}))
	return svc, api.Caller{Merchant: m.ID}
}

// some returns n rows of GHS 1 each, to mobile money.
func some(n int) disbursement.CreateBatchParams {
	var p disbursement.CreateBatchParams
	for i := range n {
		p.Rows = append(p.Rows, row(i))
	}
	return p
}

func row(i int) disbursement.RowParams {
	return disbursement.RowParams{
		CreateParams: disbursement.CreateParams{
			Amount: decimal.NewFromInt(1), Reference: fmt.Sprintf("row-%d", i),
			Destination: payout.DestinationParams{Type: payout.MobileMoney, PhoneNumber: fmt.Sprintf("024%07d", i)},
		},
		IdempotencyKey: fmt.Sprintf("key-%d", i),
	}
}

// all returns the rows of a batch.
func all(t *testing.T, svc *payments.Service, caller api.Caller, batch string) []disbursement.Row {
	t.Helper()
	var list []disbursement.Row
	p := disbursement.ListRowsParams{Page: api.Page{Limit: 100}}
	for {
		page := must.Get(svc.Disbursements.ListRows(t.Context(), caller, batch, p))(t)
		list = append(list, page.Data...)
		if !page.HasMore {
			return list
		}
		p.StartingAfter = page.Data[len(page.Data)-1].ID
	}
}

// once checks that each GHS 1 row of a batch was made exactly once, and that the ledger agrees.
func once(t *testing.T, svc *payments.Service, caller api.Caller, batch string, n int) {
	t.Helper()
	b := must.Get(svc.Disbursements.GetBatch(t.Context(), caller, batch))(t)
	if want := (disbursement.Counts{Total: n, Made: n}); b.Counts != want || b.Status != disbursement.BatchCompleted || b.CompletedAt == nil {
		t.Errorf("the batch is %+v", b)
	}
	made := map[string]bool{}
	for i, r := range all(t, svc, caller, batch) {
		if r.Number != i+1 || r.Status != disbursement.RowMade || r.Disbursement == nil || r.Disbursement.Status != payout.Completed || *r.Disbursement.Reference != fmt.Sprintf("row-%d", i) {
			t.Errorf("row %d: %+v", i, r)
			continue
		}
		made[r.Disbursement.ID] = true
	}
	expect.Equal(t, len(made), n, "%d rows are %d disbursements", n, len(made))
	events := 0
	for e, err := range api.All(t.Context(), caller, event.ListParams{Type: event.DisbursementBatchCompleted}, svc.Events.List) {
		must.Do(t, err)
		if e.Type == event.DisbursementBatchCompleted {
			events++
		}
	}
	expect.Equal(t, events, 1, "the batch was completed %d times", events)
	transfers := 0
	for p := (payout.ListParams{Page: api.Page{Limit: 100}}); ; {
		page := must.Get(svc.Disbursements.List(t.Context(), caller, p))(t)
		transfers += len(page.Data)
		if !page.HasMore {
			break
		}
		p.StartingAfter = page.Data[len(page.Data)-1].ID
	}
	expect.Equal(t, transfers, n, "there are %d disbursements, want %d", transfers, n)
	balance := must.Get(svc.Accounts.Balance(t.Context(), caller))(t)
	if want := decimal.NewFromInt(1000).Sub(decimal.RequireFromString("1.10").Mul(decimal.NewFromInt(int64(n)))); !balance.Available.Equal(want) || !balance.Reserved.IsZero() {
		t.Errorf("the balance is %+v, want %s", balance, want)
	}
	v := must.Get(svc.Accounts.Verify(t.Context()))(t)
	for _, p := range v.Problems {
		t.Error(p)
	}
}

// The process dies in each of its updates, before or after the commit. Each row is still made
// once.
func TestBatchMakesEachRowOnceAcrossCrashes(t *testing.T) {
	const n = 6
	for seed := range uint64(150) {
		dice := rand.New(rand.NewPCG(seed, seed))
		kept, now := memory.New(), time.Now()
		clock := func() time.Time { return now }
		_, caller := open(t, kept, payments.Config{Clock: clock})
		caller.IdempotencyKey = "batch"
		for range 8 {
			store := &faultstore.Mortal{Store: kept}
			svc, _ := open(t, store, payments.Config{Clock: clock})
			store.DieAt(1+dice.IntN(15), dice.IntN(2) == 0)
			if _, err := svc.Disbursements.CreateBatch(t.Context(), caller, some(n)); err != nil && !errors.Is(err, faultstore.ErrDead) {
				t.Fatal(err)
			}
			if dice.IntN(3) == 0 { // a caller creates one row's disbursement alone, meanwhile
				i := dice.IntN(n)
				alone := caller
				alone.IdempotencyKey = row(i).IdempotencyKey
				if _, err := svc.Disbursements.Create(t.Context(), alone, row(i).CreateParams); err != nil && !errors.Is(err, faultstore.ErrDead) {
					t.Fatal(err)
				}
			}
			if err := svc.Drain(t.Context()); err != nil && !errors.Is(err, faultstore.ErrDead) {
				t.Fatal(err)
			}
			now = now.Add(3 * time.Minute) // leases run out
		}
		svc, _ := open(t, kept, payments.Config{Clock: clock})
		batch := must.Get(svc.Disbursements.CreateBatch(t.Context(), caller, some(n)))(t)
		for range 3 {
			must.Do(t, svc.Drain(t.Context()))
			now = now.Add(3 * time.Minute)
		}
		once(t, svc, caller, batch.ID, n)
		must.Do(t, kept.Close())
		must.True(t, !t.Failed(), "seed %d", seed)
	}
}

// telling is a rail that writes a line for every order.
type telling struct{ provider.Simulated }

func (r telling) Submit(ctx context.Context, o provider.Transfer) (provider.Result, error) {
	fmt.Println("submitted", o.ID)
	return r.Simulated.Submit(ctx, o)
}

const killedRows = 400

// TestKilledChild is the process that the next test kills.
func TestKilledChild(t *testing.T) {
	path := os.Getenv("PAYMENTS_KILLED_DB")
	if path == "" {
		t.Skip("it is run by TestBatchSurvivesSIGKILL")
	}
	store := must.Get(sqlite.Open(t.Context(), path, sqlite.Config{}))(t)
	svc, caller := open(t, store, payments.Config{Test: payments.Providers{Rail: telling{}}})
	caller.IdempotencyKey = "batch"
	must.Get(svc.Disbursements.CreateBatch(t.Context(), caller, some(killedRows)))(t)
	svc.Start(t.Context())
	<-t.Context().Done() // until it is killed
}

// The test kills the process of a batch several times. The next process continues, and makes each
// row exactly once.
func TestBatchSurvivesSIGKILL(t *testing.T) {
	path := filepath.Join(t.TempDir(), "killed.db")
	for _, lines := range []int{1, 5, 20} {
		child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestKilledChild$", "-test.v")
		child.Env = append(os.Environ(), "PAYMENTS_KILLED_DB="+path)
		out := must.Get(child.StdoutPipe())(t)
		must.Do(t, child.Start())
		seen := 0
		for scanner := bufio.NewScanner(out); seen < lines && scanner.Scan(); {
			var id string
			if n, _ := fmt.Sscanf(scanner.Text(), "submitted %s", &id); n == 1 {
				seen++
			}
		}
		must.Do(t, child.Process.Kill())
		_ = child.Wait() // the signal has killed it
		must.True(t, seen >= lines, "the process ended after %d orders, before it was killed", seen)
	}
	store := must.Get(sqlite.Open(context.Background(), path, sqlite.Config{}))(t)
	defer store.Close()
	var later atomic.Int64 // all leases run out before this time
	later.Store(int64(10 * time.Minute))
	svc, caller := open(t, store, payments.Config{Clock: func() time.Time { return time.Now().Add(time.Duration(later.Load())) }})
	list := must.Get(svc.Disbursements.ListBatches(t.Context(), caller, disbursement.ListBatchesParams{}))(t)
	must.True(t, len(list.Data) == 1, "the batches after the last kill: %+v", list.Data)
	expect.True(t, list.Data[0].Counts.Queued != 0, "the last kill should leave the batch in the middle: %+v", list.Data[0])
	for range 3 {
		must.Do(t, svc.Drain(t.Context()))
		later.Add(int64(10 * time.Minute))
	}
	once(t, svc, caller, list.Data[0].ID, killedRows)
}

// Two processes over one store, and batches with common keys, make each row once.
func TestSharedRowKeysAreMadeOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "shared.db")
	var services []*payments.Service
	var caller api.Caller
	for range 2 {
		store := must.Get(sqlite.Open(context.Background(), path, sqlite.Config{}))(t)
		defer store.Close()
		var svc *payments.Service
		svc, caller = open(t, store, payments.Config{})
		services = append(services, svc)
	}
	const n = 40
	first := must.Get(services[0].Disbursements.CreateBatch(t.Context(), caller, some(n)))(t)
	second := must.Get(services[1].Disbursements.CreateBatch(t.Context(), caller, some(n)))(t)
	var both sync.WaitGroup
	for _, svc := range services {
		both.Go(func() { expect.NoError(t, svc.Drain(t.Context()), "Drain") })
	}
	both.Wait()
	must.Do(t, services[0].Drain(t.Context()))
	a, b := all(t, services[0], caller, first.ID), all(t, services[0], caller, second.ID)
	for i := range a {
		must.True(t, a[i].Disbursement != nil, "row %d of the first: %+v", i, a[i])
		must.True(t, b[i].Disbursement != nil, "row %d of the second: %+v", i, b[i])
		expect.Equal(t, a[i].Disbursement.ID, b[i].Disbursement.ID, "row %d: ID of the disbursement", i)
	}
	balance := must.Get(services[0].Accounts.Balance(t.Context(), caller))(t)
	expect.Equal(t, balance.Available.String(), "956", "the balance is %s", balance.Available)
}

// moody is a rail whose name lookup fails at first.
type moody struct {
	provider.Simulated
	silent atomic.Bool
}

func (m *moody) AccountName(ctx context.Context, e provider.Enquiry) (string, error) {
	if m.silent.Load() {
		return "", errors.New("no answer")
	}
	return m.Simulated.AccountName(ctx, e)
}

// The worker retries an undecided row, and refuses it after the last attempt. A key that another
// request has used refuses its row only.
func TestRefusedRowsStopNoOthers(t *testing.T) {
	now := time.Now()
	rail := &moody{}
	rail.silent.Store(true)
	svc, caller := open(t, memory.New(), payments.Config{Test: payments.Providers{Rail: rail}, Clock: func() time.Time { return now }})
	alone := caller
	alone.IdempotencyKey = "key-1"
	must.Get(svc.Disbursements.Create(t.Context(), alone, row(7).CreateParams))(t)
	p := some(3)
	p.Rows[0].Destination.AccountName, p.Rows[0].Destination.MatchName = "Kofi Mensah", true // …0000 is his number
	batch := must.Get(svc.Disbursements.CreateBatch(t.Context(), caller, p))(t)
	statuses := func() string {
		t.Helper()
		must.Do(t, svc.Drain(t.Context()))
		text := ""
		for _, r := range all(t, svc, caller, batch.ID) {
			text += string(r.Status) + " "
			if r.Error != nil {
				text += string(r.Error.Code) + " "
			}
		}
		return text
	}
	expect.Equal(t, statuses(), "queued refused idempotency_key_reused made ", "at first")
	now = now.Add(4 * time.Second)
	rail.silent.Store(false)
	expect.Equal(t, statuses(), "queued refused idempotency_key_reused made ", "too early")
	now = now.Add(time.Second)
	expect.Equal(t, statuses(), "made refused idempotency_key_reused made ", "when the rail answers")
	b := must.Get(svc.Disbursements.GetBatch(t.Context(), caller, batch.ID))(t)
	want := (disbursement.Counts{Total: 3, Made: 2, Refused: 1})
	expect.Equal(t, b.Counts, want, "counts")
	expect.Equal(t, b.Status, disbursement.BatchCompleted, "status")

	rail.silent.Store(true)
	p.Rows = p.Rows[:1]
	p.Rows[0].IdempotencyKey = ""
	batch = must.Get(svc.Disbursements.CreateBatch(t.Context(), caller, p))(t)
	for range 10 {
		statuses()
		now = now.Add(3 * time.Hour)
	}
	expect.Equal(t, statuses(), "refused service_unavailable ", "in the end")
}

// A settled row stores no unmasked number.
func TestSettledRowsKeepNoNumbers(t *testing.T) {
	store := memory.New()
	svc, caller := open(t, store, payments.Config{})
	p := some(2)
	p.Rows[1].Destination.PhoneNumber = "0241230906" // refused
	must.Get(svc.Disbursements.CreateBatch(t.Context(), caller, p))(t)
	must.Do(t, svc.Drain(t.Context()))
	must.Do(t, store.View(t.Context(), func(tx storage.ReadTx) error {
		for _, k := range payments.Kinds() {
			if !strings.HasPrefix(k.Name, "disbursement_batch") {
				continue
			}
			page, err := tx.List(k, storage.Query{Scope: engine.Scope(caller), Limit: 100})
			if err != nil {
				return err
			}
			expect.True(t, len(page) != 0, "nothing is kept as %s", k.Name)
			for _, r := range page {
				for _, number := range []string{"240000000", "241230906"} {
					expect.True(t, !bytesContain(r.Data, number), "%s keeps %s", k.Name, r.Data)
				}
			}
		}
		return nil
	}))
}
