package mtnmomotest

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// tokenLife is how long a token is good.
const tokenLife = time.Hour

var (
	uuids   = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
	notes   = regexp.MustCompile(`^[A-Za-z0-9 ]{0,128}$`)
	amounts = regexp.MustCompile(`^(0|[1-9][0-9]{0,12})(?:\.([0-9]{1,2}))?$`)
	numbers = regexp.MustCompile(`^[1-9][0-9]{7,14}$`)
)

// refusal is an answer that is no success.
type refusal struct {
	status int
	code   string
}

func (r *refusal) Error() string { return r.code }

// fail writes an error as MTN does.
func fail(w http.ResponseWriter, status int, code string) {
	write(w, status, map[string]string{"code": code, "message": "The fake says so."})
}

func write(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

// ServeHTTP implements http.Handler.
func (f *Fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 64<<10))
	if err != nil {
		fail(w, http.StatusBadRequest, "")
		return
	}
	answer, early, receiver := f.serve(r, body)
	for _, c := range early { // the lock is free: the receiver asks the fake
		c.deliver(receiver)
	}
	answer(w)
}

// serve handles a request, with its faults. It returns the answer, and the callbacks to deliver
// before it.
func (f *Fake) serve(r *http.Request, body []byte) (answer func(http.ResponseWriter), early []Callback, receiver http.Handler) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls++
	product, path, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	if path == "token/" || product == "v1_0" {
		return f.handle(r, product, path, body), nil, nil
	}
	lose := f.lose
	f.lose = ""
	switch {
	case len(f.next) > 0:
		answer, f.next = f.next[0], f.next[1:]
		return answer, nil, nil
	case lose == "request":
		return cut, nil, nil
	case f.chance(f.faults.BadToken):
		clear(f.tokens)
	case f.chance(f.faults.TooMany):
		return func(w http.ResponseWriter) { w.WriteHeader(http.StatusTooManyRequests) }, nil, nil
	case f.chance(f.faults.LostRequest):
		return f.lost(), nil, nil
	}
	before := len(f.pending)
	answer = f.handle(r, product, path, body)
	if f.chance(f.faults.Doubled) {
		answer = f.handle(r, product, path, body)
	}
	if f.receiver != nil && len(f.pending) > before && f.chance(f.faults.EarlyCallback) {
		early, f.pending = f.pending, nil
	}
	switch {
	case lose == "answer":
		answer = cut
	case f.chance(f.faults.LostAnswer):
		answer = f.lost()
	}
	return answer, early, f.receiver
}

// handle carries a request out, and returns the answer.
func (f *Fake) handle(r *http.Request, product, path string, body []byte) func(http.ResponseWriter) {
	w := httptest.NewRecorder()
	v, status, err := f.route(r, product, path, body)
	var refused *refusal
	switch {
	case errors.As(err, &refused):
		fail(w, refused.status, refused.code)
	case v == nil:
		w.WriteHeader(status)
	default:
		write(w, status, v)
	}
	return func(to http.ResponseWriter) {
		for name, values := range w.Header() {
			to.Header()[name] = values
		}
		to.WriteHeader(w.Code)
		_, _ = to.Write(w.Body.Bytes())
	}
}

func (f *Fake) route(r *http.Request, product, path string, body []byte) (any, int, error) {
	if product == "v1_0" {
		return f.provision(r, path, body)
	}
	if want := map[string]string{"collection": CollectionKey, "disbursement": DisbursementKey}[product]; want == "" || r.Header.Get("Ocp-Apim-Subscription-Key") != want {
		return nil, 0, &refusal{http.StatusUnauthorized, ""}
	}
	if path == "token/" && r.Method == http.MethodPost {
		return f.token(r, product, body)
	}
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if ends, ok := f.tokens[token]; !ok || !f.now().Before(ends) || !strings.HasPrefix(token, product) {
		return nil, 0, &refusal{http.StatusUnauthorized, ""}
	}
	if r.Header.Get("X-Target-Environment") != Environment {
		return nil, 0, &refusal{http.StatusInternalServerError, "NOT_ALLOWED_TARGET_ENVIRONMENT"}
	}
	version, what, _ := strings.Cut(path, "/")
	what, rest, _ := strings.Cut(what, "/")
	kind := Kind(what)
	ours := kind == Charge && product == "collection" || (kind == Transfer || kind == Refund) && product == "disbursement"
	switch {
	case version != "v1_0":
	case ours && rest == "" && r.Method == http.MethodPost:
		return nil, http.StatusAccepted, f.submit(r, kind, body)
	case ours && r.Method == http.MethodGet && len(body) == 0:
		v, err := f.status(kind, rest)
		return v, http.StatusOK, err
	case path == "v1_0/account/balance" && r.Method == http.MethodGet:
		money := f.float
		if product == "collection" {
			money = f.collected()
		}
		return map[string]string{"availableBalance": fmt.Sprintf("%d.%02d", money/100, money%100), "currency": Currency}, http.StatusOK, nil
	case what == "accountholder" && r.Method == http.MethodGet:
		return holder(rest)
	}
	return nil, 0, &refusal{http.StatusNotFound, ""} // the gateway knows no such path
}

func (f *Fake) provision(r *http.Request, path string, body []byte) (any, int, error) {
	user, isKey := strings.CutSuffix(strings.TrimPrefix(path, "apiuser/"), "/apikey")
	switch key := r.Header.Get("Ocp-Apim-Subscription-Key"); {
	case key != CollectionKey && key != DisbursementKey:
		return nil, 0, &refusal{http.StatusUnauthorized, ""}
	case path == "apiuser" && r.Method == http.MethodPost:
		user = r.Header.Get("X-Reference-Id")
		if !uuids.MatchString(user) || len(body) == 0 {
			return nil, 0, &refusal{http.StatusBadRequest, ""}
		}
		if _, taken := f.users[user]; taken {
			return nil, 0, &refusal{http.StatusConflict, "RESOURCE_ALREADY_EXIST"}
		}
		f.users[user] = ""
		return nil, http.StatusCreated, nil
	case isKey && r.Method == http.MethodPost:
		if _, known := f.users[user]; !known {
			return nil, 0, &refusal{http.StatusNotFound, "RESOURCE_NOT_FOUND"}
		}
		sum := sha256.Sum256([]byte(user))
		f.users[user] = fmt.Sprintf("%x", sum[:16])
		return map[string]string{"apiKey": f.users[user]}, http.StatusCreated, nil
	}
	return nil, 0, &refusal{http.StatusNotFound, ""}
}

func (f *Fake) token(r *http.Request, product string, body []byte) (any, int, error) {
	user, key, ok := r.BasicAuth()
	switch {
	case len(body) > 0:
		return nil, 0, &refusal{http.StatusBadRequest, ""}
	case !ok || key == "" || f.users[user] != key:
		return nil, 0, &refusal{http.StatusUnauthorized, ""}
	}
	f.issued[product]++
	token := fmt.Sprintf("%s-token-%d", product, f.issued[product])
	f.tokens[token] = f.now().Add(tokenLife)
	return map[string]any{"access_token": token, "token_type": "access_token", "expires_in": int(tokenLife.Seconds())}, http.StatusOK, nil
}

// party is an account.
type party struct {
	Type string `json:"partyIdType"`
	ID   string `json:"partyId"`
}

// state is the body of submissions, of answers about orders, and of callbacks.
type state struct {
	Amount       string `json:"amount"`
	Currency     string `json:"currency"`
	Financial    string `json:"financialTransactionId,omitempty"`
	ExternalID   string `json:"externalId"`
	Payee        *party `json:"payee,omitempty"`
	Payer        *party `json:"payer,omitempty"`
	PayerMessage string `json:"payerMessage"`
	PayeeNote    string `json:"payeeNote"`
	Refunded     string `json:"referenceIdToRefund,omitempty"`
	Status       string `json:"status,omitempty"`
	Reason       any    `json:"reason,omitempty"`
}

// submit takes an order.
func (f *Fake) submit(r *http.Request, kind Kind, body []byte) error {
	var s state
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	bad := &refusal{http.StatusBadRequest, ""}
	if d.Decode(&s) != nil || r.Header.Get("Content-Type") != "application/json" || s.Status != "" {
		return bad
	}
	o := &order{
		kind: kind, reference: r.Header.Get("X-Reference-Id"), id: s.ExternalID, refundOf: s.Refunded,
		callback: r.Header.Get("X-Callback-Url"), notes: [2]string{s.PayerMessage, s.PayeeNote},
	}
	amount := amounts.FindStringSubmatch(s.Amount)
	if amount == nil || !uuids.MatchString(o.reference) || !notes.MatchString(s.PayerMessage) || !notes.MatchString(s.PayeeNote) {
		return bad
	}
	o.amount, _ = strconv.ParseInt(amount[1]+(amount[2] + "00")[:2], 10, 64)
	of := map[Kind]*party{Charge: s.Payer, Transfer: s.Payee}[kind]
	switch {
	case o.amount <= 0, (kind == Charge) != (s.Payer != nil), (kind == Transfer) != (s.Payee != nil), (kind == Refund) != uuids.MatchString(s.Refunded):
		return bad
	case of != nil && (of.Type != "MSISDN" || !numbers.MatchString(of.ID)):
		return bad
	case s.Currency != Currency:
		return &refusal{http.StatusInternalServerError, "INVALID_CURRENCY"}
	case o.callback != "" && !isCallback(o.callback):
		return &refusal{http.StatusInternalServerError, "INVALID_CALLBACK_URL_HOST"}
	case f.orders[o.reference] != nil:
		return &refusal{http.StatusConflict, "RESOURCE_ALREADY_EXIST"}
	}
	if of != nil {
		o.number = of.ID
	}
	f.orders[o.reference], f.byID[o.id] = o, o
	f.plan(o)
	f.forge(o)
	if o.wait == 0 {
		f.decide(o, o.planStatus, o.planReason)
	}
	return nil
}

// isCallback reports whether MTN calls an address back: https on port 443 of a host with a name.
func isCallback(address string) bool {
	u, err := url.Parse(address)
	return err == nil && u.Scheme == "https" && u.Hostname() != "" && net.ParseIP(u.Hostname()) == nil && (u.Port() == "" || u.Port() == "443")
}

// status answers about an order.
func (f *Fake) status(kind Kind, reference string) (*state, error) {
	o := f.orders[reference]
	if o == nil || o.kind != kind {
		return nil, &refusal{http.StatusNotFound, "RESOURCE_NOT_FOUND"}
	}
	if o.hidden > 0 {
		o.hidden--
		return nil, &refusal{http.StatusNotFound, "RESOURCE_NOT_FOUND"}
	}
	if o.status == "PENDING" && o.wait == 0 {
		f.decide(o, o.planStatus, o.planReason)
	} else if o.wait > 0 {
		o.wait--
	}
	s := o.body()
	if o.reason != "" && f.dice.IntN(2) == 0 { // as in the schema
		s.Reason = map[string]string{"code": o.reason, "message": "The fake says so."}
	}
	return &s, nil
}

func (o *order) body() state {
	s := state{
		Amount: fmt.Sprintf("%d.%02d", o.amount/100, o.amount%100), Currency: Currency, Financial: o.financial, ExternalID: o.id,
		PayerMessage: o.notes[0], PayeeNote: o.notes[1], Status: o.status,
	}
	if o.reason != "" {
		s.Reason = o.reason
	}
	switch o.kind {
	case Charge:
		s.Payer = &party{"MSISDN", o.number}
	case Transfer:
		s.Payee = &party{"MSISDN", o.number}
	}
	return s
}

// holder answers about the holder of a wallet.
func holder(rest string) (any, int, error) {
	parts := strings.Split(rest, "/")
	if len(parts) != 3 || parts[0] != "msisdn" || !numbers.MatchString(parts[1]) {
		return nil, 0, &refusal{http.StatusBadRequest, ""}
	}
	last := parts[1][len(parts[1])-3:]
	switch parts[2] {
	case "active":
		return map[string]bool{"result": last != "472" && last != "473"}, http.StatusOK, nil
	case "basicuserinfo":
		if last == "473" {
			return nil, 0, &refusal{http.StatusNotFound, "RESOURCE_NOT_FOUND"}
		}
		given, family, _ := strings.Cut(Name, " ")
		return map[string]string{
			"given_name": given, "family_name": family, "birthdate": "1990-01-01", "gender": "FEMALE", "locale": "en_GH", "status": "ACTIVE",
		}, http.StatusOK, nil
	}
	return nil, 0, &refusal{http.StatusNotFound, ""}
}
