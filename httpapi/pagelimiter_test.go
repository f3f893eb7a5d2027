package httpapi

import (
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/test/expect"
)

var errWrongPIN = api.Errorf(api.PINInvalid, "pin", "The PIN is wrong.")

// enterAs enters a PIN on a page from an address.
func enterAs(v *pageLimiter, page, address string, pay func(string) error) error {
	r := newRequest("POST", "/pay/"+page, "")
	r.RemoteAddr = address
	return v.payWithPIN(&request{Request: r}, pay)
}

func wrong(string) error { return errWrongPIN }

// waitOf returns how long a refusal has the client wait, or 0 for anything else.
func waitOf(err error) time.Duration {
	if api.CodeOf(err) != api.RateLimited {
		return 0
	}
	return asAPIError(err).RetryAfter
}

// An address that fails on many pages is slowed on all of them. Of IPv6 the networks of
// one line are one address.
func TestFailedPINsOnManyPagesLimitTheAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newPageLimiter(Config{})
		for i := range 100 {
			if err := enterAs(v, fmt.Sprint("qr_", i), fmt.Sprintf("[2001:db8:1:%x::1]:1", i), wrong); err != errWrongPIN {
				t.Fatalf("entry %d: %v", i+1, err)
			}
		}
		if got := waitOf(enterAs(v, "qr_new", "[2001:db8:1:ffff::1]:1", wrong)); got.Round(time.Second) != 10*time.Second {
			t.Errorf("the next one waits for %v", got)
		}
		expect.True(t, enterAs(v, "qr_new", "[2001:db8:2::1]:1", wrong) == errWrongPIN, "another network")
		time.Sleep(11 * time.Second)
		expect.True(t, enterAs(v, "qr_new", "[2001:db8:1:ffff::1]:1", wrong) == errWrongPIN, "11 seconds later")
	})
}

// Payers behind one address who pay at the same time do not refuse each other. Entries
// at the same time that fail gain nothing over entries one after the other.
func TestConcurrentPINsAllRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newPageLimiter(Config{})
		var together func(n int, end error) error
		together = func(n int, end error) error {
			return enterAs(v, "qr_1", here, func(string) error {
				if n > 1 {
					if err := together(n-1, end); err != end {
						return err
					}
				}
				return end
			})
		}
		expect.NoError(t, together(30, nil), "30 payers")
		expect.True(t, together(30, errWrongPIN) == errWrongPIN, "30 wrong entries")
		if got := waitOf(enterAs(v, "qr_1", here, wrong)); got.Round(time.Second) != 21*2*time.Minute {
			t.Errorf("the next one waits for %v", got)
		}
	})
}

// Package party takes an entry from nowhere for one by the host's own client.
func TestPagesPassClientAddress(t *testing.T) {
	for name, want := range map[string]string{
		"": "page ", "192.0.2.1": "page 192.0.2.1", "2001:db8:1:2::/64": "page 2001:db8:1::/48", "[2001:db8:1:3::9]:7": "page 2001:db8:1::/48",
	} {
		v := newPageLimiter(Config{ClientIP: func(*http.Request) string { return name }})
		_ = enterAs(v, "qr_1", here, func(from string) error {
			expect.Equal(t, from, want, "%q", name)
			return nil
		})
	}
}

// Wrong codes of payers count as failed PINs, on one page and on all; right ones and refusals do not.
func TestWrongCodesLimitThePage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newPageLimiter(Config{})
		confirm := func(page string, wrong bool, end error) error {
			r := newRequest("POST", "/payment/"+page, "")
			r.RemoteAddr = here
			return v.confirmWithCode(&request{Request: r}, func() (bool, error) { return wrong, end })
		}
		for range 50 {
			if err := confirm("pay_1", false, nil); err != nil {
				t.Fatal(err)
			}
			if err := confirm("pay_1", false, errWrongPIN); err != errWrongPIN {
				t.Fatal(err)
			}
		}
		for i := range 10 {
			if err := confirm("pay_1", true, nil); err != nil {
				t.Fatalf("code %d: %v", i+1, err)
			}
		}
		expect.Equal(t, waitOf(confirm("pay_1", false, nil)).Round(time.Second), failedPINInterval, "the next code waits for")
		expect.NoError(t, confirm("pay_2", false, nil), "another page")
	})
}

// Requests to phones count when they go out, on one page and on all.
func TestRequestsToPhonesLimitTheAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newPageLimiter(Config{})
		ask := func(page string, end error) error {
			r := newRequest("POST", "/pay/"+page, "")
			r.RemoteAddr = here
			return v.payByPhone(&request{Request: r}, true, func(string) error { return end })
		}
		for range 100 {
			if err := ask("qr_1", errWrongPIN); err != errWrongPIN {
				t.Fatalf("what is refused counts: %v", err)
			}
		}
		for i := range maxPrompts {
			expect.NoError(t, ask("qr_1", nil), "phone %d", i+1)
		}
		expect.Equal(t, waitOf(ask("qr_1", nil)).Round(time.Second), promptInterval, "the next phone waits for")
		for i := range maxPromptsAllPages - maxPrompts {
			expect.NoError(t, ask(fmt.Sprint("qr_many_", i), nil), "page %d", i)
		}
		expect.Equal(t, waitOf(ask("qr_new", nil)).Round(time.Second), promptIntervalAllPages, "on a new page the next phone waits for")
		r := newRequest("POST", "/pay/qr_1", "")
		r.RemoteAddr = here
		expect.NoError(t, v.payByPhone(&request{Request: r}, false, func(string) error { return nil }), "in test mode")
		time.Sleep(promptIntervalAllPages + time.Second)
		expect.NoError(t, ask("qr_new", nil), "later")
	})
}
