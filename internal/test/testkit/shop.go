package testkit

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/httpapi/paymentstest"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/storage"
)

// Shop is a shop whose whole clock stands still until Pass moves it.
type Shop struct {
	*paymentstest.Shop
	t   *testing.T
	mu  sync.Mutex
	now time.Time
}

// OpenShop returns a shop on an empty store, at noon of a Friday.
func OpenShop(t *testing.T, store storage.Store, c payments.Config) *Shop {
	t.Helper()
	s := &Shop{t: t, now: time.Date(2026, 3, 6, 12, 0, 0, 0, time.UTC)}
	c.Clock = s.Now
	s.Shop = paymentstest.NewWithStore(t, store, c)
	return s
}

// Now is the time of the shop.
func (s *Shop) Now() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now
}

// Pass moves the clock, and does no work.
func (s *Shop) Pass(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now = s.now.Add(d)
}

// Verified checks the ledger of the shop.
func (s *Shop) Verified() {
	s.t.Helper()
	for _, p := range must.Get(s.Accounts.Verify(s.t.Context()))(s.t).Problems {
		s.t.Error(p)
	}
}

// WantCode checks the code of an error; "" wants none.
func WantCode(t *testing.T, what string, err error, code api.Code) {
	t.Helper()
	if api.CodeOf(err) != code || (code == "" && err != nil) {
		t.Errorf("%s: got %v, want %q", what, err, code)
	}
}

// WantParam checks the code of an error, and which parameter it names.
func WantParam(t *testing.T, what string, err error, code api.Code, param string) {
	t.Helper()
	var refusal *api.Error
	if !errors.As(err, &refusal) || refusal.Code != code || refusal.Param != param {
		t.Errorf("%s: got %v, want %q of %q", what, err, code, param)
	}
}

// Err is the error of a call, for WantCode and WantParam.
func Err[V any](_ V, err error) error { return err }
