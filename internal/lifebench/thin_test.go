package lifebench

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments/internal/ids"
)

// thinServer does the least that a payment server must do for a request that moves money: it finds
// the merchant by the hash of the key, decodes the request, writes in one commit, and answers. It
// checks little, and knows no providers, no limits and no fees.
type thinServer struct {
	address, key string
	keys         map[[sha256.Size]byte]string // to the merchant
	ids          *ids.Source
	waiting      chan *thinCall
	thinTables
}

// thinCall is what one request writes.
type thinCall struct {
	merchant, idempotencyKey  string
	objectID, eventID, postID string
	object, event             []byte
	to                        int // an account; account 0 pays
	amount                    int64
	done                      chan error
}

// thinTables write all calls in one transaction: of each the idempotency key with the answer, the
// object, the event, and a posting with two entries. They write each changed balance once.
type thinTables interface {
	write(calls []*thinCall) error
	count(b testing.TB, query string) int64
}

// errRepeated means that an idempotency key was used before. None of the calls is written.
var errRepeated = errors.New("an idempotency key was used before")

const (
	thinGroup    = 256 // how many calls may share a commit
	thinAccounts = 65  // the merchant's, and 64 that get money
)

// openThin returns a running thin server.
func openThin(b testing.TB, on backend) *thinServer {
	b.Helper()
	s := &thinServer{key: "sk_test_thin", ids: ids.New(time.Now, nil), waiting: make(chan *thinCall, thinGroup)}
	s.keys = map[[sha256.Size]byte]string{sha256.Sum256([]byte(s.key)): s.ids.Make("mer_")}
	s.thinTables = on.thin(b, thinAccounts)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.commit()
	}()
	b.Cleanup(func() {
		close(s.waiting)
		<-ended
	})
	s.address, _ = listen(b, s)
	return s
}

// commit writes what waits, all together, again and again.
func (s *thinServer) commit() {
	var calls []*thinCall
	for call := range s.waiting {
		calls = append(calls[:0], call)
		for more := true; more && len(calls) < thinGroup; {
			select {
			case call, ok := <-s.waiting:
				if more = ok; ok {
					calls = append(calls, call)
				}
			default:
				more = false
			}
		}
		err := s.write(calls)
		for _, call := range calls {
			call.done <- err
		}
	}
}

// thinObject is a disbursement as the library shows it.
type thinObject struct {
	ID                string          `json:"id"`
	Object            string          `json:"object"`
	Amount            json.Number     `json:"amount"`
	Currency          string          `json:"currency"`
	Fee               float64         `json:"fee"`
	Status            string          `json:"status"`
	Destination       thinDestination `json:"destination"`
	Description       string          `json:"description"`
	Reference         string          `json:"reference"`
	Metadata          struct{}        `json:"metadata"`
	ProviderReference *string         `json:"provider_reference"`
	FailureReason     *string         `json:"failure_reason"`
	CreatedAt         time.Time       `json:"created_at"`
	CompletedAt       *time.Time      `json:"completed_at"`
}

type thinDestination struct {
	Type        string `json:"type"`
	PhoneNumber string `json:"phone_number,omitempty"`
	ServiceID   string `json:"service_id,omitempty"`
}

type thinEvent struct {
	ID        string    `json:"id"`
	Object    string    `json:"object"`
	Type      string    `json:"type"`
	CreatedAt time.Time `json:"created_at"`
	Data      struct {
		Object json.RawMessage `json:"object"`
	} `json:"data"`
}

// ServeHTTP implements [http.Handler].
func (s *thinServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	merchant := s.keys[sha256.Sum256([]byte(token))]
	if merchant == "" {
		http.Error(w, "no such key", http.StatusUnauthorized)
		return
	}
	var p struct {
		Amount      json.Number     `json:"amount"`
		Destination thinDestination `json:"destination"`
		Reference   string          `json:"reference"`
	}
	key := r.Header.Get("X-Idempotency-Key")
	err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20)).Decode(&p)
	amount, bad := p.Amount.Float64()
	if err != nil || bad != nil || amount <= 0 || key == "" || p.Destination.Type == "" {
		http.Error(w, "the request is not valid", http.StatusBadRequest)
		return
	}
	now := time.Now().UTC()
	o := thinObject{
		ID: s.ids.Make("po_"), Object: "disbursement", Amount: p.Amount, Currency: "GHS", Status: "pending",
		Destination: p.Destination, Reference: p.Reference, CreatedAt: now,
	}
	e := thinEvent{ID: s.ids.Make("evt_"), Object: "event", Type: "disbursement.pending", CreatedAt: now}
	call := &thinCall{
		merchant: merchant, idempotencyKey: key, objectID: o.ID, eventID: e.ID, postID: s.ids.Make("txn_"),
		amount: int64(amount*100 + 0.5), to: 1, done: make(chan error, 1),
	}
	for _, c := range []byte(p.Destination.PhoneNumber + p.Destination.ServiceID) {
		call.to += int(c)
	}
	call.to = 1 + call.to%(thinAccounts-1)
	if call.object, err = json.Marshal(o); err == nil {
		e.Data.Object = call.object
		call.event, err = json.Marshal(e)
	}
	if err == nil {
		s.waiting <- call
		err = <-call.done
	}
	switch {
	case errors.Is(err, errRepeated):
		http.Error(w, err.Error(), http.StatusConflict)
	case err != nil:
		http.Error(w, err.Error(), http.StatusInternalServerError)
	default:
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(call.object)
	}
}

// thinAccount is an account of the ledger, of which the committer keeps the state.
type thinAccount struct {
	balance, entries int64
	changed          bool
}

// thinLedger is the state of all accounts.
type thinLedger []thinAccount

func newThinLedger(accounts int) thinLedger {
	l := make(thinLedger, accounts)
	l[0].balance = 1 << 50
	return l
}

// move adds an entry to an account.
func (l thinLedger) move(account int, amount int64) (number, balance int64) {
	a := &l[account]
	a.entries++
	a.balance += amount
	a.changed = true
	return a.entries, a.balance
}

// takeChanged calls write for each account that has changed since the last call.
func (l thinLedger) takeChanged(write func(account int, a thinAccount)) {
	for i := range l {
		if l[i].changed {
			l[i].changed = false
			write(i, l[i])
		}
	}
}
