package main

import (
	"context"
	"net/http"

	"github.com/seed-7082ffec/payments/message"
	"github.com/seed-7082ffec/payments/provider/arkesel"
	"github.com/seed-7082ffec/payments/provider/hubtel"
)

var arkeselFailures = []failure{
	{status: http.StatusUnauthorized, says: "Arkesel does not accept the key (401). Copy ARKESEL_API_KEY again from the dashboard, under SMS API."},
	{status: http.StatusPaymentRequired, says: "Arkesel has too little credit for you (402), or your account does not cover the network. Buy credit in the dashboard."},
	{status: http.StatusForbidden, says: "Arkesel refuses (403): the gateway is not active, or ARKESEL_SENDER is not registered yet. Registration takes 5 to 10 working days."},
	{status: http.StatusUnprocessableEntity, says: "Arkesel finds the request not valid (422). Is ARKESEL_SENDER written as it was registered?"},
	{word: "invalid numbers", says: "Arkesel finds the number invalid. Is it right?"},
	{status: http.StatusTooManyRequests, says: "Too many calls (429). Wait some minutes, and try again."},
	{status: 5, says: "Arkesel has trouble of its own (5xx). Try again later."},
	{status: noAnswer, says: "Arkesel does not answer. Does this machine reach https://sms.arkesel.com? Look at DNS and firewall, and at ARKESEL_BASE_URL if you set it."},
}

var hubtelFailures = []failure{
	{status: http.StatusUnauthorized, says: "Hubtel does not accept the keys (401). Compare HUBTEL_ID and HUBTEL_SECRET with those for programmable SMS in the dashboard."},
	{status: http.StatusPaymentRequired, says: "Hubtel has too little credit for you (402). Buy credit in the dashboard."},
	{status: http.StatusForbidden, says: "Hubtel refuses (403): the address of this machine is not on its list, or HUBTEL_SENDER does not belong to the keys. Ask Hubtel to list the public address of your servers."},
	{status: http.StatusBadRequest, word: `"status"\s*:\s*"?1\b`, says: "Hubtel finds the number invalid. Is it right?"},
	{status: http.StatusTooManyRequests, says: "Too many calls (429). Wait some minutes, and try again."},
	{status: 5, says: "Hubtel has trouble of its own (5xx). Try again later."},
	{status: noAnswer, says: "Hubtel does not answer. Does this machine reach https://sms.hubtel.com? Try HUBTEL_BASE_URL=https://smsc.hubtel.com. Hubtel may also drop calls from addresses that it does not list."},
}

func (d *doctor) arkesel(ctx context.Context) {
	v, ok := d.variables("settings", "ARKESEL_API_KEY", "ARKESEL_SENDER")
	if !ok {
		return
	}
	client, err := arkesel.New(arkesel.Config{
		APIKey: v[0], Sender: v[1], Sandbox: !d.sendSMS, BaseURL: d.env("ARKESEL_BASE_URL"), HTTPClient: &http.Client{Transport: d.seen},
	})
	if err != nil {
		d.notOK("settings", "ARKESEL_SENDER must be your registered sender id, of at most 11 characters.")
		return
	}
	d.ok("settings", "the sender is %s", v[1])
	if d.number == "" {
		d.skip("key", "Give -number, your own. Arkesel tries the key in its sandbox, which sends nothing.")
		return
	}
	if !d.sendSMS {
		if d.sms(ctx, "key", client) {
			d.ok("key", "Arkesel takes an SMS in its sandbox, which sends nothing")
		}
		d.skip("SMS", "Give -send-sms to send a real one. The sender id is proved only then.")
		return
	}
	if d.sms(ctx, "SMS", client) {
		d.ok("SMS", "Arkesel took it. Look whether it has come to %s, and from whom", d.masked())
	}
}

func (d *doctor) hubtel(ctx context.Context) {
	v, ok := d.variables("settings", "HUBTEL_ID", "HUBTEL_SECRET", "HUBTEL_SENDER")
	if !ok {
		return
	}
	client, err := hubtel.New(hubtel.Config{
		ClientID: v[0], ClientSecret: v[1], Sender: v[2], BaseURL: d.env("HUBTEL_BASE_URL"), HTTPClient: &http.Client{Transport: d.seen},
	})
	if err != nil {
		d.notOK("settings", "HUBTEL_SENDER must be your registered sender id, of at most 11 characters.")
		return
	}
	d.ok("settings", "the sender is %s", v[2])
	if !d.sendSMS {
		d.skip("SMS", "Give -number and -send-sms to send a real one. Hubtel has no sandbox, so the keys are tried only then.")
		return
	}
	if d.sms(ctx, "SMS", client) {
		d.ok("SMS", "Hubtel took it. Look whether it has come to %s, and from whom", d.masked())
	}
}

// sms sends one SMS. It is not repeated: a gateway would send it twice.
func (d *doctor) sms(ctx context.Context, step string, texter message.Texter) bool {
	return nil == d.try(ctx, step, func(ctx context.Context) error {
		return texter.SendSMS(ctx, message.SMS{To: d.number, Text: "This is a test of your SMS gateway."})
	})
}
