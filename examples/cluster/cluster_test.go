//go:build linux

package main

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"
	"go.uber.org/goleak"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/disbursement"
	"github.com/seed-7082ffec/payments/internal/test/effort"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/payout"
	"github.com/seed-7082ffec/payments/storage/memory"
)

func TestMain(m *testing.M) {
	if role := os.Getenv(roleVariable); role != "" {
		os.Exit(play(role))
	}
	goleak.VerifyTestMain(m)
}

// Nothing acknowledged is lost and nothing is done twice when the primary dies, and when
// it hangs.
func TestCluster(t *testing.T) {
	if !effort.Full() {
		t.Skip("it takes over a minute; " + effort.Variable + "=full runs it")
	}
	_, err := findPrograms()
	if missing, ok := errors.AsType[missingError](err); ok && os.Getenv(required) == "" {
		t.Skip(missing)
	}
	var out strings.Builder
	err = run(t.Context(), options{callers: 8, duration: time.Second}, &out)
	t.Log(out.String())
	must.Do(t, err)
	for _, want := range []string{"\nprimary killed\n", "\nprimary frozen\n", ", lost 0, doubled 0, unanswered 0, refused 0\n", " 0 problems\n"} {
		expect.True(t, strings.Contains(out.String(), want), "the report lacks %q", want)
	}
}

// The audit finds what was lost, what was done twice, and money beside the disbursements.
func TestAudit(t *testing.T) {
	svc := must.Get(payments.New(t.Context(), memory.New(), payments.Config{}))(t)
	s := must.Get(fund(t.Context(), svc))(t)
	made := func(key, reference string) ack {
		caller := s.caller
		caller.IdempotencyKey = key
		d := must.Get(svc.Disbursements.Create(t.Context(), caller, disbursement.CreateParams{
			Amount: decimal.New(1, -2), Reference: reference,
			Destination: payout.DestinationParams{Type: "service_wallet", ServiceID: s.wallets[0]},
		}))(t)
		return ack{key: key, id: d.ID}
	}
	check := func(acks []ack, lost, doubled []string, problems int) {
		t.Helper()
		b := must.Get(s.audit(t.Context(), svc, acks))(t)
		var keys []string
		for _, a := range b.lost {
			keys = append(keys, a.key)
		}
		expect.True(t, slices.Equal(keys, lost), "lost %v, want %v", keys, lost)
		expect.True(t, slices.Equal(b.doubled, doubled), "doubled %v, want %v", b.doubled, doubled)
		expect.True(t, len(b.Problems) == problems, "got %+v, want %d problems", b, problems)
		if bad := len(lost)+len(doubled)+problems > 0; bad != (b.verdict() != nil) {
			t.Errorf("the verdict is %v", b.verdict())
		}
	}
	acks := []ack{made("1", "1"), made("2", "2")}
	check(acks, nil, nil, 0)
	check(append(acks, ack{key: "3", id: "po_3"}), []string{"3"}, nil, 0)
	acks = append(acks, made("4", "2"))
	check(acks, nil, []string{"2"}, 0)
	must.Do(t, svc.Accounts.Deposit(t.Context(), api.Caller{Live: true}, account.DepositParams{To: s.ids[0], Amount: decimal.New(1, -2), Source: "bank"}))
	check(acks, nil, []string{"2"}, 1)
}

// A client that was not served is an error of the load.
func TestVerdict(t *testing.T) {
	acks := []ack{{}}
	for name, tt := range map[string]struct {
		l   *load
		bad bool
	}{
		"all made":         {&load{acks: acks}, false},
		"nothing made":     {&load{}, true},
		"one not answered": {&load{acks: acks, unanswered: 1}, true},
		"one refused":      {&load{acks: acks, refused: []string{"402"}}, true},
	} {
		if err := tt.l.verdict(); (err != nil) != tt.bad {
			t.Errorf("%s: %v", name, err)
		}
	}
	for want, got := range map[string]string{
		"none": label(0, 0), "200": label(200, 0), "bare 500": label(500, 0), "503": label(503, time.Second), "503 without Retry-After": label(503, 0),
	} {
		expect.True(t, got == want, "label %q, want %q", got, want)
	}
}
