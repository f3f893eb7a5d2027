//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/payout"
)

// shop is a merchant with money in live mode, and the wallets that it pays.
type shop struct {
	run          string // begins the idempotency keys
	caller       api.Caller
	key          string
	wallets, ids []string // service ids and account ids of consumers
}

// newShop makes the tables and the shop.
func newShop(ctx context.Context, db string) (s *shop, err error) {
	svc, closeStore, err := openService(ctx, db, payments.Config{})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, closeStore()) }()
	return fund(ctx, svc)
}

func fund(ctx context.Context, svc *payments.Service) (*shop, error) {
	merchant, err := svc.Accounts.CreateMerchant(ctx, api.Caller{}, account.CreateMerchantParams{Name: "Makola Online"})
	if err != nil {
		return nil, err
	}
	s := &shop{run: "salary", caller: api.Caller{Merchant: merchant.ID, Live: true}}
	err = svc.Accounts.Deposit(ctx, api.Caller{Live: true}, account.DepositParams{To: merchant.ID, Amount: decimal.NewFromInt(900_000), Source: "bank"})
	if err != nil {
		return nil, err
	}
	key, err := svc.Accounts.CreateKey(ctx, s.caller, account.CreateKeyParams{})
	if err != nil {
		return nil, err
	}
	s.key = key.Secret
	for i := range 8 {
		consumer, err := svc.Accounts.CreateConsumer(ctx, api.Caller{Live: true}, account.CreateHolderParams{Name: fmt.Sprintf("Employee %d", i+1), Phone: fmt.Sprintf("02410000%02d", i)})
		if err != nil {
			return nil, err
		}
		s.wallets, s.ids = append(s.wallets, consumer.ServiceID), append(s.ids, consumer.ID)
	}
	return s, nil
}

// books compare the database at the end with the answers that clients got.
type books struct {
	made    int // disbursements
	lost    []ack
	doubled []string // keys
	account.Verification
}

// audit compares the database with the acknowledged requests.
func audit(ctx context.Context, db string, s *shop, acks []ack) (b *books, err error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	svc, closeStore, err := openService(ctx, db, payments.Config{})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, closeStore()) }()
	return s.audit(ctx, svc, acks)
}

func (s *shop) audit(ctx context.Context, svc *payments.Service, acks []ack) (*books, error) {
	b := &books{}
	completed := map[string]bool{} // by id
	references := map[string]int{} // how often
	page := api.Page{Limit: 100}
	for more := true; more; {
		list, err := svc.Disbursements.List(ctx, s.caller, payout.ListParams{Page: page})
		if err != nil {
			return nil, err
		}
		for _, d := range list.Data {
			b.made++
			completed[d.ID] = d.Status == payout.Completed
			if references[*d.Reference]++; references[*d.Reference] == 2 {
				b.doubled = append(b.doubled, *d.Reference)
			}
			page.StartingAfter = d.ID
		}
		more = list.HasMore
	}
	for _, a := range acks {
		if !completed[a.id] {
			b.lost = append(b.lost, a)
		}
	}
	// The ledger agrees with itself, and with the disbursements.
	v, err := svc.Accounts.Verify(ctx)
	if err != nil {
		return nil, err
	}
	b.Verification = *v
	paid := decimal.Zero
	for _, id := range s.ids {
		balance, err := svc.Accounts.WalletBalance(ctx, api.Caller{Live: true}, id)
		if err != nil {
			return nil, err
		}
		paid = paid.Add(balance.Decimal)
	}
	if want := decimal.New(int64(b.made), -2); !paid.Equal(want) {
		b.Problems = append(b.Problems, fmt.Sprintf("%d disbursements are GHS %s, the wallets have %s", b.made, want.StringFixed(2), paid.StringFixed(2)))
	}
	return b, nil
}

// verdict returns an error when they do not agree.
func (b *books) verdict() error {
	var all []error
	if len(b.lost) > 0 {
		all = append(all, fmt.Errorf("%d acknowledged disbursements are lost, the first with the key %s", len(b.lost), b.lost[0].key))
	}
	if len(b.doubled) > 0 {
		all = append(all, fmt.Errorf("%d requests were done twice, the first with the key %s", len(b.doubled), b.doubled[0]))
	}
	if len(b.Problems) > 0 {
		all = append(all, fmt.Errorf("the ledger does not verify: %d problems, the first: %s", len(b.Problems), b.Problems[0]))
	}
	return errors.Join(all...)
}
