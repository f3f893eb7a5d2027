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

	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
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
	must.True(t, len(done.Durations) == 40, "it took %v, each %v", done.Elapsed, done.Durations)
	expect.True(t, slices.IsSorted(done.Durations), "it took %v, each %v", done.Elapsed, done.Durations)
	expect.True(t, done.Durations[0] > 0, "it took %v, each %v", done.Elapsed, done.Durations)
	expect.True(t, done.Elapsed >= done.Durations[39], "it took %v, each %v", done.Elapsed, done.Durations)
	expect.Equal(t, s.seen["POST Bearer sk_1"], 40, "POST Bearer sk_1")
	expect.Equal(t, len(s.seen), 1, "kinds of requests")
	expect.Equal(t, len(s.keys), 40, "number of keys")
}

func TestKindsOfLoad(t *testing.T) {
	ids, phones := []string{"po_1", "po_2"}, []string{"0241234567"}
	for name, tt := range map[string]struct {
		change func(*Load)
		want   map[string]int
	}{
		"a mix":    {func(l *Load) { l.ReadIDs = ids }, map[string]int{"POST": 10, "GET": 20, "list": 10}},
		"get only": {func(l *Load) { l.ReadIDs, l.GetOnly = ids, true }, map[string]int{"GET": 40}},
		"ask":      {func(l *Load) { l.Phones, l.Ask = phones, true }, map[string]int{"POST that asks a phone": 40}},
	} {
		s, l := serve(t, http.StatusOK)
		tt.change(&l)
		must.Get(Run(t.Context(), l))(t)
		for what, want := range tt.want {
			expect.Equal(t, s.seen[what+" Bearer sk_1"], want, "%s: %s", name, what)
		}
		expect.Equal(t, len(s.seen), len(tt.want), "%s: sent %v", name, s.seen)
	}
}

func TestConnectionsUseSeveralServersInTurn(t *testing.T) {
	first, l := serve(t, http.StatusOK)
	second, other := serve(t, http.StatusOK)
	l.Addresses, l.Connections = []string{l.Address, other.Address}, 2
	l.Phones = []string{"0241234567"}
	must.Get(Run(t.Context(), l))(t)
	a, b := first.seen["POST to a phone Bearer sk_1"], second.seen["POST to a phone Bearer sk_1"]
	expect.True(t, a != 0, "sent %v and %v", first.seen, second.seen)
	expect.True(t, b != 0, "sent %v and %v", first.seen, second.seen)
	expect.True(t, a+b == 40, "sent %v and %v", first.seen, second.seen)
}

func TestLimitEndsLoad(t *testing.T) {
	_, l := serve(t, http.StatusOK)
	l.Requests, l.Limit = 1<<30, 50*time.Millisecond
	done := must.Get(Run(t.Context(), l))(t)
	expect.True(t, len(done.Durations) != 0, "%d requests in %v", len(done.Durations), done.Elapsed)
	expect.True(t, done.Elapsed >= l.Limit, "%d requests in %v", len(done.Durations), done.Elapsed)
}

func TestRefusedRequestIsAnError(t *testing.T) {
	_, l := serve(t, http.StatusPaymentRequired)
	if _, err := Run(t.Context(), l); err == nil || !strings.Contains(err.Error(), "not answered 200") {
		t.Errorf("got %v", err)
	}
}
