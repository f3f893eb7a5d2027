// Command doctor checks a real account at a provider, step by step, and says in plain words what is
// wrong and what to do. It reads the same environment as examples/live:
//
//	go run ./examples/doctor -provider paystack -number 0241234567
//	go run ./examples/doctor -provider mtnmomo -number 0241234567 -send-one-cedi
//	go run ./examples/doctor -provider arkesel -number 0241234567 -send-sms
//
// It moves no money unless -send-one-cedi asks for it, and then GHS 1.00 to your own number. It sends
// no SMS unless -send-sms asks for it. It prints no key, and the number masked. It ends with 0 if every
// step that it tried is ok, with 1 if one is not, and with 2 if it was called wrongly.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Getenv, os.Stdout, os.Stderr))
}

// run examines the account that the arguments name, and returns the exit code.
func run(ctx context.Context, args []string, env func(string) string, out, complaints io.Writer) int {
	d, err := newDoctor(args, env, out, complaints)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		fmt.Fprintln(complaints, "doctor:", err)
		return 2
	}
	return d.examine(ctx)
}

func newDoctor(args []string, env func(string) string, out, complaints io.Writer) (*doctor, error) {
	d := &doctor{out: out, env: env, seen: newWitness(), now: time.Now, sleep: sleep}
	flags := flag.NewFlagSet("doctor", flag.ContinueOnError)
	flags.SetOutput(complaints)
	flags.StringVar(&d.provider, "provider", "", "paystack, mtnmomo, arkesel or hubtel")
	number := flags.String("number", "", "your own phone number, such as 0241234567")
	network := flags.String("network", "", "mtn, telecel or airteltigo; without it the prefix of the number decides")
	flags.BoolVar(&d.sendCedi, "send-one-cedi", false, "send GHS 1.00 of real money to -number")
	flags.BoolVar(&d.sendSMS, "send-sms", false, "send a real SMS to -number")
	flags.StringVar(&d.order, "order", "", "ask about the cedi that an earlier call has sent: its id, po_…")
	flags.DurationVar(&d.wait, "wait", 2*time.Minute, "how long to ask about the cedi until its outcome is known")
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	if flags.NArg() > 0 {
		return nil, fmt.Errorf("%q is no flag", flags.Arg(0))
	}
	if _, ok := accounts[d.provider]; !ok {
		return nil, errors.New("give -provider paystack, mtnmomo, arkesel or hubtel")
	}
	if err := d.setNumber(*number, *network); err != nil {
		return nil, err
	}
	if d.number == "" && (d.sendCedi || d.sendSMS) {
		return nil, errors.New("give -number, your own, to which the money or the SMS goes")
	}
	if d.order != "" && d.sendCedi {
		return nil, errors.New("give -order or -send-one-cedi, not both: -order asks about a cedi that was sent before")
	}
	return d, nil
}

// sleep waits, or ends with ctx.
func sleep(ctx context.Context, wait time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(wait):
	}
}
