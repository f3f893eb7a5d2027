// Package paystacktest is a Paystack for tests. A [Fake] is an [http.Handler] that keeps transfers,
// charges and refunds by reference, moves money once for each, and can lose, delay and repeat what it
// does. It checks each request against the form that Paystack documents.
//
//	fake := paystacktest.New(1)
//	server := httptest.NewServer(fake)
//	client := paystack.New(paystack.Config{SecretKey: paystacktest.SecretKey, BaseURL: server.URL, Email: "pay@example.com"})
//
// It knows what this module's adapter calls, and no more of Paystack.
package paystacktest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
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

type recipient struct{ kind, bank, number string }

type transfer struct {
	reference, status, code string
	amount                  int64
	to                      recipient
	moved                   int
	hidden                  time.Time // until then it is not found
}

type transaction struct {
	id                int64
	reference, status string
	amount            int64
	back              int64 // refunded or about to be
	returned          int64 // refunded
	phone             string
	moved             int
	made, hidden      time.Time
}

type refund struct {
	id           int64
	of           *transaction
	status, note string
	amount       int64
	moved        int
	made, hidden time.Time
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

// forms are the fields of the bodies that Paystack documents: true for those that are required.
var forms = map[string]map[string]bool{
	"POST /transferrecipient": {"type": true, "name": true, "account_number": true, "bank_code": true, "currency": false, "description": false, "metadata": false},
	"POST /transfer":          {"source": true, "amount": true, "recipient": true, "reference": true, "reason": false, "currency": false},
	"POST /charge":            {"email": true, "amount": true, "currency": false, "reference": false, "mobile_money": false, "metadata": false},
	"POST /charge/submit_otp": {"otp": true, "reference": true},
	"POST /refund":            {"transaction": true, "amount": false, "currency": false, "customer_note": false, "merchant_note": false},
}

var (
	transferReference = regexp.MustCompile(`^[a-z0-9_-]{16,50}$`)
	chargeReference   = regexp.MustCompile(`^[A-Za-z0-9.=-]+$`)
)

// check compares a request with Paystack's documents.
func check(op, contentType string, query map[string][]string, body []byte) (in object, problem string) {
	form, posts := forms[op]
	if !posts {
		if len(body) > 0 {
			return nil, "a body"
		}
		for name, values := range query {
			if slices.Contains([]string{"page", "perPage", "transaction"}, name) {
				if _, err := strconv.ParseInt(values[0], 10, 64); err != nil {
					return nil, name + " is no integer"
				}
			}
			if _, err := time.Parse(time.RFC3339, values[0]); name == "from" && err != nil {
				return nil, name + " is no time"
			}
		}
		return nil, ""
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	if err := d.Decode(&in); err != nil || contentType != "application/json" {
		return nil, "no JSON"
	}
	for name, required := range form {
		if v, ok := in[name]; required && (!ok || v == "") {
			return nil, name + " is missing"
		}
	}
	for name, v := range in {
		_, known := form[name]
		number, isNumber := v.(json.Number)
		_, err := number.Int64()
		isObject := name == "mobile_money" || name == "metadata"
		_, ok := v.(object)
		switch {
		case !known:
			return nil, name + " is not documented"
		case isNumber != (name == "amount") || isNumber && err != nil:
			return nil, name + " has another type"
		case isObject != ok:
			return nil, name + " has another type"
		}
	}
	reference, _ := in["reference"].(string)
	kind, _ := in["type"].(string)
	switch {
	case op == "POST /transfer" && !transferReference.MatchString(reference):
		return nil, "the reference has illegal special characters"
	case op == "POST /charge" && !chargeReference.MatchString(reference):
		return nil, "the reference has an invalid character"
	case op == "POST /transferrecipient" && kind != "mobile_money" && kind != "ghipss":
		return nil, "the type is not of Ghana"
	case in["currency"] != nil && in["currency"] != "GHS":
		return nil, "the currency is not GHS"
	}
	return in, ""
}

// order returns the library's id of an order.
func (o *transfer) order() string    { return order(o.reference) }
func (o *transaction) order() string { return order(o.reference) }

func order(reference string) string {
	id, _ := ids.FromBase36(reference)
	return id
}

func str(in object, name string) string { s, _ := in[name].(string); return s }

func integer(in object, name string) int64 {
	n, _ := in[name].(json.Number)
	v, _ := n.Int64()
	return v
}

func (f *Fake) next() int64 { f.made++; return 4_000_000_000 + f.made }

func (f *Fake) makeRecipient(in object) answer {
	to := recipient{str(in, "type"), str(in, "bank_code"), str(in, "account_number")}
	if strings.HasSuffix(to.number, NoAccount) {
		return refused("Account number is invalid")
	}
	for code, known := range f.recipients {
		if known == to {
			return answer{status: http.StatusCreated, message: "Transfer recipient created successfully", data: object{"recipient_code": code}}
		}
	}
	code := fmt.Sprintf("RCP_%d", f.next())
	f.recipients[code] = to
	return answer{status: http.StatusCreated, message: "Transfer recipient created successfully", data: object{"recipient_code": code}}
}

func (f *Fake) makeTransfer(in object) answer {
	to, ok := f.recipients[str(in, "recipient")]
	reference, amount := str(in, "reference"), integer(in, "amount")
	switch {
	case f.transfers[reference] != nil:
		return refused("Please provide a unique reference. Reference already exists on a transfer")
	case !ok:
		return refused("Recipient specified is invalid")
	case f.faults.EmptyFloat && !f.calm || amount > f.float:
		return refused("Your balance is not enough to fulfil this request")
	}
	o := &transfer{reference: reference, status: "pending", code: fmt.Sprintf("TRF_%d", f.next()), amount: amount, to: to, hidden: f.lag()}
	if f.faults.OTP && !f.calm {
		o.status = "otp"
	}
	f.transfers[reference] = o
	f.decideTransfer(o)
	return done(o.object())
}

// fee is what a transfer costs the operator: GHS 1 to mobile money, and GHS 8 to a bank.
func (o *transfer) fee() int64 {
	if o.to.kind == "ghipss" {
		return 8_00
	}
	return 1_00
}

func (o *transfer) object() object {
	return object{
		"amount": o.amount, "currency": "GHS", "domain": "live", "reference": o.reference, "status": o.status,
		"transfer_code": o.code, "source": "balance", "reason": nil, "fee_charged": o.fee(),
	}
}

func (f *Fake) verifyTransfer(reference string) answer {
	o := f.transfers[reference]
	if o == nil || f.hides(o.hidden) {
		return answer{status: http.StatusNotFound, message: "Transfer not found", code: "not_found"}
	}
	f.decideTransfer(o)
	return done(o.object())
}

func (f *Fake) makeCharge(in object) answer {
	reference, amount := str(in, "reference"), integer(in, "amount")
	wallet, _ := in["mobile_money"].(object)
	if f.transactions[reference] != nil {
		return refused("Duplicate Transaction Reference")
	}
	if !strings.Contains(str(in, "email"), "@") {
		return refused("Invalid Email Address Passed")
	}
	network := str(wallet, "provider")
	if !slices.Contains([]string{"mtn", "vod", "atl"}, network) || len(str(wallet, "phone")) != 10 {
		f.problems = append(f.problems, "POST /charge: mobile_money is not complete")
		return refused("One of Authorization code, card object, bank object, ussd object, mobile money object, qr object, or EFT object should be passed.")
	}
	o := &transaction{
		id: f.next(), reference: reference, amount: amount, phone: str(wallet, "phone"), status: "pay_offline", made: f.now(), hidden: f.lag(),
	}
	f.transactions[reference] = o
	if strings.HasSuffix(o.phone, AsksCode) {
		o.status = "send_otp"
	}
	f.decideCharge(o)
	return done(o.object(true))
}

// fee is what a charge costs the operator, 1.95%.
func (o *transaction) fee() int64 { return o.amount * 195 / 10_000 }

// object returns a charge as the calls of /charge show it, or as the verification does, which has
// other words for charges in progress.
func (o *transaction) object(steps bool) object {
	is := object{
		"id": o.id, "domain": "live", "status": o.status, "reference": o.reference, "amount": o.amount, "currency": "GHS", "fees": nil,
		"channel": "mobile_money", "gateway_response": "", "message": nil, "metadata": "",
		"created_at": o.made.UTC().Format(time.RFC3339),
	}
	switch o.status {
	case "success", "reversed":
		is["fees"], is["gateway_response"] = o.fee(), "Approved"
	case "failed":
		is["gateway_response"] = "Declined by " + o.phone
	case "send_otp":
		is["display_text"] = "Please dial *110# to generate a voucher code. Input the voucher when done"
	case "pay_offline":
		is["display_text"] = "Please complete authorisation process on your mobile phone"
	}
	if !steps && (o.status == "send_otp" || o.status == "pay_offline") {
		is["status"] = "ongoing"
		delete(is, "display_text")
	}
	return is
}

func (f *Fake) verifyCharge(op, reference string) answer {
	o := f.transactions[reference]
	if o == nil || f.hides(o.hidden) {
		return answer{status: http.StatusBadRequest, message: "Transaction reference not found.", code: "transaction_not_found"}
	}
	f.decideCharge(o)
	return done(o.object(op == "GET /charge/"))
}

func (f *Fake) submitCode(in object) answer {
	o := f.transactions[str(in, "reference")]
	switch {
	case o == nil:
		return refused("Transaction reference is invalid")
	case o.status != "send_otp":
		return refused("Charge attempt is not awaiting a code")
	case str(in, "otp") != Code:
		return refused("Provided registration token is invalid")
	}
	o.status = "pay_offline"
	f.decideCharge(o)
	return done(o.object(true))
}

func (f *Fake) makeRefund(in object) answer {
	o, amount := f.transactions[str(in, "transaction")], integer(in, "amount")
	switch {
	case o == nil:
		return refused("Transaction not found")
	case o.status == "reversed":
		return refused("Transaction has been fully reversed")
	case o.status != "success":
		return refused("Transaction is not successful")
	case amount <= 0 || o.back+amount > o.amount:
		return refused("Refund amount cannot be more than transaction amount")
	}
	r := &refund{id: f.next(), of: o, status: "pending", note: str(in, "merchant_note"), amount: amount, made: f.now(), hidden: f.lag()}
	o.back += amount
	f.refunds = append(f.refunds, r)
	f.decideRefund(r)
	made := r.object()
	made["transaction"] = object{"id": o.id, "reference": o.reference, "amount": o.amount, "domain": "live"}
	return done(made)
}

func (r *refund) object() object {
	return object{
		"id": r.id, "transaction": r.of.id, "status": r.status, "amount": r.amount, "currency": "GHS", "merchant_note": r.note,
		"customer_note": nil, "domain": "live", "createdAt": r.made.UTC().Format(time.RFC3339),
	}
}

func (f *Fake) listRefunds(query url.Values) answer {
	var all []listed
	for _, r := range f.refunds {
		f.decideRefund(r)
		all = append(all, listed{r.of, r.made, r.hidden, r.object()})
	}
	return f.list(all, query)
}

// listed is a row of a list.
type listed struct {
	of           *transaction
	made, hidden time.Time
	row          object
}

// list returns the page of a list that a query selects, the newest first.
func (f *Fake) list(rows []listed, query url.Values) answer {
	all := []object{}
	since, _ := time.Parse(time.RFC3339, query.Get("from"))
	of := query.Get("transaction")
	for _, r := range slices.Backward(rows) {
		if !f.hides(r.hidden) && !r.made.Before(since) && (of == "" || of == strconv.FormatInt(r.of.id, 10)) {
			all = append(all, r.row)
		}
	}
	n, _ := strconv.Atoi(query.Get("page"))
	n = max(n-1, 0) * 100
	return done(all[min(n, len(all)):min(n+100, len(all))])
}

func banks() []object {
	bank := func(name, code, kind string, active bool) object {
		return object{"name": name, "code": code, "type": kind, "currency": "GHS", "country": "Ghana", "active": active, "is_deleted": false}
	}
	return []object{
		bank("MTN", "MTN", "mobile_money", true), bank("Telecel", "VOD", "mobile_money", true), bank("AT Money", "ATL", "mobile_money", true),
		bank("GCB Bank", "040100", "ghipss", true), bank("Ecobank Ghana", "130100", "ghipss", true), bank("Old Bank", "999999", "ghipss", false),
	}
}
