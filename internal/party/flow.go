package party

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/storage"
)

// flowPages and flowPage bound the accounts that MoneyFlow reads.
const flowPages, flowPage = 5, 1000

// heldIn and owedTo are the stocks on the two sides of a flow, in display order: where the money is held,
// and to whom it is owed. Each route of a provider is one more stock, after clearing.
var (
	heldIn = []string{"clearing", "bank", "owed"}
	owedTo = []string{"merchants", "reserved", "wallets", "agents", "fees", "excess"}
)

func (s *Service) MoneyFlow(ctx context.Context, caller api.Caller) (*api.MoneyFlow, error) {
	if err := operatorOnly(caller); err != nil {
		return nil, err
	}
	mode := "test/"
	if caller.Live {
		mode = "live/"
	}
	stocks, complete := map[string]int64{}, false
	err := s.engine.Store.View(ctx, func(tx storage.ReadTx) error {
		clear(stocks)
		complete = false
		after := mode
		for range flowPages {
			page, err := tx.Balances(after, flowPage)
			if err != nil {
				return fmt.Errorf("account: flow: %w", err)
			}
			for _, b := range page {
				name, own := strings.CutPrefix(b.Account, mode)
				if !own {
					complete = true
					return nil
				}
				stock, amount := stockOf(name, b.Amount)
				stocks[stock] += amount
			}
			if len(page) < flowPage {
				complete = true
				return nil
			}
			after = page[len(page)-1].Account
		}
		return nil
	})
	if err != nil || !complete {
		return &api.MoneyFlow{}, err
	}
	flow := &api.MoneyFlow{Complete: true}
	var routes []string
	for name := range stocks {
		if strings.HasPrefix(name, "provider/") {
			routes = append(routes, name)
		}
	}
	slices.Sort(routes)
	for _, name := range slices.Insert(slices.Clone(heldIn), 1, routes...) {
		if amount := stocks[name]; amount != 0 {
			flow.Held = append(flow.Held, api.FlowItem{Name: strings.TrimPrefix(name, "provider/"), Amount: amount})
		}
	}
	for _, name := range owedTo {
		if amount := stocks[name]; amount != 0 {
			flow.OwedTo = append(flow.OwedTo, api.FlowItem{Name: name, Amount: amount})
		}
	}
	return flow, nil
}

// stockOf returns the stock to which an account belongs, and the amount that its balance adds to the stock.
// Accounts on the held side have negative balances in the ledger, so stockOf turns their sign. An account that
// it does not know gets the stock "", which is on neither side: the sums of the sides then differ.
func stockOf(account string, balance int64) (stock string, amount int64) {
	group, rest, _ := strings.Cut(account, "/")
	_, part, _ := strings.Cut(rest, "/")
	switch {
	case group == "clearing":
		return "clearing", -balance
	case group == "provider":
		return account, -balance
	case group == "merchant" && part == "available":
		return "merchants", balance
	case group == "merchant" && part == "reserved":
		return "reserved", balance
	case group == "merchant" && part == "owed":
		return "owed", -balance
	case group == "wallet":
		return "wallets", balance
	case group == "float":
		return "agents", balance
	case account == "operator/bank":
		return "bank", -balance
	case account == "operator/fees", account == "operator/provider_fees":
		return "fees", balance
	case account == "operator/excess":
		return "excess", balance
	}
	return "", balance
}
