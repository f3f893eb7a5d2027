package host_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/catalog"
	"github.com/seed-7082ffec/payments/httpapi/paymentstest"
	_ "github.com/seed-7082ffec/payments/internal/test/contract" // checks each exchange of the shop
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/internal/test/testkit"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/storage/memory"
	"github.com/seed-7082ffec/payments/subscription"
)

// errDirectory is the error of a host's directory, and quotes what it was asked for.
var errDirectory = errors.New("no answer about +233249998877")

// directory is a host's directory of customers. Once it fails, it answers with what fails returns.
type directory struct {
	mu    sync.Mutex
	fails func() error
	asked int
}

func (d *directory) set(fails func() error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.fails, d.asked = fails, 0
}

// count returns how often the directory was asked since it got its fails.
func (d *directory) count() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.asked
}

func (d *directory) Customer(_ context.Context, _ api.Caller, id string) (*account.Customer, error) {
	d.mu.Lock()
	d.asked++
	fails := d.fails
	d.mu.Unlock()
	if fails != nil {
		return nil, fails()
	}
	return &account.Customer{ID: id, Name: "Esi Ofori", Phone: "+233249998877"}, nil
}

// subscribe subscribes a customer of the host's directory.
func subscribe(t *testing.T, svc *payments.Service, caller api.Caller) *subscription.Subscription {
	t.Helper()
	plan := must.Get(svc.Plans.Create(t.Context(), caller, catalog.CreatePlanParams{Name: "Monthly", Amount: 5000, Interval: catalog.Month}))(t)
	return must.Get(svc.Subscriptions.Create(t.Context(), caller, subscription.CreateParams{
		Customer: "cust-1", Plan: plan.ID, CollectionMethod: invoice.ChargeAutomatically,
	}))(t)
}

// The log holds no text of a host's error and no value of a host's panic, which may quote numbers. A
// caller in Go gets the host's error.
func TestDirectoryErrorsStayOutOfTheLog(t *testing.T) {
	for name, fails := range map[string]func() error{
		"an error": func() error { return errDirectory },
		"a panic":  func() error { panic(errDirectory.Error()) },
	} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			customers := &directory{}
			s := paymentstest.NewWithStore(t, memory.New(), payments.Config{Customers: customers, Logger: slog.New(slog.NewTextHandler(&log, nil))})
			subscribe(t, s.Service, s.Caller)
			s.Work()
			customers.set(fails)

			customer := "cust-1"
			_, err := s.Invoices.Create(t.Context(), s.Caller, invoice.CreateParams{Fields: invoice.Fields{Customer: &customer}})
			expect.True(t, err != nil, "a call in Go passes")
			if name == "an error" {
				expect.ErrorIs(t, err, errDirectory, "a call in Go")
			}
			answer, body := s.Do("POST", "/v1/invoices", map[string]any{"customer": customer})
			expect.Equal(t, answer.StatusCode, http.StatusInternalServerError, "a request: %s", body)
			before := customers.count()
			s.Advance(32 * 24 * time.Hour)
			expect.True(t, customers.count() > before, "the worker did not ask the directory")
			expect.True(t, strings.Contains(log.String(), "work failed"), "the log has no line about the worker:\n%s", &log)
			expect.True(t, !strings.Contains(log.String(), "9998877"), "the log quotes the host's error:\n%s", &log)
		})
	}
}

// A directory that never answers keeps the service from stopping no longer than other code of the host's.
func TestHungDirectoryIsLeftBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		proceed := make(chan struct{})
		defer close(proceed)
		customers := &directory{}
		svc := testkit.New(t, memory.New(), payments.Config{Customers: customers, Poll: 6 * time.Hour}) // a month of polls
		m := must.Get(svc.Accounts.CreateMerchant(t.Context(), api.Caller{}, account.CreateMerchantParams{Name: "M"}))(t)
		subscribe(t, svc, api.Caller{Merchant: m.ID})
		svc.Start(t.Context())
		synctest.Wait()
		customers.set(func() error {
			<-proceed
			return errDirectory
		})
		for customers.count() == 0 { // until the next period begins
			time.Sleep(6 * time.Hour)
			synctest.Wait()
		}
		gone, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		expect.NoError(t, svc.Stop(gone), "Stop")
	})
}

// While a directory never answers, a worker still takes the steps that need no customer.
func TestHungDirectoryDelaysOnlyInvoices(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		proceed := make(chan struct{})
		defer close(proceed)
		customers := &directory{}
		svc := testkit.New(t, memory.New(), payments.Config{Customers: customers, Poll: 6 * time.Hour})
		m := must.Get(svc.Accounts.CreateMerchant(t.Context(), api.Caller{}, account.CreateMerchantParams{Name: "M"}))(t)
		caller := api.Caller{Merchant: m.ID}
		made := subscribe(t, svc, caller)
		must.Get(svc.Subscriptions.Cancel(t.Context(), caller, made.ID, subscription.CancelParams{AtPeriodEnd: true}))(t)
		svc.Start(t.Context())
		synctest.Wait()
		customers.set(func() error {
			<-proceed
			return errDirectory
		})
		time.Sleep(33 * 24 * time.Hour)
		synctest.Wait()
		expect.True(t, customers.count() > 0, "the directory was not asked")
		is := must.Get(svc.Subscriptions.Get(t.Context(), caller, made.ID))(t)
		expect.Equal(t, is.Status, subscription.Cancelled, "status")
		expect.NoError(t, svc.Stop(t.Context()), "Stop")
	})
}
