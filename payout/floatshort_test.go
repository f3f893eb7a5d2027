package payout_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/expect"
	"github.com/seed-7082ffec/payments/internal/must"
	"github.com/seed-7082ffec/payments/internal/testkit"
	"github.com/seed-7082ffec/payments/payout"
	"github.com/seed-7082ffec/payments/provider"
)

// poor is a rail at which the operator has too little money.
type poor struct{ quiet }

var tooLittle = provider.Refusal{Code: api.ProviderBalanceInsufficient}

func (poor) Submit(context.Context, provider.Transfer) (provider.Result, error) {
	return provider.Result{Outcome: provider.Refused, Reason: tooLittle}, nil
}

// foresighted is a poor rail that says so before anything is reserved.
type foresighted struct{ poor }

func (foresighted) Check(context.Context, provider.Transfer) error { return &tooLittle }

// A transfer that fails because the operator has too little money at the provider has a code of its own.
// The operator gets a log line. It names neither the destination nor the amount.
func TestOperatorHasTooLittleAtProvider(t *testing.T) {
	var log bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&log, nil))
	logged := func(id string) {
		t.Helper()
		text := log.String()
		expect.True(t, strings.Count(text, "level=ERROR") == 1 && strings.Contains(text, "too little money") && strings.Contains(text, id), "the log: %s", text)
		expect.True(t, !strings.Contains(text, "1234567") && !strings.Contains(text, "5.43"), "the log: %s", text)
		log.Reset()
	}
	s := open(t, payments.Config{Test: payments.Providers{Rail: poor{}}, Logger: logger})
	made := must.Get(s.disburse("5.43", momo("0241234567")))(t)
	must.Do(t, s.Drain(t.Context()))
	is := s.get(made.ID)
	expect.Equal(t, is.Status, payout.Failed, "status")
	expect.Equal(t, *is.FailureReason, "provider_balance_insufficient: The operator has too little money at the provider. Try again later.", "why")
	expect.Equal(t, s.available(), "1000", "available")
	logged(made.ID)

	s = open(t, payments.Config{Test: payments.Providers{Rail: foresighted{}}, Logger: logger})
	testkit.WantParam(t, "refused beforehand", testkit.Err(s.disburse("5.43", momo("0241234567"))), api.ProviderBalanceInsufficient, "")
	logged("")
}
