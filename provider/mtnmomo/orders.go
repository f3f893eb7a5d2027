package mtnmomo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/phone"
	"github.com/seed-7082ffec/payments/provider"
)

// network is the only one that MTN reaches.
const network = phone.MTN

const (
	// visibleAfter is how long MTN may answer "not found" for an order that it has taken. It does so
	// for a short while; how short is unconfirmed.
	visibleAfter = 30 * time.Second
	// decidedAfter is how long after the deadline of a charge "not found" says nothing: the library
	// may have begun a submission, of at most 30 seconds, just before. Later it ends the charge.
	decidedAfter = visibleAfter + 30*time.Second
	// forgottenAfter is when "not found" stops proving that MTN never saw the order. How long MTN
	// keeps ids is not published. If it forgot one, a second submission would pay twice.
	forgottenAfter = 24 * time.Hour
)

// party is an account at MTN.
type party struct {
	Type string `json:"partyIdType"`
	ID   string `json:"partyId"`
}

func account(msisdn string) *party { return &party{Type: "MSISDN", ID: msisdn} }

// order is the body of a submission. A transfer has a Payee, a charge a Payer, and a refund neither.
type order struct {
	Amount   string `json:"amount"`
	Currency string `json:"currency"`
	// ExternalID is the library's id, by which a callback is found. That MTN takes its underscore is
	// unconfirmed.
	ExternalID string `json:"externalId"`
	Payee      *party `json:"payee,omitempty"`
	Payer      *party `json:"payer,omitempty"`
	// PayerMessage and PayeeNote stand in the histories of the two accounts.
	PayerMessage string `json:"payerMessage"`
	PayeeNote    string `json:"payeeNote"`
	// Refunded is the X-Reference-Id of the charge that a refund gives back.
	Refunded string `json:"referenceIdToRefund,omitempty"`
}

func (c *Client) order(o provider.Order, note string) order {
	return order{
		Amount: api.FromPesewas(o.Amount).StringFixed(2), Currency: c.cfg.Currency, ExternalID: o.ID,
		PayerMessage: note, PayeeNote: note,
	}
}

// refuse answers for an order that is never submitted.
func refuse(code api.Code, message string) (provider.Result, error) {
	return provider.Result{Outcome: provider.Refused, Reason: provider.Refusal{Code: code, Message: message}}, nil
}

// notMTN is the message for a number of another network.
const notMTN = "The number is not one of MTN's network."

// Submit implements provider.Rail.
func (c *Client) Submit(ctx context.Context, t provider.Transfer) (provider.Result, error) {
	to := payee(t.Channel, t.Network, t.Number)
	if to == "" {
		return refuse(api.InvalidDestination, notMTN)
	}
	body := c.order(t.Order, note(t.Description, "Transfer"))
	body.Payee = account(to)
	return c.submit(ctx, c.transfers, t.Order, body)
}

// payee returns the number of a transfer for MTN, or "".
func payee(channel provider.Channel, network, number string) string {
	if channel != provider.MobileMoney {
		return ""
	}
	return msisdn(network, number)
}

// Status implements provider.Rail.
func (c *Client) Status(ctx context.Context, t provider.Transfer) (provider.Result, error) {
	return c.status(ctx, c.transfers, t.Order)
}

// Charge implements provider.Charger. The payer has about five minutes to approve: MTN takes no
// deadline. A charge without a phone, or of another network, is refused.
func (c *Client) Charge(ctx context.Context, ch provider.Charge) (provider.Result, error) {
	from := msisdn(ch.Network, ch.Phone)
	switch {
	case ch.Phone == "":
		return refuse("", "The payment names no phone number of MTN's network.")
	case from == "":
		return refuse("", notMTN)
	}
	body := c.order(ch.Order, note(ch.Description, "Payment"))
	body.Payer = account(from)
	return c.submit(ctx, c.charges, ch.Order, body)
}

// ChargeStatus implements provider.Charger.
func (c *Client) ChargeStatus(ctx context.Context, ch provider.Charge) (provider.Result, error) {
	r, err := c.status(ctx, c.charges, ch.Order)
	if late := ch.Now.Sub(ch.Deadline); r.Outcome == provider.NotFound && late >= 0 && late < decidedAfter {
		r = c.charges.pending()
		r.PollAfter = decidedAfter - late
	}
	return r, err
}

// Refund implements provider.RefundRail. MTN pays refunds from the disbursement account. It is
// unconfirmed whether MTN accepts several partial refunds of one charge.
func (c *Client) Refund(ctx context.Context, r provider.Refund) (provider.Result, error) {
	body := c.order(r.Order, note(r.Reason, "Refund"))
	body.Refunded = ReferenceID(r.Charge)
	return c.submit(ctx, c.refunds, r.Order, body)
}

// RefundStatus implements provider.RefundRail.
func (c *Client) RefundStatus(ctx context.Context, r provider.Refund) (provider.Result, error) {
	return c.status(ctx, c.refunds, r.Order)
}

// submit hands an order to MTN. A 202 says only that MTN has taken it.
func (c *Client) submit(ctx context.Context, f *flow, o provider.Order, body order) (provider.Result, error) {
	if err := c.checkMode(o.Live); err != nil {
		return provider.Result{}, err
	}
	a, err := c.call(ctx, f.product, request{
		what: "submit " + f.name(), method: http.MethodPost, path: f.path, reference: ReferenceID(o.ID), callback: c.cfg.CallbackURL, body: body,
	})
	if err != nil {
		return provider.Result{}, err
	}
	switch {
	case a.status == http.StatusAccepted:
		return f.pending(), nil
	case a.status == http.StatusConflict && a.code == alreadyExists:
		// MTN has the order, and does not answer with its state.
		r, known, err := c.look(ctx, f, o)
		var busy busyError
		if err == nil && !known || errors.As(err, &busy) {
			return f.pending(), nil
		}
		return r, err
	case a.status == http.StatusBadRequest:
		return c.malformed(ctx, f, o, a)
	}
	return provider.Result{}, a.err()
}

// malformed answers for a submission that MTN finds malformed. MTN has not carried out this one,
// but it may have taken an earlier one. If the settings are wrong, or the answer may be a gateway's,
// the order waits for the repair.
func (c *Client) malformed(ctx context.Context, f *flow, o provider.Order, a *answer) (provider.Result, error) {
	r, known, err := c.look(ctx, f, o)
	if err != nil || known {
		return r, err
	}
	if waited := o.Now.Sub(o.SubmittedAt); o.Attempts > 1 && (waited < visibleAfter || waited >= forgottenAfter) {
		return provider.Result{}, a.err()
	}
	var object struct{}
	if json.Unmarshal(a.body, &object) != nil || reasons[a.code].alert == repair {
		c.alert(ctx, o.ID, repair)
		return provider.Result{}, a.err()
	}
	c.alert(ctx, o.ID, "MTN finds a request malformed; report it with the order's amount and note")
	if f.charge {
		return refuse("", noCharge)
	}
	return refuse(Failed, noTransfer)
}

// status asks MTN about an order.
func (c *Client) status(ctx context.Context, f *flow, o provider.Order) (provider.Result, error) {
	if err := c.checkMode(o.Live); err != nil {
		return provider.Result{}, err
	}
	r, known, err := c.look(ctx, f, o)
	var busy busyError
	if errors.As(err, &busy) {
		r = f.pending()
		r.PollAfter = time.Duration(busy)
		return r, nil
	}
	if err != nil || known {
		return r, err
	}
	r = f.pending()
	switch waited := o.Now.Sub(o.SubmittedAt); {
	case waited < visibleAfter:
		r.PollAfter = min(visibleAfter, visibleAfter-waited)
	case waited >= forgottenAfter:
		c.alert(ctx, o.ID, "MTN does not know an order that was submitted more than a day ago, and may have forgotten it; find out at MTN what happened, and report it with Notify")
	default:
		return provider.Result{Outcome: provider.NotFound}, nil
	}
	return r, nil
}

// busyError says that the status queries of this second are used up, and how long to wait.
type busyError time.Duration

func (e busyError) Error() string {
	return fmt.Sprintf("mtnmomo: too many status queries, again after %s", time.Duration(e))
}

// Unwrap gives the error its class.
func (busyError) Unwrap() error {
	return &provider.Error{Route: Route, Class: provider.ClassThrottled}
}

// look asks MTN for the state of an order. known is false if MTN does not know the id. Beyond the
// limit of status queries, look returns a busyError and asks nothing.
func (c *Client) look(ctx context.Context, f *flow, o provider.Order) (r provider.Result, known bool, err error) {
	// Those that wait come back over as many seconds as they need.
	if n := c.queries.count(c.cfg.Now()); n > c.cfg.StatusQueries {
		return provider.Result{}, false, busyError(time.Duration((n-1)/c.cfg.StatusQueries) * time.Second)
	}
	a, err := c.call(ctx, f.product, request{what: "status of " + f.name(), method: http.MethodGet, path: f.path + "/" + ReferenceID(o.ID)})
	if err != nil {
		return provider.Result{}, false, err
	}
	// A 404 without this word comes from a gateway that does not know the path.
	if a.status == http.StatusNotFound && a.code == notFound {
		return provider.Result{}, false, nil
	}
	if a.status != http.StatusOK {
		return provider.Result{}, false, a.err()
	}
	var s state
	if err := a.decode(&s); err != nil {
		return provider.Result{}, false, err
	}
	if s.Status == "" {
		return provider.Result{}, false, failed(provider.ClassUnreadable, "mtnmomo: %s: the answer has no status", a.what)
	}
	r, err = c.result(ctx, f, o, s)
	return r, err == nil, err
}

func (f *flow) name() string { return strings.TrimPrefix(f.path, "/v1_0/") }

// Check implements provider.Checker: it refuses numbers of other networks, and numbers whose wallet
// is not active.
func (c *Client) Check(ctx context.Context, t provider.Transfer) error {
	if err := c.checkMode(t.Live); err != nil {
		return err
	}
	to := payee(t.Channel, t.Network, t.Number)
	if to == "" {
		return &provider.Refusal{Code: api.InvalidDestination, Message: notMTN}
	}
	var active struct{ Result *bool }
	if err := c.holder(ctx, to, "active", &active); err != nil {
		return err
	}
	if active.Result == nil {
		return failed(provider.ClassUnreadable, "mtnmomo: active: the answer has no result")
	}
	if !*active.Result {
		return &provider.Refusal{Code: api.RecipientUnavailable, Message: "The number has no active MTN MoMo wallet."}
	}
	return nil
}

// AccountName implements provider.NameEnquirer. MTN also answers the birth date and sex of the
// holder, which are thrown away.
func (c *Client) AccountName(ctx context.Context, e provider.Enquiry) (string, error) {
	if err := c.checkMode(e.Live); err != nil {
		return "", err
	}
	of := payee(e.Channel, e.Network, e.Number)
	if of == "" {
		return "", &provider.Refusal{Code: api.InvalidDestination, Message: notMTN}
	}
	var names struct {
		Given  text `json:"given_name"`
		Family text `json:"family_name"`
		Name   text // some countries answer this
	}
	if err := c.holder(ctx, of, "basicuserinfo", &names); err != nil {
		return "", err
	}
	name := strings.Join(strings.Fields(string(names.Given+" "+names.Family)), " ")
	if name == "" {
		name = strings.Join(strings.Fields(string(names.Name)), " ")
	}
	if name == "" {
		return "", failed(provider.ClassUnreadable, "mtnmomo: basicuserinfo: the answer has no name")
	}
	return name, nil
}

// holder asks about the holder of a wallet. It returns a *provider.Refusal if MTN knows none. One
// of MTN's schemas writes MSISDN in capitals, and other integrations do not: unconfirmed.
func (c *Client) holder(ctx context.Context, msisdn, question string, v any) error {
	err := c.get(ctx, c.transfers.product, question, "/v1_0/accountholder/msisdn/"+msisdn+"/"+question, v)
	if errors.Is(err, errUnknown) {
		return &provider.Refusal{Code: api.InvalidDestination, Message: "The number has no MTN MoMo wallet."}
	}
	return err
}

var errUnknown = errors.New("mtnmomo: MTN does not know it")

// get asks a product for something that is no order.
func (c *Client) get(ctx context.Context, p *product, what, path string, v any) error {
	a, err := c.call(ctx, p, request{what: what, method: http.MethodGet, path: path})
	switch {
	case err != nil:
		return err
	case a.status == http.StatusNotFound && a.code == notFound:
		return errUnknown
	case a.status != http.StatusOK:
		return a.err()
	}
	return a.decode(v)
}
