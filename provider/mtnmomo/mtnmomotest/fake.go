// Package mtnmomotest is a fake of the MTN MoMo Open API for tests, of package mtnmomo and of your
// own code. A [Fake] keeps its orders by their reference, as MTN does, and its faults come from a
// seed. It is as strict as MTN's pages, and stricter where they are silent.
//
//	fake := mtnmomotest.New(1)
//	client, err := mtnmomo.New(mtnmomo.Config{
//		BaseURL: "https://mtn.example.com", HTTPClient: fake.Client(), // or httptest.NewServer(fake)
//		Collection:   mtnmomo.Credentials{SubscriptionKey: mtnmomotest.CollectionKey, APIUser: mtnmomotest.APIUser, APIKey: mtnmomotest.APIKey},
//		Disbursement: mtnmomo.Credentials{SubscriptionKey: mtnmomotest.DisbursementKey, APIUser: mtnmomotest.APIUser, APIKey: mtnmomotest.APIKey},
//	})
//
// The last three digits of a phone number decide, as they do in MTN's sandbox:
//
//	     charge                             transfer
//	450  fails                              fails
//	451  APPROVAL_REJECTED                  APPROVAL_REJECTED
//	452  EXPIRED                            EXPIRED
//	453  stays pending until Decide         stays pending until Decide
//	454  succeeds after one status query    succeeds after one status query
//	455  PAYER_NOT_FOUND                    NOT_ENOUGH_FUNDS
//	456  PAYEE_NOT_ALLOWED_TO_RECEIVE       PAYER_LIMIT_REACHED
//	457  NOT_ALLOWED                        PAYEE_NOT_FOUND
//	458  NOT_ALLOWED_TARGET_ENVIRONMENT     NOT_ALLOWED
//	459  INVALID_CALLBACK_URL_HOST          NOT_ALLOWED_TARGET_ENVIRONMENT
//	460  INVALID_CURRENCY                   INVALID_CALLBACK_URL_HOST
//	461  INTERNAL_PROCESSING_ERROR          INVALID_CURRENCY
//	462  SERVICE_UNAVAILABLE                INTERNAL_PROCESSING_ERROR
//	463  succeeds                           SERVICE_UNAVAILABLE
//
// These are the fake's own: charges of …470 succeed and their refunds fail, refunds of …471 stay
// pending, the wallet of …472 is not active, and …473 has none. All else succeeds at once.
package mtnmomotest

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"time"
)

// What the fake expects in requests, and the name of every account holder.
const (
	Environment     = "mtnghana"
	Currency        = "GHS"
	CollectionKey   = "fake-collection-subscription-key"
	DisbursementKey = "fake-disbursement-subscription-key"
	APIUser         = "c72025f5-5cd1-4630-99e4-8ba4722fad56"
	APIKey          = "fake-api-key"
	Name            = "Ama Mensah"
)

// Fake is the fake. It is an http.Handler and safe for concurrent use.
type Fake struct {
	mu       sync.Mutex
	dice     *rand.Rand
	now      func() time.Time
	users    map[string]string    // API keys by API user; empty until the key is made
	tokens   map[string]time.Time // when each ends
	issued   map[string]int       // tokens by product
	orders   map[string]*order    // by X-Reference-Id
	byID     map[string]*order    // by externalId, which also finds what MTN has forgotten
	moved    map[string]int       // by externalId
	float    int64
	ledger   []Entry
	calls    int
	faults   Faults
	next     []func(http.ResponseWriter) // answers to the next calls
	lose     string                      // "request" or "answer" of the next call
	receiver http.Handler
	pending  []Callback
}

// Kind is what an order does.
type Kind string

// The kinds.
const (
	Transfer Kind = "transfer"
	Charge   Kind = "requesttopay"
	Refund   Kind = "refund"
)

// order is an order as MTN keeps it.
type order struct {
	kind       Kind
	reference  string
	id         string // externalId
	number     string
	amount     int64
	refundOf   string // the reference of the charge
	callback   string // X-Callback-Url
	notes      [2]string
	status     string
	reason     string
	financial  string
	refunded   int64 // of a charge
	hidden     int   // so many status queries answer 404 yet
	wait       int   // so many status queries see it pending yet; never when negative
	planStatus string
	planReason string
}

// Entry is a movement of money.
type Entry struct {
	ID   string
	Kind Kind
	// Amount is in pesewas: positive when the operator gets it.
	Amount int64
}

// New returns a fake without orders, whose disbursement account has GHS 10,000,000.
func New(seed uint64) *Fake {
	return &Fake{
		dice: rand.New(rand.NewPCG(seed, seed)), now: time.Now, users: map[string]string{APIUser: APIKey},
		tokens: map[string]time.Time{}, issued: map[string]int{}, orders: map[string]*order{}, byID: map[string]*order{},
		moved: map[string]int{}, float: 1_000_000_000,
	}
}

// SetClock sets the clock by which tokens expire.
func (f *Fake) SetClock(now func() time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.now = now
}

// SetFloat sets how many pesewas the disbursement account has.
func (f *Fake) SetFloat(pesewas int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.float = pesewas
}

// Float returns how many pesewas the disbursement account has.
func (f *Fake) Float() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.float
}

// Collected returns how many pesewas the collection account has.
func (f *Fake) Collected() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.collected()
}

func (f *Fake) collected() (pesewas int64) {
	for _, e := range f.ledger {
		if e.Kind == Charge {
			pesewas += e.Amount
		}
	}
	return pesewas
}

// Moved returns how often money moved for the library's id.
func (f *Fake) Moved(id string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.moved[id]
}

// Ledger returns all movements of money.
func (f *Fake) Ledger() []Entry {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.ledger)
}

// Received returns the pesewas, the number and the two notes that arrived for the library's id. A
// refund has no number.
func (f *Fake) Received(id string) (pesewas int64, number string, notes [2]string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if o := f.byID[id]; o != nil {
		return o.amount, o.number, o.notes
	}
	return 0, "", notes
}

// Calls returns how many requests arrived, those for tokens included.
func (f *Fake) Calls() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls
}

// TokensIssued returns how many tokens a product, "collection" or "disbursement", gave out.
func (f *Fake) TokensIssued(product string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.issued[product]
}

// plan says what becomes of an order, by its number.
func (f *Fake) plan(o *order) {
	o.status, o.planStatus = "PENDING", "SUCCESSFUL"
	number := o.number
	if o.kind == Refund {
		if charge := f.orders[o.refundOf]; charge != nil {
			number = charge.number
		}
	}
	last := number[max(0, len(number)-3):]
	switch {
	case o.kind == Refund && last == "470":
		o.planStatus, o.planReason = "FAILED", "NOT_ALLOWED"
	case o.kind == Refund && last == "471", o.kind != Refund && last == "453":
		o.wait = -1
	case o.kind == Refund:
	case last == "454":
		o.wait = 1
	default:
		if reason := reasons[o.kind][last]; reason != "" {
			o.planStatus, o.planReason = "FAILED", reason
		}
	}
	if o.wait == 0 && f.chance(f.faults.Late) {
		o.wait = 1 + f.dice.IntN(4)
	}
	if f.chance(f.faults.Hidden) {
		o.hidden = 1 + f.dice.IntN(3)
	}
}

var reasons = map[Kind]map[string]string{
	Charge: {
		"450": "INTERNAL_PROCESSING_ERROR", "451": "APPROVAL_REJECTED", "452": "EXPIRED", "455": "PAYER_NOT_FOUND",
		"456": "PAYEE_NOT_ALLOWED_TO_RECEIVE", "457": "NOT_ALLOWED", "458": "NOT_ALLOWED_TARGET_ENVIRONMENT",
		"459": "INVALID_CALLBACK_URL_HOST", "460": "INVALID_CURRENCY", "461": "INTERNAL_PROCESSING_ERROR", "462": "SERVICE_UNAVAILABLE",
	},
	Transfer: {
		"450": "INTERNAL_PROCESSING_ERROR", "451": "APPROVAL_REJECTED", "452": "EXPIRED", "455": "NOT_ENOUGH_FUNDS",
		"456": "PAYER_LIMIT_REACHED", "457": "PAYEE_NOT_FOUND", "458": "NOT_ALLOWED", "459": "NOT_ALLOWED_TARGET_ENVIRONMENT",
		"460": "INVALID_CALLBACK_URL_HOST", "461": "INVALID_CURRENCY", "462": "INTERNAL_PROCESSING_ERROR", "463": "SERVICE_UNAVAILABLE",
	},
}

// decide ends an order, and moves the money of a success.
func (f *Fake) decide(o *order, status, reason string) {
	o.status, o.reason, o.wait = status, reason, 0
	if status == "SUCCESSFUL" {
		f.move(o)
	}
	if o.status == "SUCCESSFUL" {
		o.financial = fmt.Sprint(1_000_000 + len(f.ledger))
	}
	f.callBack(o)
}

// move moves the money of an order, or has the order fail.
func (f *Fake) move(o *order) {
	charge := f.orders[o.refundOf]
	switch {
	case o.kind == Refund && (charge == nil || charge.kind != Charge || charge.status != "SUCCESSFUL" || charge.refunded+o.amount > charge.amount):
		o.status, o.reason = "FAILED", "NOT_ALLOWED"
		return
	case o.kind != Charge && o.amount > f.float:
		o.status, o.reason = "FAILED", "NOT_ENOUGH_FUNDS"
		return
	}
	amount := o.amount
	if o.kind != Charge {
		amount = -amount
		f.float += amount
	}
	if o.kind == Refund {
		charge.refunded += o.amount
	}
	f.moved[o.id]++
	f.ledger = append(f.ledger, Entry{ID: o.id, Kind: o.kind, Amount: amount})
}

// Decide ends an order that is pending, by the library's id. reason is empty for SUCCESSFUL.
func (f *Fake) Decide(id, status, reason string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if o := f.byID[id]; o != nil && o.status == "PENDING" {
		f.decide(o, status, reason)
	}
}

// Reverse takes an order back that was successful: MTN then says that it failed. It calls back.
func (f *Fake) Reverse(id string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	o := f.byID[id]
	if o == nil || o.status != "SUCCESSFUL" {
		return
	}
	amount := -o.amount
	if o.kind != Charge {
		amount = o.amount
		f.float += amount
	}
	f.ledger = append(f.ledger, Entry{ID: id, Kind: o.kind, Amount: amount})
	o.status, o.reason = "FAILED", "TRANSACTION_CANCELED"
	f.callBack(o)
}

// Forget makes the fake forget an order, as MTN may do after some time. Another submission moves the
// money again.
func (f *Fake) Forget(id string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if o := f.byID[id]; o != nil {
		delete(f.orders, o.reference)
	}
}

// Settle ends the faults, and decides all orders but those that stay pending.
func (f *Fake) Settle() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.faults, f.next, f.lose = Faults{}, nil, ""
	for _, kind := range []Kind{Charge, Transfer, Refund} {
		for _, reference := range slices.Sorted(maps.Keys(f.orders)) {
			o := f.orders[reference]
			o.hidden = 0
			if o.kind == kind && o.status == "PENDING" && o.wait >= 0 {
				f.decide(o, o.planStatus, o.planReason)
			}
		}
	}
}
