package providers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/check"
	"github.com/seed-7082ffec/payments/internal/dispatch"
	"github.com/seed-7082ffec/payments/internal/ledger"
	"github.com/seed-7082ffec/payments/internal/money"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/storage"
)

// Position implements [provider.Service].
func (s *Service) Position(ctx context.Context, caller api.Caller, p provider.PositionParams) (*provider.Position, error) {
	if err := s.config.Accounts.OperatorOnly(caller); err != nil {
		return nil, err
	}
	if p.Route != "" && !check.Route(p.Route) {
		return nil, errRoute
	}
	if !caller.Live && !(p.From.IsZero() && p.Until.IsZero()) {
		return nil, api.Invalid("until", "In test mode each merchant has its own clock. Leave out from and until.")
	}
	is := &provider.Position{Route: p.Route, Until: p.Until, Reported: p.Reported}
	if is.Until.IsZero() {
		is.Until = s.engine.Clock()
	}
	lines := positionLines{}
	var add func(*storage.Entry) error
	if p.Rows != nil {
		add = func(e *storage.Entry) error {
			lines.of(e.Ref).Booked -= e.Amount
			return nil
		}
	}
	for _, of := range ledgerAccounts(p.Route, caller.Live) {
		balance, err := s.config.Accounts.ReadEntries(ctx, of, api.Times{From: p.From, Until: p.Until}, add)
		if err != nil {
			return nil, fmt.Errorf("providers: position: %w", err)
		}
		is.Booked -= balance
	}
	if caller.Live && is.Reported == nil && p.Until.IsZero() {
		is.Reported = s.askBalance(ctx, p.Route)
	}
	if is.Reported != nil {
		is.Difference = *is.Reported - is.Booked
	}
	if p.Rows == nil {
		return is, nil
	}
	if err := s.addStatement(ctx, caller.Live, &p, lines); err != nil {
		return nil, err
	}
	is.Unexplained = is.Difference
	for _, l := range lines {
		if l.Booked != l.Reported {
			is.Lines = append(is.Lines, *l)
			is.Unexplained -= l.Reported - l.Booked
		}
	}
	slices.SortFunc(is.Lines, func(a, b provider.PositionLine) int { return strings.Compare(a.Reference, b.Reference) })
	return is, nil
}

// ledgerAccounts are the accounts of a provider in the books: one without a name has two.
func ledgerAccounts(route string, live bool) []ledger.Account {
	of := []ledger.Account{dispatch.Charges.Clearing(route, live)}
	if transfers := dispatch.Transfers.Clearing(route, live); transfers != of[0] {
		of = append(of, transfers)
	}
	return of
}

// positionLines are the lines of a position by reference.
type positionLines map[string]*provider.PositionLine

func (l positionLines) of(reference string) *provider.PositionLine {
	if l[reference] == nil {
		l[reference] = &provider.PositionLine{Reference: reference}
	}
	return l[reference]
}

// addStatement adds the rows of a statement to the lines.
func (s *Service) addStatement(ctx context.Context, live bool, p *provider.PositionParams, lines positionLines) error {
	words := provider.ReconcileParams{Outcomes: p.Outcomes}
	for {
		row, err := p.Rows.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("providers: read statement: %w", err)
		}
		amount, err := pesewasOf(&row)
		if err != nil {
			return err
		}
		fee, err := feeOf(&row)
		if err != nil {
			return err
		}
		line := lines.of(row.Reference)
		if row.Settlement {
			line.Reported -= amount + fee
			continue
		}
		if strings.HasPrefix(row.Reference, "att_") { // the books have its payment
			if err := s.addPaymentOf(ctx, live, row.Reference, lines); err != nil {
				return err
			}
		}
		line.Reported -= fee
		if words.Outcome(row.Status) != provider.Paid {
			continue
		}
		if s.flowOf(row.Reference) == s.charges {
			line.Reported += amount
		} else {
			line.Reported -= amount
		}
	}
}

// addPaymentOf adds what is booked of a payment of an invoice to the line of its charge.
func (s *Service) addPaymentOf(ctx context.Context, live bool, charge string, lines positionLines) error {
	order, err := s.findReferenced(ctx, live, &provider.ReconcileParams{}, charge)
	if err != nil {
		return fmt.Errorf("providers: position: %w", err)
	}
	if order == nil || order.Payment == "" || lines[order.Payment] == nil {
		return nil
	}
	lines[charge].Booked += lines[order.Payment].Booked
	delete(lines, order.Payment)
	return nil
}

// pesewasOf returns the amount of a row.
func pesewasOf(row *provider.Row) (int64, error) {
	amount, err := money.ToPesewas(row.Amount)
	if err != nil {
		return 0, fmt.Errorf("providers: statement: the amount of %s: %w", row.Reference, err)
	}
	return amount, nil
}

// feeOf returns the fee of a row, 0 if the statement does not say.
func feeOf(row *provider.Row) (int64, error) {
	if row.Fee == nil {
		return 0, nil
	}
	fee, err := money.ToPesewas(*row.Fee)
	if err != nil {
		return 0, fmt.Errorf("providers: statement: the fee of %s: %w", row.Reference, err)
	}
	return fee, nil
}
