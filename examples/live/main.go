// Command live is one server that takes and sends real money through Paystack, through MTN MoMo, or
// through both. The environment configures it:
//
//	PAYMENTS_BASE_URL              https://pay.example.com: where people reach this server, behind your proxy
//	PAYMENTS_KEY                   openssl rand -base64 32: made once, and the same at every start
//	PAYMENTS_DB                    path of an SQLite file (payments.db), or postgres://…
//	PAYMENTS_ADDR                  address to listen on (127.0.0.1:8080)
//	PAYMENTS_TRUSTED_PROXIES       networks of your proxies, such as 10.0.0.0/8
//	PAYMENTS_HEALTH_TOKEN          bearer token of GET /health; without it there is no such route
//
//	PAYSTACK_SECRET_KEY            sk_live_…
//	PAYSTACK_EMAIL                 stands for payers without an address
//
//	MTN_COLLECTION_SUBSCRIPTION, MTN_COLLECTION_USER, MTN_COLLECTION_KEY
//	MTN_DISBURSEMENT_SUBSCRIPTION, MTN_DISBURSEMENT_USER, MTN_DISBURSEMENT_KEY
//	MTN_BASE_URL, MTN_TARGET_ENVIRONMENT    what MTN told you, if it is not the usual
//
//	ARKESEL_API_KEY, ARKESEL_SENDER                 for SMS: these,
//	HUBTEL_ID, HUBTEL_SECRET, HUBTEL_SENDER         or these
//	SMTP_SERVER, SMTP_FROM, SMTP_USERNAME, SMTP_PASSWORD    for e-mail
//
// PAYSTACK_BASE_URL, ARKESEL_BASE_URL and HUBTEL_BASE_URL name another host of the provider. Set
// Paystack's webhook to /webhooks/paystack, and give MTN the host of /callbacks/mtn. Try each
// account with examples/doctor first.
//
//	go run ./examples/live                                          # serves
//	go run ./examples/live merchant -name "Adom Juice Bar" -phone 0301000000
//	go run ./examples/live close -provider paystack -statement today.csv
//	go run ./examples/live verify                                   # each day; the server may run
//
// What merchants pay is in app.go: compare it with your providers' prices. The guide "Go live" in
// docs/guide/golive.md is a checklist.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/httpapi"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx, os.Args[1:], os.Getenv, os.Stdout)
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "live:", err)
		os.Exit(1)
	}
}

// run carries out a command.
func run(ctx context.Context, args []string, env func(string) string, out io.Writer) (err error) {
	s, err := readSettings(env)
	if err != nil {
		return err
	}
	name := "serve"
	if len(args) > 0 {
		name, args = args[0], args[1:]
	}
	command, ok := map[string]func(context.Context, *app, []string, io.Writer) error{
		"serve": serve, "merchant": makeMerchant, "close": closeDay, "verify": verify,
	}[name]
	if !ok {
		return fmt.Errorf("%q is no command. There are serve, merchant, close and verify", name)
	}
	a, err := open(ctx, s, slog.New(slog.NewTextHandler(os.Stderr, nil)))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.end()) }()
	return command(ctx, a, args, out)
}

// serve serves until ctx ends, and then ends what is under way.
func serve(ctx context.Context, a *app, _ []string, out io.Writer) error {
	listener, err := net.Listen("tcp", a.addr)
	if err != nil {
		return err
	}
	defer listener.Close()
	background, stop := context.WithCancel(ctx)
	var banks sync.WaitGroup
	defer banks.Wait()
	defer stop()
	if a.paystack != nil {
		banks.Go(func() { keepBanks(background, a.log, a.paystack.LoadBanks) })
	}
	a.svc.Start(context.WithoutCancel(ctx)) // Stop ends it, after the server
	server := httpapi.NewServer("", a.routes())
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	if _, err = fmt.Fprintf(out, "Serving %s on http://%s\n", a.baseURL, listener.Addr()); err == nil {
		select {
		case <-ctx.Done():
		case err = <-failed:
		}
	}
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
	defer cancel()
	if errors.Is(err, http.ErrServerClosed) {
		err = nil
	}
	return errors.Join(err, server.Shutdown(end), a.svc.Stop(end))
}

// makeMerchant makes a merchant, and a key for its live mode.
func makeMerchant(ctx context.Context, a *app, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("merchant", flag.ContinueOnError)
	name := flags.String("name", "", "the name that payers see")
	phone := flags.String("phone", "", "the merchant's phone number, which gets the SMS")
	if err := flags.Parse(args); err != nil {
		return err
	}
	m, err := a.svc.Accounts.CreateMerchant(ctx, api.Caller{}, account.CreateMerchantParams{Name: *name, Phone: *phone})
	if err != nil {
		return err
	}
	key, err := a.svc.Accounts.CreateKey(ctx, api.Caller{Merchant: m.ID, Live: true}, account.CreateKeyParams{Name: "first"})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "merchant %s\nkey      %s (shown only now)\n", m.ID, key.Secret)
	return err
}

// verify replays the ledger. It returns an error if the ledger does not agree.
func verify(ctx context.Context, a *app, _ []string, out io.Writer) error {
	report, err := a.svc.Accounts.Verify(ctx)
	if err != nil {
		return err
	}
	for _, problem := range report.Problems {
		if _, err := fmt.Fprintln(out, problem); err != nil {
			return err
		}
	}
	if len(report.Problems) > 0 {
		return errors.New("the ledger does not agree")
	}
	_, err = fmt.Fprintf(out, "%d accounts and %d entries agree, %d of them sealed\n", report.Accounts, report.Entries, report.Sealed)
	return err
}
