package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/seed-7082ffec/payments/internal/phone"
	"github.com/seed-7082ffec/payments/provider"
)

// doctor examines one account.
type doctor struct {
	out      io.Writer
	env      func(string) string
	seen     *witness
	provider string
	// number is +233XXXXXXXXX, or as it was given for MTN's sandbox, and network the one of it.
	number, network   string
	sendCedi, sendSMS bool
	order             string
	wait              time.Duration
	now               func() time.Time
	sleep             func(context.Context, time.Duration)

	failures []failure // that the provider is known for
	bad      int
	left     []string // steps that were left out
}

// account is how an account is examined, and the failures that its provider is known for.
type account struct {
	examine  func(*doctor, context.Context)
	failures []failure
}

var accounts = map[string]account{
	"paystack": {(*doctor).paystack, paystackFailures},
	"mtnmomo":  {(*doctor).mtn, mtnFailures},
	"arkesel":  {(*doctor).arkesel, arkeselFailures},
	"hubtel":   {(*doctor).hubtel, hubtelFailures},
}

// examine tries every step, and returns the exit code.
func (d *doctor) examine(ctx context.Context) int {
	of := accounts[d.provider]
	d.failures = of.failures
	of.examine(d, ctx)
	switch {
	case d.bad > 0:
		fmt.Fprintf(d.out, "\n%d not ok.\n", d.bad)
		return 1
	case len(d.left) > 0:
		fmt.Fprintf(d.out, "\nWhat was tried is ok. Left out: %s.\n", strings.Join(d.left, ", "))
	default:
		fmt.Fprint(d.out, "\nAll is ok.\n")
	}
	return 0
}

func (d *doctor) line(verdict, step, text string) {
	fmt.Fprintf(d.out, "%-7s %-14s %s\n", verdict, step, text)
}

func (d *doctor) ok(step, format string, args ...any) {
	d.line("ok", step, fmt.Sprintf(format, args...))
}

func (d *doctor) notOK(step, todo string) {
	d.bad++
	d.line("not ok", step, todo)
}

func (d *doctor) skip(step, why string) {
	d.left = append(d.left, step)
	d.line("skip", step, why)
}

// failed prints why a call failed, and what to do. The adapters' errors hold no keys and no numbers.
func (d *doctor) failed(step string, err error) {
	todo := unknownFailure
	var refusal *provider.Refusal
	if f := explain(d.failures, d.seen.exchanges()); f != nil {
		todo = f.says
	} else if errors.As(err, &refusal) {
		todo = "The provider does not know this account, or refuses it. Is the number right, and the network? Give -network for a number that was ported."
	}
	d.notOK(step, todo)
	d.line("", "", "("+err.Error()+")")
}

const unknownFailure = "This failure is not known here. Please report it: the line below, and the provider's answer without numbers and keys."

// try makes a call of a step, and prints its failure. It returns the call's error.
func (d *doctor) try(ctx context.Context, step string, call func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	d.seen.forget()
	err := call(ctx)
	if err != nil {
		d.failed(step, err)
	}
	return err
}

// callTimeout bounds a call.
const callTimeout = 30 * time.Second

// variables returns the values of variables, and false if one is missing, which it prints.
func (d *doctor) variables(step string, names ...string) (values []string, ok bool) {
	var missing []string
	for _, name := range names {
		value := strings.TrimSpace(d.env(name))
		values = append(values, value)
		if value == "" {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		d.notOK(step, "Set "+strings.Join(missing, ", ")+" in the environment.")
	}
	return values, len(missing) == 0
}

// setNumber reads the number and its network.
func (d *doctor) setNumber(number, network string) error {
	if network != "" && !slices.Contains(phone.Networks(), network) {
		return errors.New("-network is mtn, telecel or airteltigo")
	}
	if number == "" {
		return nil
	}
	if d.provider == "mtnmomo" && d.env("MTN_TARGET_ENVIRONMENT") == sandbox && strings.HasPrefix(number, "+") {
		d.number, d.network = number, phone.MTN // the sandbox has Swedish numbers
		return nil
	}
	parsed, err := phone.Parse(number)
	if err != nil {
		return errors.New("-number is no number of Ghana, such as 0241234567")
	}
	d.number, d.network = parsed, network
	if network == "" {
		d.network = phone.Provider(parsed)
	}
	if d.network == "" {
		return errors.New("-number has a prefix that is not known. Give -network mtn, telecel or airteltigo")
	}
	return nil
}

// masked is the number for people.
func (d *doctor) masked() string { return phone.Mask(d.number) }

// balance asks for the money at the provider, of which least is needed for one cedi.
func (d *doctor) balance(ctx context.Context, of provider.Balancer, live bool, least int64, fill string) {
	var b provider.Balance
	err := d.try(ctx, "balance", func(ctx context.Context) (err error) {
		b, err = of.Balance(ctx, live)
		return err
	})
	switch {
	case err != nil:
	case b.Available < least:
		d.notOK("balance", cedis(b.Available)+". The float is empty: transfers and refunds fail. "+fill)
	default:
		d.ok("balance", "%s", cedis(b.Available))
	}
}

// mayPay looks the number up, and returns false if no cedi should be sent to it.
func (d *doctor) mayPay(ctx context.Context, of provider.NameEnquirer, live bool) bool {
	ready := d.bad == 0
	if known := d.name(ctx, of, live); d.sendCedi && !(ready && known) {
		d.skip(cediStep, "The steps before must be ok first. No money has moved.")
		return false
	}
	return true
}

// name asks for the registered name of the number. It returns false if the provider refuses the number.
func (d *doctor) name(ctx context.Context, of provider.NameEnquirer, live bool) bool {
	if d.number == "" {
		d.skip("name", "Give -number, your own, to look up its name.")
		return true
	}
	var name string
	err := d.try(ctx, "name", func(ctx context.Context) (err error) {
		name, err = of.AccountName(ctx, provider.Enquiry{Live: live, Channel: provider.MobileMoney, Network: d.network, Number: d.number})
		return err
	})
	if err == nil {
		d.ok("name", "%s belongs to %s: is that you?", d.masked(), shortName(name))
	}
	var refusal *provider.Refusal
	return !errors.As(err, &refusal)
}

// shortName is a first name and an initial.
func shortName(name string) string {
	words := strings.Fields(name)
	if len(words) < 2 {
		return name
	}
	return words[0] + " " + string([]rune(words[len(words)-1])[:1]) + "."
}

func cedis(pesewas int64) string { return fmt.Sprintf("GHS %d.%02d", pesewas/100, pesewas%100) }
