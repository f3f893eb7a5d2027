// Package paystacktest is a Paystack for tests. A [Fake] is an [http.Handler] that keeps transfers,
// charges and refunds by reference, moves money once for each, and can lose, delay and repeat what it
// does. It checks each request against the form that Paystack documents.
//
//	fake := paystacktest.New(1)
//	server := httptest.NewServer(fake)
//	client, err := paystack.New(paystack.Config{SecretKey: paystacktest.SecretKey, BaseURL: server.URL, Email: "pay@example.com"})
//
// It knows what this module's adapter calls, and no more of Paystack.
package paystacktest

import (
	"encoding/json"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/seed-7082ffec/payments/internal/ids"
)

// SecretKey is the key that a Fake accepts, and signs its events with.
const SecretKey = "sk_live_paystacktest"

// Code is the code that confirms a charge.
const Code = "123456"

// The last two digits of a phone number or an account say what becomes of its orders. Those of any
// other number succeed.
const (
	Fails       = "01" // transfers and charges fail
	Stays       = "02" // they stay pending until Settle
	AsksCode    = "03" // charges wait for Code
	RefundFails = "04" // charges succeed, and their refunds fail
	RefundStays = "05" // charges succeed, and their refunds stay pending until Settle
	NoAccount   = "06" // is no account of the bank
)

// Fake is a Paystack for tests. It is safe for concurrent use.
type Fake struct {
	mu           sync.Mutex
	dice         *rand.Rand
	now          func() time.Time
	faults       Faults
	calm         bool
	lose         []loss
	recipients   map[string]recipient    // by code
	transfers    map[string]*transfer    // by reference
	transactions map[string]*transaction // by reference
	refunds      []*refund
	disputes     []*dispute
	events       []Event
	problems     []string
	float        int64
	made         int64
}

// New returns a fake without faults. The same seed and the same order of calls give the same
// behaviour.
func New(seed uint64) *Fake {
	return &Fake{
		dice: rand.New(rand.NewPCG(seed, seed)), now: time.Now, recipients: map[string]recipient{}, transfers: map[string]*transfer{},
		transactions: map[string]*transaction{}, float: 1_000_000_00,
	}
}

// answer is what a call answers.
type answer struct {
	status  int
	message string
	code    string
	data    any
}

type object = map[string]any

func done(data any) answer { return answer{status: http.StatusOK, message: "Done", data: data} }

func refused(message string) answer {
	return answer{status: http.StatusBadRequest, message: message, code: "validation_error"}
}

// ServeHTTP implements [http.Handler].
func (f *Fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	f.mu.Lock()
	op := r.Method + " " + route(r.URL.Path)
	fate := f.fate(op)
	var a answer
	switch {
	case fate == loseRequest:
	case fate == failBefore:
		a = answer{status: http.StatusBadGateway, message: "Bad gateway"}
	case fate == limit:
		a = answer{status: http.StatusTooManyRequests, message: "Too many requests"}
	case fate == noKey || r.Header.Get("Authorization") != "Bearer "+SecretKey:
		a = answer{status: http.StatusUnauthorized, message: "Invalid key", code: "invalid_Key"}
	default:
		a = f.serve(op, r, body)
	}
	if fate == failAfter {
		a = answer{status: http.StatusInternalServerError, message: "Internal error"}
	}
	f.mu.Unlock()
	if fate == loseRequest || fate == loseAnswer {
		panic(http.ErrAbortHandler)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(a.status)
	out := object{"status": a.status < 300, "message": a.message}
	if a.status < 300 {
		out["data"] = a.data
	} else {
		out["type"], out["code"], out["meta"] = "validation_error", a.code, object{"nextStep": "Try again"}
	}
	_ = json.NewEncoder(w).Encode(out)
}

// route returns a path without the reference at its end.
func route(path string) string {
	for _, prefix := range []string{"/transfer/verify/", "/transaction/verify/", "/charge/"} {
		if strings.HasPrefix(path, prefix) && path != "/charge/submit_otp" {
			return prefix
		}
	}
	return path
}

func (f *Fake) serve(op string, r *http.Request, body []byte) answer {
	last := r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]
	query := r.URL.Query()
	in, problem := check(op, r.Header.Get("Content-Type"), query, body)
	if problem != "" {
		f.problems = append(f.problems, op+": "+problem)
		return refused("Invalid request: " + problem)
	}
	switch op {
	case "POST /transferrecipient":
		return f.makeRecipient(in)
	case "POST /transfer":
		return f.makeTransfer(in)
	case "GET /transfer/verify/":
		return f.verifyTransfer(last)
	case "POST /charge":
		return f.makeCharge(in)
	case "POST /charge/submit_otp":
		return f.submitCode(in)
	case "GET /charge/", "GET /transaction/verify/":
		return f.verifyCharge(op, last)
	case "POST /refund":
		return f.makeRefund(in)
	case "GET /refund":
		return f.listRefunds(query)
	case "GET /dispute":
		return f.listDisputes(query)
	case "GET /bank":
		return done(banks())
	case "GET /bank/resolve":
		if bank := query.Get("bank_code"); !pays(bank, "mobile_money") && !pays(bank, "ghipss") {
			return refused("Unknown bank code: " + bank)
		}
		if strings.HasSuffix(query.Get("account_number"), NoAccount) {
			return refused("Could not resolve account name. Check parameters or try again.")
		}
		return done(object{"account_number": query.Get("account_number"), "account_name": Name, "bank_id": 1})
	case "GET /balance":
		return done([]object{{"currency": "NGN", "balance": 1}, {"currency": "GHS", "balance": f.float}})
	}
	return answer{status: http.StatusNotFound, message: "Not found"}
}

// Name is the registered name of every account.
const Name = "AMA MENSAH"

func banks() []object {
	bank := func(name, code, kind string, active bool) object {
		return object{"name": name, "code": code, "type": kind, "currency": "GHS", "country": "Ghana", "active": active, "is_deleted": nil}
	}
	return []object{
		bank("MTN", "MTN", "mobile_money", true), bank("Telecel", "VOD", "mobile_money", true), bank("AT Money", "ATL", "mobile_money", true),
		bank("GCB Bank", "040100", "ghipss", true), bank("Ecobank Ghana", "130100", "ghipss", true), bank("Old Bank", "999999", "ghipss", false),
	}
}

// pays reports whether money can go to a bank or network with this code. The library's sample banks have
// other codes.
func pays(code, kind string) bool {
	return slices.ContainsFunc(banks(), func(b object) bool { return b["code"] == code && b["type"] == kind && b["active"] == true })
}

func order(reference string) string {
	id, _ := ids.FromBase36(reference)
	return id
}

func (f *Fake) next() int64 { f.made++; return 4_000_000_000 + f.made }
