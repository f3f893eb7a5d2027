package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"log/slog"
	"net/http"
	"net/url"
	"strings"

	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/provider/mtnmomo"
)

// sandbox is MTN_TARGET_ENVIRONMENT of MTN's sandbox.
const sandbox = "sandbox"

const mtnFloat = "The float is empty: the disbursement account at MTN has less than GHS 1.00. Put money into it on the partner portal. No money has moved."

var mtnFailures = []failure{
	{word: "invalid_callback_url_host", says: "MTN does not take the address of the callbacks (INVALID_CALLBACK_URL_HOST). Its host must be the one that the API user was made with (providerCallbackHost): make a new API user, or change PAYMENTS_BASE_URL."},
	{word: "not_allowed_target_environment", says: "MTN does not take the target environment (NOT_ALLOWED_TARGET_ENVIRONMENT). Set MTN_TARGET_ENVIRONMENT to what MTN told you: mtnghana, or sandbox with the host of the sandbox. Keys of the sandbox do not work in production."},
	{word: "invalid_currency", says: "MTN does not take the currency (INVALID_CURRENCY). The sandbox takes EUR, and production GHS: is MTN_TARGET_ENVIRONMENT right for the host?"},
	{word: "payer_limit_reached", says: "The limit of your disbursement account at MTN is reached. Ask MTN to raise it, or wait a day."},
	{path: "/transfer", word: "not_enough_funds", says: mtnFloat},
	{status: http.StatusUnauthorized, path: "/collection/token/", says: "MTN gives no token for Collections (401). Compare MTN_COLLECTION_SUBSCRIPTION, MTN_COLLECTION_USER and MTN_COLLECTION_KEY with the portal. They are those of this product, and a key that was made again makes the old one void."},
	{status: http.StatusUnauthorized, path: "/disbursement/token/", says: "MTN gives no token for Disbursements (401). Compare MTN_DISBURSEMENT_SUBSCRIPTION, MTN_DISBURSEMENT_USER and MTN_DISBURSEMENT_KEY with the portal. They are those of this product, and a key that was made again makes the old one void."},
	{status: http.StatusUnauthorized, says: "MTN gave a token and then does not accept it (401). Is the subscription of this product active on the portal?"},
	{status: http.StatusForbidden, says: "MTN takes no calls from the address of this machine (403: it is not whitelisted). Give MTN the public address of each server that sends money."},
	{status: http.StatusTooManyRequests, says: "Too many calls (429). Wait some minutes, and try again."},
	{status: 5, says: "MTN has trouble of its own (5xx). Try again later, and ask MTN if it stays."},
	{status: noAnswer, says: "MTN does not answer. Does this machine reach the host of MTN_BASE_URL? Look at DNS and firewall. MTN may also drop calls from addresses that it does not list."},
	{status: http.StatusNotFound, unless: "resource_not_found", says: "The host does not know the call (404). Compare MTN_BASE_URL with the host that MTN told you."},
}

func (d *doctor) mtn(ctx context.Context) {
	collection, takes := d.product("COLLECTION", "Collections")
	disbursement, sends := d.product("DISBURSEMENT", "Disbursements")
	if !takes && !sends {
		return
	}
	callback := d.callback()
	environment := d.env("MTN_TARGET_ENVIRONMENT")
	live, host, currency := environment != sandbox, mtnmomo.ProductionURL, ""
	if !live {
		host, currency = mtnmomo.SandboxURL, "EUR"
		d.ok("mode", "the sandbox: MTN plays with EUR, and no money moves")
	} else {
		d.ok("mode", "live, target environment %s: real money moves", cmp.Or(environment, "mtnghana"))
	}
	client, err := mtnmomo.New(mtnmomo.Config{
		BaseURL: cmp.Or(d.env("MTN_BASE_URL"), host), TargetEnvironment: environment, Currency: currency,
		Collection: collection, Disbursement: disbursement, CallbackURL: callback,
		HTTPClient: &http.Client{Transport: d.seen}, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		d.notOK("settings", "MTN_BASE_URL must be an address that begins with https://.")
		return
	}
	if takes && d.try(ctx, "collections", func(ctx context.Context) error {
		// MTN does not know this order. That it says so proves token and target environment.
		at := d.now()
		_, err := client.ChargeStatus(ctx, provider.Charge{Order: provider.Order{ID: "pay_" + rand.Text()[:22], Live: live, SubmittedAt: at, Now: at}})
		return err
	}) == nil {
		d.ok("collections", "MTN gives a token and answers: you can take money")
	}
	if !sends {
		return
	}
	d.balance(ctx, client, live, 1_00, "Put money into the disbursement account on the partner portal.")
	if !d.mayPay(ctx, client, live) {
		return
	}
	d.oneCedi(ctx, cedi{
		rail: client, live: live, float: mtnFloat,
		reference: func(id string) string { return "at MTN " + mtnmomo.ReferenceID(id) },
	})
}

// product reads the credentials of one of MTN's products, and false if they are not complete.
func (d *doctor) product(name, title string) (mtnmomo.Credentials, bool) {
	names := []string{"MTN_" + name + "_SUBSCRIPTION", "MTN_" + name + "_USER", "MTN_" + name + "_KEY"}
	v, ok := d.variables("keys", names...)
	if ok {
		d.ok("keys", "of %s are set", title)
	}
	return mtnmomo.Credentials{SubscriptionKey: v[0], APIUser: v[1], APIKey: v[2]}, ok
}

// callback returns the address of the callbacks, as examples/live makes it, or "" if it has none.
func (d *doctor) callback() string {
	base := strings.TrimRight(d.env("PAYMENTS_BASE_URL"), "/")
	if base == "" {
		d.skip("callback host", "Set PAYMENTS_BASE_URL to have the address of the callbacks tried with the cedi.")
		return ""
	}
	u, err := url.Parse(base)
	if err != nil || u.Scheme != "https" || u.Hostname() == "" || u.Port() != "" && u.Port() != "443" {
		d.notOK("callback host", "MTN calls back only https on port 443. Set PAYMENTS_BASE_URL to such an address.")
		return ""
	}
	d.ok("callback host", "%s. It must be the providerCallbackHost of the API users; only the cedi shows whether it is", u.Hostname())
	return base + "/callbacks/mtn"
}
