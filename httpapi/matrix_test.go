package httpapi_test

import (
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/httpapi"
	"github.com/seed-7082ffec/payments/httpapi/paymentstest"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/internal/test/race"
)

// The matrix asks every route of the table, with every id that a merchant has,
// as another caller. A new route is in it by itself; for a new noun it fails until
// matrixWorld makes an object of it.

// matrixBodies are what a route must be sent to get as far as its object; {}
// where nothing stands here.
var matrixBodies = map[string]string{
	"POST /v1/invoices/{id}/lines":                     `{"description":"x","unit_amount":1}`,
	"POST /v1/test_helpers/qr_codes/{id}/pay":          `{"account_id":"acc_1","pin":"1234","amount":1}`,
	"POST /v1/test_helpers/payouts/{id}/settle":        `{"outcome":"failed"}`,
	"POST /v1/test_helpers/disbursements/{id}/settle":  `{"outcome":"failed"}`,
	"POST /v1/test_helpers/refunds/{id}/settle":        `{"outcome":"failed"}`,
	"POST /v1/test_helpers/payments/{id}/settle":       `{"outcome":"failed"}`,
	"POST /v1/test_helpers/invoices/{id}/pay":          `{"phone_number":"0241234567"}`,
	"POST /v1/test_helpers/checkout/sessions/{id}/pay": `{"phone_number":"0241234567"}`,
	"POST /v1/payments/{id}/confirm":                   `{"code":"123456"}`,
	"POST /v1/customers/{id}":                          `{"name":"mine"}`,
}

// matrixReaders are the routes other than GET that change nothing.
var matrixReaders = []string{"POST /v1/qr_codes/resolve", "POST /v1/lookup/service-id", "POST /v1/lookup/account-name"}

// matrixSame are the routes that answer all callers the same.
var matrixSame = []string{"GET /v1/openapi.json"}

// matrixShared are the routes to what belongs to the operator, and so to every
// merchant of a sandbox.
var matrixShared = []string{"GET /v1/test_helpers/consumers/{id}"}

// matrixParams are the fields of bodies and queries that name an object, and how the
// ids begin that they take.
var matrixParams = map[string]string{
	"customer": "cus", "qr_code": "qr", "invoice": "inv", "payment": "pay", "disbursement": "po", "payout": "po",
	"product": "prod", "coupon": "cpn", "plan": "plan", "subscription": "sub", "checkout_session": "cs", "batch": "bat", "event": "evt", "endpoint": "we", "source": "re",
}

// matrixWorld gives the shop one object of every noun at least, each through the
// interface.
func matrixWorld(t *testing.T, s *paymentstest.Shop) {
	t.Helper()
	do := func(method, path, body string) []byte {
		t.Helper()
		response, data := s.Do(method, path, body)
		must.True(t, response.StatusCode == 200, "%s %s: %s", method, path, data)
		return data
	}
	do("POST", "/v1/webhooks", `{"url":"http://127.0.0.1:9/h","events":["*"]}`)
	code := newCode(t, s, `{"name":"secret name","amount":100}`)
	s.Pay(code, 0)
	_, data := s.Do("POST", "/v1/test_helpers/customers", `{"name":"Akua","email":"akua@example.com"}`)
	plan := field(t, do("POST", "/v1/plans", `{"name":"Juice","amount":100,"interval":"week","product":"`+field(t, do("POST", "/v1/products", `{"name":"Juice"}`), "id")+`"}`), "id")
	subscribed := do("POST", "/v1/subscriptions", `{"customer":"`+field(t, data, "id")+`","plan":"`+plan+`"}`)
	do("POST", "/v1/subscriptions/"+field(t, subscribed, "id")+"/pause", ``)
	do("POST", "/v1/coupons", `{"percent_off":10}`)
	do("POST", "/v1/invoices", `{"customer":"`+field(t, data, "id")+`",`+oneLine+`}`)
	paid, _ := newInvoice(t, s, `{"auto_finalize":true,`+oneLine+`}`)
	do("POST", "/v1/invoices/"+paid+"/pay", `{}`)
	do("POST", "/v1/refunds", `{"invoice":"`+paid+`","amount":1}`)
	open, _ := newInvoice(t, s, `{"auto_finalize":true,"customer_email":"a@example.com",`+oneLine+`}`)
	do("POST", "/v1/invoices/"+open+"/send", ``)
	do("POST", "/v1/disbursements", `{"amount":1,"destination":{"type":"mobile_money","phone_number":"0241230903"}}`)
	do("POST", "/v1/payouts", `{"amount":1,"otp_code":"`+s.OTP()+`","destination":{"type":"mobile_money","phone_number":"0241230903"}}`)
	do("POST", "/v1/payments", `{"amount":1,"phone_number":"0241230903"}`)
	do("POST", "/v1/checkout/sessions", order(`,"customer":"`+field(t, data, "id")+`"`))
	do("POST", "/v1/disbursements/batch", `{"rows":[{"amount":1,"destination":{"type":"mobile_money","phone_number":"0241234567"}}]}`)
	must.Do(t, s.Drain(t.Context()))
}

var (
	anyID       = regexp.MustCompile(`\b[a-z]{2,5}_[0-9A-Za-z]{20,}\b`)
	hostedToken = regexp.MustCompile(`/(invoice|checkout|subscription)/([0-9A-Za-z]{20,})`)
)

// lists returns what every list of the table shows, by its path.
func lists(t *testing.T, s *paymentstest.Shop, table []httpapi.TableRow) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, row := range table {
		if row.Method != "GET" || !row.Private || strings.Contains(row.Pattern, "{") || slices.Contains(matrixSame, "GET "+row.Pattern) {
			continue
		}
		response, data := s.Do("GET", row.Pattern, nil)
		expect.True(t, response.StatusCode == 200 || strings.HasPrefix(row.Pattern, "/v1/test_helpers/"), "GET %s: %d %s", row.Pattern, response.StatusCode, data)
		all[row.Pattern] = string(data)
	}
	return all
}

// idsIn returns the ids in some texts, by prefix, those of requests left out.
func idsIn(texts map[string]string) map[string][]string {
	ids := map[string][]string{}
	for _, path := range slices.Sorted(maps.Keys(texts)) {
		for _, id := range anyID.FindAllString(texts[path], -1) {
			prefix, _, _ := strings.Cut(id, "_")
			if prefix != "req" && prefix != "sk" && !slices.Contains(ids[prefix], id) {
				ids[prefix] = append(ids[prefix], id)
			}
		}
		for _, match := range hostedToken.FindAllStringSubmatch(texts[path], -1) {
			if noun := match[1] + " token"; !slices.Contains(ids[noun], match[2]) {
				ids[noun] = append(ids[noun], match[2])
			}
		}
	}
	return ids
}

// like returns an id that no object has and that looks like a given one.
func like(id string) string {
	if strings.HasSuffix(id, "zzz") {
		return id[:len(id)-3] + "yyy"
	}
	return id[:len(id)-3] + "zzz"
}

// fromEverywhere makes each request come from another address, so that neither bad keys nor guesses at
// pages are slowed.
func fromEverywhere(s *paymentstest.Shop) {
	handler, asked := s.Handler, atomic.Int64{}
	s.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := asked.Add(1)
		r.RemoteAddr = netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, byte(n >> 16), byte(n >> 8), byte(n)}), 1).String()
		handler.ServeHTTP(w, r)
	})
}

func TestIsolationMatrix(t *testing.T) {
	oneGoroutine(t)
	s := paymentstest.New(t)
	fromEverywhere(s)
	table := httpapi.TableOf(httpapi.New(s.Service, httpapi.Config{TestHelpers: true, Logger: slog.New(slog.DiscardHandler)}))
	matrixWorld(t, s)
	before := lists(t, s, table)
	owned := idsIn(before)
	for _, id := range owned["we"] {
		_, data := s.Do("GET", "/v1/webhooks/"+id+"/deliveries", nil)
		maps.Copy(owned, idsIn(map[string]string{"": string(data)}))
	}

	owned["acc"] = []string{s.Consumer.ID}

	merchant := must.Get(s.Accounts.CreateMerchant(t.Context(), api.Caller{}, account.CreateMerchantParams{Name: "Other"}))(t)
	stranger, _ := as(t, s, api.Caller{Merchant: merchant.ID}, account.CreateKeyParams{})
	strangerLive, _ := as(t, s, api.Caller{Merchant: merchant.ID, Live: true}, account.CreateKeyParams{})
	live, _ := as(t, s, api.Caller{Merchant: s.Caller.Merchant, Live: true}, account.CreateKeyParams{})
	reader, _ := as(t, s, s.Caller, account.CreateKeyParams{ReadOnly: true})
	narrow, _ := as(t, s, s.Caller, account.CreateKeyParams{Resources: []string{}})
	others := map[string]*paymentstest.Shop{"a stranger": stranger, "a live stranger": strangerLive, "the live mode": live}

	ask := func(s *paymentstest.Shop, row httpapi.TableRow, path, body string) (int, string) {
		t.Helper()
		var content any
		if row.Method == "POST" || row.Method == "PATCH" {
			content = body
		}
		response, data := s.Do(row.Method, path, content)
		return response.StatusCode, fmt.Sprint(response.StatusCode, " ", requestID.ReplaceAllString(string(data), "req"))
	}
	bodyOf := func(row httpapi.TableRow) string {
		if body, ok := matrixBodies[row.Method+" "+row.Pattern]; ok {
			return body
		}
		return "{}"
	}
	// same asks for an object and for one that does not exist, as others who must
	// not see any difference.
	same := func(row httpapi.TableRow, id string, at func(id string) (path, body string)) {
		t.Helper()
		for name, other := range others {
			path, body := at(id)
			status, theirs := ask(other, row, path, body)
			nobodyPath, nobodyBody := at(like(id))
			_, nobodys := ask(other, row, nobodyPath, nobodyBody)
			expect.True(t, strings.ReplaceAll(theirs, id, "ID") == strings.ReplaceAll(nobodys, like(id), "ID"), "%s %s %s as %s:\n%s\nbut what does not exist is\n%s", row.Method, path, body, name, theirs, nobodys)
			expect.True(t, status < 500, "%s %s as %s: %s", row.Method, path, name, theirs)
		}
	}

	for _, row := range table {
		name := row.Method + " " + row.Pattern
		if !row.Private {
			continue
		}
		expect.True(t, row.Method == "GET" || row.Write != slices.Contains(matrixReaders, name), "%s: a route that changes something says so in the table, and one that does not stands in matrixReaders", name)
		if slices.Contains(matrixSame, name) {
			continue
		}
		one := strings.Contains(row.Pattern, "{")
		for prefix, ids := range owned {
			for n, id := range ids[:min(len(ids), 2)] {
				if n > 0 && prefix != "po" { // disbursements and payouts begin alike
					break
				}
				if one && !slices.Contains(matrixShared, name) {
					same(row, id, func(id string) (string, string) {
						return wildcard.ReplaceAllString(row.Pattern, id), bodyOf(row)
					})
				}
				if prefix == "acc" || prefix == "cag" || one {
					continue // the operator's, which every merchant may pay
				}
				if row.Method == "GET" {
					params := []string{"starting_after", "ending_before"}
					for param, takes := range matrixParams {
						if takes == prefix {
							params = append(params, param)
						}
					}
					for _, param := range params {
						same(row, id, func(id string) (string, string) { return row.Pattern + "?" + param + "=" + id, "" })
					}
				}
			}
		}
		// A key that may only read, and one that may do nothing.
		path := wildcard.ReplaceAllString(row.Pattern, "qr_zzz")
		if row.Write {
			if status, text := ask(reader, row, path, bodyOf(row)); status != 403 || !strings.Contains(text, `"permission_denied"`) {
				t.Errorf("%s with a key that may only read: %s", name, text)
			}
		}
		expect.True(t, api.IsResource(row.Resource), "%s has the resource %q, which no key can name; see api.Resources", name, row.Resource)
		if status, text := ask(narrow, row, path, bodyOf(row)); status != 403 || !strings.Contains(text, `"permission_denied"`) {
			t.Errorf("%s with a key for nothing: %s", name, text)
		}
		for _, key := range []string{"", "sk_test_" + strings.Repeat("0", 43), s.Key + "0"} {
			nobody := *s
			nobody.Key = key
			if status, text := ask(&nobody, row, path, bodyOf(row)); status != 401 {
				t.Errorf("%s with key %.12q: %s", name, key, text)
			}
		}
		if strings.HasPrefix(row.Pattern, "/v1/test_helpers/") {
			if status, text := ask(live, row, path, bodyOf(row)); status != 403 {
				t.Errorf("%s with a live key: %s", name, text)
			}
		}
	}

	// What is named in a body.
	for _, row := range table {
		if !row.Private || row.Method == "GET" || strings.Contains(row.Pattern, "{") || strings.HasPrefix(row.Pattern, "/v1/test_helpers/") {
			continue
		}
		for prefix, ids := range owned {
			if prefix == "acc" || prefix == "cag" {
				continue
			}
			for param, takes := range matrixParams {
				if takes != prefix {
					continue
				}
				body := func(id string) string { return `{"` + param + `":"` + id + `"}` }
				for name, other := range others {
					status, theirs := ask(other, row, row.Pattern, body(ids[0]))
					nobodys, _ := ask(other, row, row.Pattern, body(like(ids[0])))
					expect.Equal(t, status, nobodys, "%s with %s of another merchant as %s: status", row.Pattern, param, name)
					expect.True(t, !strings.Contains(theirs, "akua@example.com"), "%s with %s of another merchant as %s: %s, but %d for what does not exist", row.Pattern, param, name, theirs, nobodys)
				}
			}
		}
	}

	// A key that may read nothing but its own noun learns nothing of products, coupons and plans that it names.
	for _, c := range namedInBodies {
		own, _ := as(t, s, s.Caller, account.CreateKeyParams{Resources: []string{c.own, "customers"}})
		path := strings.NewReplacer("$inv", owned["inv"][0], "$sub", owned["sub"][0]).Replace(c.path)
		prefix := map[string]string{"products": "prod", "coupons": "cpn", "plans": "plan"}[c.resource]
		for _, id := range []string{owned[prefix][0], like(owned[prefix][0])} {
			// Of a body that names two such objects the first decides.
			body := strings.NewReplacer("ID", id, "$cus", owned["cus"][0], "$plan", owned["plan"][0]).Replace(c.body)
			response, data := own.Do("POST", path, body)
			expect.Equal(t, response.StatusCode, 403, "%s with %s: status", path, body)
			expect.Equal(t, field(t, data, "error.code"), "permission_denied", "%s with %s: error.code", path, body)
		}
	}

	// A key that may only read finds no page that changes a subscription.
	for path, text := range lists(t, reader, table) {
		for _, token := range owned["subscription token"] {
			expect.True(t, !strings.Contains(text, token), "GET %s shows a key that may only read a manage_url", path)
		}
	}
	must.True(t, len(owned["subscription token"]) > 0, "the matrix has no manage_url")

	// No other caller lists anything of it, and nothing of it was changed.
	for name, other := range others {
		for path, text := range lists(t, other, table) {
			for _, ids := range owned {
				for _, id := range ids {
					expect.True(t, !strings.Contains(text, id) || strings.HasPrefix(id, "acc_"), "GET %s as %s shows %s", path, name, id)
				}
			}
		}
	}
	for path, text := range lists(t, s, table) {
		if text != before[path] && path != "/v1/lookup/banks" {
			t.Errorf("%s was\n%s\nand is\n%s", path, before[path], text)
		}
	}

	// The owner finds an object on every route: else the matrix has proved nothing.
	for _, row := range table {
		if !strings.Contains(row.Pattern, "{") || !row.Private {
			continue
		}
		found := false
		for _, ids := range owned {
			for _, id := range ids {
				if !found {
					status, _ := ask(s, row, wildcard.ReplaceAllString(row.Pattern, id), bodyOf(row))
					found = status != 404
				}
			}
		}
		expect.True(t, found, "%s %s: the matrix has no object for this route; make one in matrixWorld, and give its body in matrixBodies", row.Method, row.Pattern)
	}
}

// A body names the caller's own objects alone: beside those, what another owns is as if it did not exist.
func TestBodiesNameOwnObjectsAlone(t *testing.T) {
	oneGoroutine(t)
	s := paymentstest.New(t)
	matrixWorld(t, s)
	theirs := idsIn(lists(t, s, httpapi.TableOf(httpapi.New(s.Service, httpapi.Config{TestHelpers: true, Logger: slog.New(slog.DiscardHandler)}))))
	merchant := must.Get(s.Accounts.CreateMerchant(t.Context(), api.Caller{}, account.CreateMerchantParams{Name: "Other"}))(t)
	stranger, _ := as(t, s, api.Caller{Merchant: merchant.ID}, account.CreateKeyParams{})
	live, _ := as(t, s, api.Caller{Merchant: s.Caller.Merchant, Live: true}, account.CreateKeyParams{})
	for name, other := range map[string]*paymentstest.Shop{"a stranger": stranger, "the live mode": live} {
		own := map[string]string{"cus": "", "plan": "", "prod": "", "cpn": "", "sub": ""}
		// fill replaces the prefixes in a text by ids, that of one kind by id.
		fill := func(text, prefix, id string) string {
			for kind, mine := range own {
				if kind == prefix {
					mine = id
				}
				text = strings.ReplaceAll(text, "$"+kind, mine)
			}
			return text
		}
		create := func(prefix, path, body string) {
			t.Helper()
			response, data := other.Do("POST", path, fill(body, "", ""))
			must.True(t, response.StatusCode == 200, "%s as %s: %s", path, name, data)
			own[prefix] = field(t, data, "id")
		}
		create("cus", "/v1/customers", `{"name":"Abena","phone":"0241234567"}`)
		create("prod", "/v1/products", `{"name":"Juice","unit_amount":100}`)
		create("plan", "/v1/plans", `{"name":"Juice","amount":100,"interval":"week"}`)
		create("cpn", "/v1/coupons", `{"percent_off":10}`)
		create("sub", "/v1/subscriptions", `{"customer":"$cus","plan":"$plan"}`)
		for _, c := range []struct{ path, body string }{
			{"/v1/subscriptions", `{"customer":"$cus","plan":"$plan","coupon":"$cpn"}`},
			{"/v1/subscriptions/$sub", `{"plan":"$plan","coupon":"$cpn"}`},
			{"/v1/checkout/sessions", `{"success_url":"https://shop.example/","mode":"subscription","customer":"$cus","plan":"$plan","coupon":"$cpn"}`},
			{"/v1/checkout/sessions", `{"success_url":"https://shop.example/","customer":"$cus","coupon":"$cpn","line_items":[{"product":"$prod"}]}`},
			{"/v1/invoices", `{"customer":"$cus","coupon":"$cpn","line_items":[{"product":"$prod"}]}`},
			{"/v1/plans", `{"name":"Juice","amount":100,"interval":"week","product":"$prod"}`},
		} {
			for prefix := range own {
				if !strings.Contains(c.path+c.body, "$"+prefix) {
					continue
				}
				post := func(id string) (int, string) {
					response, data := other.Do("POST", fill(c.path, prefix, id), fill(c.body, prefix, id))
					return response.StatusCode, strings.ReplaceAll(requestID.ReplaceAllString(string(data), "req"), id, "ID")
				}
				id := theirs[prefix][0]
				_, unknown := post(like(id))
				status, text := post(id)
				expect.Equal(t, text, unknown, "%s %s with %s of another as %s: text", c.path, c.body, prefix, name)
				expect.True(t, strings.Contains(text, `"resource_missing"`), "%s %s with %s of another as %s: %s, but of what does not exist %s", c.path, c.body, prefix, name, text, unknown)
				expect.True(t, status == 400 || status == 404, "%s %s with %s of another as %s: %s, but of what does not exist %s", c.path, c.body, prefix, name, text, unknown)
				status, text = post(own[prefix])
				expect.True(t, status == 200, "%s %s as %s: %s", c.path, c.body, name, text)
			}
		}
	}
}

// oneGoroutine skips a test that the race detector has nothing to find in.
func oneGoroutine(t *testing.T) {
	t.Helper()
	if race.Detector {
		t.Skip("it runs without the race detector")
	}
}

var wildcard = regexp.MustCompile(`\{[a-z_]+\}`)

// A public page shows its own noun and nothing else, whatever id it is asked for.
func TestPublicPagesShowOnlyTheirOwn(t *testing.T) {
	oneGoroutine(t)
	s := paymentstest.New(t)
	fromEverywhere(s)
	matrixWorld(t, s)
	table := httpapi.TableOf(httpapi.New(s.Service, httpapi.Config{TestHelpers: true, Logger: slog.New(slog.DiscardHandler)}))
	owned := idsIn(lists(t, s, table))
	noun := map[string]string{"/pay/": "qr", "/invoice/": "invoice token", "/checkout/": "checkout token", "/subscription/": "subscription token"}
	for _, row := range table {
		if row.Private || row.Method != "GET" {
			continue
		}
		for prefix, ids := range owned {
			for _, id := range ids[:1] {
				if own := noun[row.Pattern[:strings.Index(row.Pattern, "{")]]; own == prefix || own == "" && !strings.Contains(row.Pattern, "{") {
					continue
				}
				nobody := *s
				nobody.Key = ""
				response, _ := nobody.Do("GET", wildcard.ReplaceAllString(row.Pattern, id), nil)
				expect.Equal(t, response.StatusCode, 404, "%s with %s", row.Pattern, id)
			}
		}
	}
}

// order is the body of a session, with more fields at its end.
func order(more string) string {
	return `{"success_url":"https://shop.example/thanks?id={CHECKOUT_SESSION_ID}","line_items":[{"description":"Kente shirt","unit_amount":24000}]` + more + `}`
}
