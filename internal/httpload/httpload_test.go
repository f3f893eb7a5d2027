package httpload

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments/internal/expect"
	"github.com/seed-7082ffec/payments/internal/must"
)

func TestMain(m *testing.M) {
	if IsChild() {
		os.Exit(Main())
	}
	os.Exit(m.Run())
}

// sent counts what a server was asked for, and answers with a status.
type sent struct {
	mu     sync.Mutex
	seen   map[string]int
	keys   map[string]bool
	status int
}

func (s *sent) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	what := r.Method
	if r.Method == http.MethodPost {
		var body struct {
			Phone_Number string
			Destination  struct{ Service_ID, Phone_Number string }
		}
		switch err := json.NewDecoder(r.Body).Decode(&body); {
		case err == nil && body.Phone_Number != "" && r.URL.Path == "/v1/payments":
			what = "POST that asks a phone"
		case err != nil || (body.Destination.Service_ID == "") == (body.Destination.Phone_Number == ""):
			what = "a broken POST"
		case body.Destination.Phone_Number != "":
			what = "POST to a phone"
		}
	} else if r.URL.Query().Has("starting_after") {
		what = "list"
	}
	s.mu.Lock()
	s.seen[what+" "+r.Header.Get("Authorization")]++
	s.keys[r.Header.Get("X-Idempotency-Key")] = true
	s.mu.Unlock()
	w.WriteHeader(s.status)
	_, _ = io.WriteString(w, strings.Repeat("x", 100))
}

func serve(t *testing.T, status int) (*sent, Load) {
	s := &sent{seen: map[string]int{}, keys: map[string]bool{}, status: status}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	return s, Load{
		Address: strings.TrimPrefix(server.URL, "http://"), Connections: 3, Requests: 40, Keys: []string{"sk_1"}, Wallets: []string{"1", "2"},
	}
}

func TestRunSendsFromChildProcess(t *testing.T) {
	s, l := serve(t, http.StatusOK)
	done := must.Get(Run(t.Context(), l))(t)
	if len(done.Durations) != 40 || !slices.IsSorted(done.Durations) || done.Durations[0] <= 0 || done.Elapsed < done.Durations[39] {
		t.Errorf("it took %v, each %v", done.Elapsed, done.Durations)
	}
	expect.True(t, s.seen["POST Bearer sk_1"] == 40 && len(s.seen) == 1 && len(s.keys) == 40, "sent %v with %d idempotency keys", s.seen, len(s.keys))
}

func TestMixedLoadReads(t *testing.T) {
	s, l := serve(t, http.StatusOK)
	l.ReadIDs = []string{"po_1", "po_2"}
	must.Get(Run(t.Context(), l))(t)
	for what, want := range map[string]int{"POST": 10, "GET": 20, "list": 10} {
		expect.Equal(t, s.seen[what+" Bearer sk_1"], want, "%s", what)
	}
}

func TestGetOnlyLoadGetsEachTime(t *testing.T) {
	s, l := serve(t, http.StatusOK)
	l.ReadIDs, l.GetOnly = []string{"po_1", "po_2"}, true
	must.Get(Run(t.Context(), l))(t)
	expect.True(t, s.seen["GET Bearer sk_1"] == 40 && len(s.seen) == 1, "sent %v", s.seen)
}

func TestConnectionsUseSeveralServersInTurn(t *testing.T) {
	first, l := serve(t, http.StatusOK)
	second, other := serve(t, http.StatusOK)
	l.Addresses, l.Connections = []string{l.Address, other.Address}, 2
	l.Phones = []string{"0241234567"}
	must.Get(Run(t.Context(), l))(t)
	a, b := first.seen["POST to a phone Bearer sk_1"], second.seen["POST to a phone Bearer sk_1"]
	expect.True(t, a != 0 && b != 0 && a+b == 40, "sent %v and %v", first.seen, second.seen)
}

func TestLoadAsksPhones(t *testing.T) {
	s, l := serve(t, http.StatusOK)
	l.Phones, l.Ask = []string{"0241234567"}, true
	must.Get(Run(t.Context(), l))(t)
	expect.Equal(t, s.seen["POST that asks a phone Bearer sk_1"], 40, "sent %v", s.seen)
}

func TestLimitEndsLoad(t *testing.T) {
	_, l := serve(t, http.StatusOK)
	l.Requests, l.Limit = 1<<30, 50*time.Millisecond
	done := must.Get(Run(t.Context(), l))(t)
	expect.True(t, len(done.Durations) != 0 && done.Elapsed >= l.Limit, "%d requests in %v", len(done.Durations), done.Elapsed)
}

func TestRefusedRequestIsAnError(t *testing.T) {
	_, l := serve(t, http.StatusPaymentRequired)
	if _, err := Run(t.Context(), l); err == nil || !strings.Contains(err.Error(), "not answered 200") {
		t.Errorf("got %v", err)
	}
}
