package main

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/provider/paystack"
)

const paystackFloat = "The float is empty: Paystack's balance is too low for GHS 1.00 and the fee of GHS 1.00. Top it up in the dashboard, under Transfers. No money has moved."

// paystackFailures are Paystack's. That a machine which is not listed gets 401 or 403 with these words
// is unconfirmed.
var paystackFailures = []failure{
	{word: `"status"\s*:\s*"otp"`, waits: true, says: "Paystack waits for a code (OTP) before it sends. Switch off the confirmation of transfers by OTP in the dashboard, under Preferences. The cedi has not moved, and fails by itself after 30 minutes."},
	{word: `ip address|whitelist`, says: "Paystack takes no calls from the address of this machine (403: it is not whitelisted). Put the address on the list in the dashboard, under Settings, API Keys & Webhooks, or empty that list."},
	{status: http.StatusForbidden, says: "Paystack forbids the call (403). Put the address of this machine on the list of IP addresses in the dashboard, under Settings, API Keys & Webhooks, or empty that list."},
	{status: http.StatusUnauthorized, says: "Paystack does not accept the secret key (401). Copy PAYSTACK_SECRET_KEY again from the dashboard, under Settings, API Keys & Webhooks. A new key makes the old one void."},
	{word: `starter business`, says: "Paystack lets only registered businesses send money. Upgrade the account in the dashboard, under Compliance."},
	{word: `has been deactivated|invalid merchant`, says: "Paystack has switched the account off. Write to Paystack's support."},
	{path: "/bank/resolve", status: http.StatusNotFound, says: "Paystack looks up no names of mobile money here. Names will not be available, and everything else works. Please report it."},
	{status: http.StatusTooManyRequests, says: "Too many calls (429). Wait some minutes, and try again."},
	{status: 5, says: "Paystack has trouble of its own (5xx). Look at status.paystack.com, and try again later."},
	{status: noAnswer, says: "Paystack does not answer. Does this machine reach https://api.paystack.co? Look at DNS, firewall and proxy, and at PAYSTACK_BASE_URL if you set it."},
}

func (d *doctor) paystack(ctx context.Context) {
	v, ok := d.variables("key", "PAYSTACK_SECRET_KEY")
	if !ok {
		return
	}
	live := strings.HasPrefix(v[0], "sk_live_")
	switch {
	case live:
		d.ok("key", "a live key: real money moves")
	case strings.HasPrefix(v[0], "sk_test_"):
		d.ok("key", "a test key: Paystack plays, and no money moves. Your server needs the live key")
	case strings.HasPrefix(v[0], "pk_"):
		d.notOK("key", "PAYSTACK_SECRET_KEY is the public key. Take the secret key, sk_live_….")
		return
	default:
		d.notOK("key", "PAYSTACK_SECRET_KEY is no secret key of Paystack. It begins with sk_live_ or sk_test_.")
		return
	}
	client, err := paystack.New(paystack.Config{
		SecretKey: v[0], Email: d.env("PAYSTACK_EMAIL"), BaseURL: d.env("PAYSTACK_BASE_URL"), HTTPClient: &http.Client{Transport: d.seen},
	})
	if err != nil {
		d.notOK("settings", "PAYSTACK_BASE_URL must be an address that begins with https://. Leave it empty for Paystack's own.")
		return
	}
	d.balance(ctx, client, live, 2_00, "Top it up in the dashboard, under Transfers.")
	if d.try(ctx, "banks", client.LoadBanks) == nil {
		banks := slices.DeleteFunc(client.Banks(), func(b provider.Bank) bool { return !b.Active })
		d.ok("banks", "%d banks can be paid", len(banks))
	}
	if !d.mayPay(ctx, client, live) {
		return
	}
	d.oneCedi(ctx, cedi{
		rail: client, live: live, float: paystackFloat,
		reference: func(id string) string {
			reference, _ := paystack.Reference(id)
			return "at Paystack " + reference
		},
	})
}
