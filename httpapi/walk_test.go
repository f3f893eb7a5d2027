package httpapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/httpapi/paymentstest"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/payment"
	"github.com/seed-7082ffec/payments/payout"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/storage/memory"
)

// walk plays a file of testdata/walks: requests to a shop, each with the answer that it had when a
// person last looked at it. The test fails where an answer differs; -update writes the answers anew.
//
//	# A comment.
//	> POST /v1/qr_codes {"amount":500}
//	> Idempotency-Key: k-1
//	200
//	{
//	  "id": "qr_1",
//
// An id of an answer stands as its prefix and a number, in the order of appearance, and later requests
// name it so. known has more names and what they stand for. A refusal is one line and its message. Of a
// page there is what its body holds. "> drain" does the work that is due.
func walk(t *testing.T, s *paymentstest.Shop, file string, known map[string]string) {
	t.Helper()
	merchant := must.Get(s.Accounts.GetMerchant(t.Context(), s.Caller, s.Caller.Merchant))(t)
	w := walker{t: t, s: s, values: known, given: map[string]string{}, names: map[string]string{}, last: map[string]int{}}
	maps.Copy(w.values, map[string]string{
		"BASE": s.Server.URL, "CONSUMER": s.Consumer.ID,
		"SVC_CONSUMER": s.Consumer.ServiceID, "SVC_MERCHANT": merchant.ServiceID,
	})
	for name, value := range w.values {
		w.given[value] = name
	}
	w.values["IN_AN_HOUR"] = fmt.Sprint(time.Now().Add(time.Hour).Unix())
	w.values["IN_A_DAY"] = fmt.Sprint(time.Now().AddDate(0, 0, 1).Unix())
	path := filepath.Join("testdata", "walks", file+".txt")
	want := must.Get(os.ReadFile(path))(t)
	var out strings.Builder
	var request []string
	ask := func() {
		if request != nil {
			fmt.Fprintln(&out, w.ask(request))
		}
		request = nil
	}
	for line := range strings.Lines(string(want)) {
		text, asks := strings.CutPrefix(line, "> ")
		first := asks && !strings.HasPrefix(text, " ") && !header.MatchString(text)
		if first || line[0] == '#' {
			ask()
		}
		if asks {
			request = append(request, text)
		}
		if asks || line[0] == '#' {
			out.WriteString(line)
		}
	}
	ask()
	if update := flag.Lookup("update"); update != nil && update.Value.String() == "true" {
		must.Do(t, os.WriteFile(path, []byte(out.String()), 0o644))
	}
	expect.Same(t, out.String(), string(want), "%s; go test ./httpapi -update writes it", path)
}

var (
	header  = regexp.MustCompile(`^([A-Z][A-Za-z-]+): (.*)\n`)
	nameRef = regexp.MustCompile(`\b[A-Za-z_]+\d*\b`)
)

// numbered finds what is made anew in each run, and has the prefix of its name. Without one, the
// value has it.
var numbered = []struct {
	pattern *regexp.Regexp
	prefix  string
}{
	{regexp.MustCompile(`\b(pay_0[0-9A-Za-z]{21}-[0-9A-Za-z_-]{32})`), "PAGE"},
	{regexp.MustCompile(`name="token" value="([0-9A-Za-z]{22})"`), "FORM"},
	{regexp.MustCompile(`\b([a-z]{2,4}_0[0-9A-Za-z]{21})\b`), ""},
	{regexp.MustCompile(`"qr_payload":"([^"]+)"`), "PAYLOAD"},
	{regexp.MustCompile(`\b(SVC\d+)\b`), "SVC"},
	{regexp.MustCompile(`/(?:invoice|checkout|subscription)/([0-9A-Za-z]{32})\b`), "TOKEN"},
	{regexp.MustCompile(`"text":"(\d{6}) is`), "OTP"},
}

// unsteady finds what differs from run to run and is never named, with what stands for it.
var unsteady = []struct {
	pattern *regexp.Regexp
	stands  string
}{
	{regexp.MustCompile(`(?s)<svg.*?</svg>`), `<svg/>`},
	{regexp.MustCompile(`acc_\*{4}[0-9A-Za-z]{4}`), `acc_****TAIL`},
	{regexp.MustCompile(`\b20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{3})?Z`), `TIME`},
	{regexp.MustCompile(`"(\w+)":1\d{9}\b`), `"${1}":0`}, // a time of these years
	{regexp.MustCompile(`"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"`), `"UUID"`},
	{regexp.MustCompile(`whsec_[0-9A-Za-z+/=]{44}`), `whsec_SECRET`},
	{regexp.MustCompile(`SIM-[0-9A-Za-z]{8}\b`), `SIM-REFERENCE`},
	{regexp.MustCompile(`"duration_ms":\d+`), `"duration_ms":0`},
	{regexp.MustCompile(`\b(INV|CN)-\d{4}-`), `${1}-YEAR-`},
}

// TestWalks plays each file of testdata/walks. before is what the walk needs and HTTP has not, and returns
// names for it.
func TestWalks(t *testing.T) {
	type names = map[string]string
	type before = func(*testing.T, *paymentstest.Shop) names
	// Pages write dates and times, so their clock stands still.
	pages := payments.Config{Clock: func() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) }}
	logo := before(func(t *testing.T, s *paymentstest.Shop) names { giveLogo(t, s); return names{} })
	for file, w := range map[string]struct {
		config payments.Config
		before before
	}{
		"another_way":                {config: pages},
		"charged_phone":              {config: pages},
		"charged_phone_guessed":      {config: pages},
		"checkout_page":              {config: pages, before: logo},
		"checkout_page_late":         {config: pages},
		"checkout_page_phone":        {config: pages},
		"checkout_page_plan":         {config: pages},
		"checkout_page_unpaid":       {config: pages},
		"invoice_page":               {config: pages},
		"invoice_page_credit":        {config: pages},
		"invoice_page_phone":         {config: pages},
		"invoice_page_refunds":       {config: pages},
		"invoice_page_zero":          {config: pages},
		"network_chosen":             {config: pages},
		"pay_page":                   {config: pages, before: logo},
		"payment_cancelled":          {config: pages},
		"payment_code":               {config: pages},
		"payment_followed":           {config: pages},
		"payment_not_made":           {config: pages},
		"phones_refused":             {config: pages},
		"subscription_cancelled":     {config: pages},
		"subscription_page":          {config: pages, before: logo},
		"subscription_page_invoices": {config: pages},
		"undecided":                  {config: pages},
		"pages_without_charger": {config: pages, before: func(t *testing.T, s *paymentstest.Shop) names {
			live := s.Caller
			live.Live = true
			return names{"CODE": must.Get(s.QRCodes.Create(t.Context(), live, liveCode()))(t).ID}
		}},
		"account_names": {},
		"batches":       {},
		"catalog":       {},
		"checkout":      {},
		"codes_refused": {before: func(*testing.T, *paymentstest.Shop) names {
			return names{"SOON": time.Now().Add(time.Hour).Format(time.RFC3339)}
		}},
		"customers":        {},
		"held":             {config: payments.Config{Test: payments.Providers{Charger: hesitant{}}}},
		"invoices":         {},
		"invoices_refused": {config: payments.Config{Test: payments.Providers{Charger: hesitant{}}}},
		"otp_refused": {
			config: pages,
			before: func(t *testing.T, s *paymentstest.Shop) names {
				params := account.CreateMerchantParams{Name: "Mute"}
				mute := must.Get(s.Accounts.CreateMerchant(t.Context(), api.Caller{}, params))(t)
				_, key := as(t, s, api.Caller{Merchant: mute.ID}, account.CreateKeyParams{})
				return names{"MUTE": key.Secret}
			},
		},
		"payments": {config: payments.Config{
			WebhookAllow:   paymentstest.Loopback(),
			CollectionFees: &payment.Fees{Telecel: payment.Fee{Percent: decimal.NewFromInt(1)}},
		}},
		"payments_refused": {},
		"released":         {},
		"payout_limit":     {config: payments.Config{PayoutLimits: payout.Limits{Daily: decimal.NewFromInt(10)}}},
		"poor_provider":    {config: payments.Config{Test: payments.Providers{Rail: poorRail{}}}},
		"qr_codes":         {},
		"refunds":          {},
		"statements": {before: func(t *testing.T, s *paymentstest.Shop) names {
			paid := s.Pay(newCode(t, s, `{"amount":1250}`), 0)
			middle := time.Now().Add(time.Hour).UTC()
			s.Advance(2 * time.Hour)
			must.Get(s.Accounts.Adjust(t.Context(), s.Caller, account.AdjustParams{
				Amount: decimal.RequireFromString("-2.50"), Reason: "Booked twice", Actor: "esi",
			}))(t)
			return names{"PAID": paid.ID, "MIDDLE": url.QueryEscape(middle.Format(time.RFC3339))}
		}},
		"subscriptions": {},
		"subscriptions_refused": {before: func(t *testing.T, s *paymentstest.Shop) names {
			_, narrow := as(t, s, s.Caller, account.CreateKeyParams{Resources: []string{"subscriptions"}})
			return names{"NARROW": narrow.Secret}
		}},
		"top_ups": {config: payments.Config{
			WalletTiers: &account.WalletTiers{Minimum: account.TierLimits{Day: decimal.NewFromInt(1000)}},
		}},
		"transfers":         {},
		"transfers_refused": {},
		"webhooks": {
			config: payments.Config{WebhookAllow: paymentstest.Loopback()},
			before: func(t *testing.T, _ *paymentstest.Shop) names {
				receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					body, err := io.ReadAll(r.Body)
					if err == nil {
						err = described(t).CheckDelivery(r, body)
					}
					expect.NoError(t, err, "a delivery of %s", body)
					_, _ = io.WriteString(w, `{"received":true}`)
				}))
				t.Cleanup(receiver.Close)
				return names{"RECEIVER": receiver.URL}
			},
		},
	} {
		t.Run(file, func(t *testing.T) {
			s := paymentstest.NewWithStore(t, memory.New(), w.config)
			known := names{}
			if w.before != nil {
				known = w.before(t, s)
			}
			walk(t, s, file, known)
			verified(t, s)
		})
	}
}

type walker struct {
	t *testing.T
	s *paymentstest.Shop
	// values are by their names. given are the names that the test gave, by their values, and names
	// those that were made here.
	values, given, names map[string]string
	// last is the number of the last name of a prefix.
	last map[string]int
}

// ask sends a request of some lines, and returns the answer as it is written.
func (w *walker) ask(lines []string) string {
	w.t.Helper()
	if strings.TrimSpace(lines[0]) == "drain" {
		must.Do(w.t, w.s.Drain(w.t.Context()))
		return ""
	}
	var request string
	var headers []string
	for _, line := range lines {
		line = nameRef.ReplaceAllStringFunc(line, func(name string) string {
			if value, ok := w.values[name]; ok {
				return value
			}
			return name
		})
		if m := header.FindStringSubmatch(line); m != nil {
			headers = append(headers, m[1:]...)
		} else {
			request += line
		}
	}
	method, rest, _ := strings.Cut(strings.TrimSpace(request), " ")
	target, content, _ := strings.Cut(rest, " ")
	if !strings.HasPrefix(target, "/v1/") {
		form, err := url.ParseQuery(content)
		must.Do(w.t, err)
		if content == "" && method == "GET" {
			form = nil
		}
		return w.page(browse(w.t, method, w.s.Server.URL+target, form))
	}
	var body any
	if content != "" {
		body = content
	}
	response, data := w.s.Do(method, target, body, headers...)
	return w.answer(response, data)
}

func (w *walker) answer(response *http.Response, data []byte) string {
	w.t.Helper()
	text := w.steady(string(data))
	first := fmt.Sprint(response.StatusCode)
	for _, name := range []string{"Idempotent-Replayed", "Retry-After", "Allow", "Content-Disposition"} {
		if value := response.Header.Get(name); value != "" && name == "Retry-After" {
			first += ", " + name
		} else if value != "" {
			first += ", " + name + ": " + value
		}
	}
	var answer struct {
		Error struct {
			Type, Code, Message, Param string
			RequestID                  string `json:"request_id"`
		}
	}
	var pretty bytes.Buffer
	switch {
	case bytes.HasPrefix(data, []byte("%PDF-")):
		return first + ", " + response.Header.Get("Content-Type") + "\n"
	case response.Header.Get("Content-Type") != "application/json":
		return first + ", " + response.Header.Get("Content-Type") + "\n" + text
	case json.Indent(&pretty, []byte(text), "", "  ") != nil:
		w.t.Errorf("an answer is no JSON: %s", data)
	case response.StatusCode >= 400:
		must.Do(w.t, json.Unmarshal(data, &answer))
		e := answer.Error
		expect.Equal(w.t, e.RequestID, response.Header.Get("Request-Id"), "the id of the request in %s", data)
		return w.steady(fmt.Sprintf("%s %s %s %s\n%s\n", first, e.Type, e.Code, e.Param, e.Message))
	}
	return first + "\n" + strings.TrimSpace(pretty.String()) + "\n"
}

// page is the answer with a page: where it leads, and what is in its body.
func (w *walker) page(response *http.Response, page string) string {
	first := fmt.Sprint(response.StatusCode)
	for _, name := range []string{"Location", "Refresh"} {
		if value := response.Header.Get(name); value != "" {
			first += ", " + name + ": " + value
		}
	}
	switch kind := response.Header.Get("Content-Type"); {
	case kind == "":
		return w.steady(first + "\n")
	case !strings.HasPrefix(kind, "text/html"):
		return w.steady(first + ", " + kind + "\n")
	}
	_, policy, _ := strings.Cut(response.Header.Get("Content-Security-Policy"), "form-action ")
	policy, _, _ = strings.Cut(policy, ";")
	_, body, _ := strings.Cut(page, "<body>\n")
	body, _, _ = strings.Cut(body, "</body>")
	return w.steady(first + ", forms go to " + policy + "\n" + strings.TrimSpace(body) + "\n")
}

// steady writes an answer so that each run writes the same.
func (w *walker) steady(text string) string {
	for value, name := range w.given {
		text = strings.ReplaceAll(text, value, name)
	}
	for _, n := range numbered {
		text = n.pattern.ReplaceAllStringFunc(text, func(found string) string {
			value := n.pattern.FindStringSubmatch(found)[1]
			if w.names[value] == "" {
				prefix := n.prefix
				if prefix == "" {
					prefix, _, _ = strings.Cut(value, "_")
				}
				w.last[prefix]++
				name := fmt.Sprint(prefix, "_", w.last[prefix])
				w.names[value], w.values[name] = name, value
			}
			return strings.Replace(found, value, w.names[value], 1)
		})
	}
	for value, name := range w.names {
		if len(value) >= 32 { // a secret, also where it is a whole link
			text = strings.ReplaceAll(text, value, name)
		}
	}
	for _, u := range unsteady {
		text = u.pattern.ReplaceAllString(text, u.stands)
	}
	return text
}

// poorRail finds out before a transfer that the operator has too little money there.
type poorRail struct{ provider.Simulated }

func (poorRail) Check(context.Context, provider.Transfer) error {
	return &provider.Refusal{Code: api.ProviderBalanceInsufficient}
}

// hesitant is a charger that loses its answer for one payment method.
type hesitant struct{ provider.Simulated }

func (h hesitant) Charge(ctx context.Context, c provider.Charge) (provider.Result, error) {
	if c.PaymentMethod == "pm_lost" {
		return provider.Result{}, errors.New("the answer is lost")
	}
	return h.Simulated.Charge(ctx, c)
}

func (h hesitant) ChargeStatus(ctx context.Context, c provider.Charge) (provider.Result, error) {
	if c.PaymentMethod == "pm_lost" {
		return provider.Result{}, errors.New("the answer is lost")
	}
	return h.Simulated.ChargeStatus(ctx, c)
}
