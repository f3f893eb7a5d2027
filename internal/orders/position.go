package orders

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/check"
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
		return nil, errNoRoute
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
		balance, err := s.config.Accounts.ReadEntries(ctx, s.engine, of, api.Times{From: p.From, Until: p.Until}, add)
		if err != nil {
			return nil, fmt.Errorf("orders: position: %w", err)
		}
		is.Booked -= balance
	}
	if caller.Live && is.Reported == nil && p.Until.IsZero() && s.engine.Host == nil {
		is.Reported = s.askHeld(ctx, p.Route)
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
	explained := int64(0)
	for _, l := range lines {
		switch {
		case l.Unknown:
			is.Lines = append(is.Lines, *l)
		case l.Booked != l.Reported:
			is.Lines = append(is.Lines, *l)
			explained += l.Reported - l.Booked
		}
	}
	if is.Reported != nil {
		is.Unexplained = is.Difference - explained
	}
	slices.SortFunc(is.Lines, func(a, b provider.PositionLine) int { return strings.Compare(a.Reference, b.Reference) })
	return is, nil
}

// ledgerAccounts are the accounts of a provider in the books: one without a name has two.
func ledgerAccounts(route string, live bool) []ledger.Account {
	of := []ledger.Account{Charges.Clearing(route, live)}
	if transfers := Transfers.Clearing(route, live); transfers != of[0] {
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

func (s *Service) addStatement(ctx context.Context, live bool, p *provider.PositionParams, lines positionLines) error {
	words := provider.ReconcileParams{Outcomes: p.Outcomes}
	for {
		row, err := p.Rows.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("orders: read statement: %w", err)
		}
		if err := s.addRow(ctx, live, p.Route, words.Outcome(row.Status), &row, lines); err != nil {
			return fmt.Errorf("orders: position: %w", err)
		}
	}
}

func (s *Service) addRow(ctx context.Context, live bool, route string, outcome provider.Outcome, row *provider.Row, lines positionLines) error {
	if row.Settlement {
		reported, _, err := s.settlementReported(ctx, live, route, row)
		if err == nil && outcome == provider.Paid {
			lines.of(row.Reference).Reported -= reported.Amount + reported.Fee
		}
		return err
	}
	amount, err := pesewasOf(row.Reference, row.Amount)
	if err != nil {
		return err
	}
	order, err := s.findReferenced(ctx, live, &provider.ReconcileParams{}, row.Reference)
	if err != nil {
		return err
	}
	line, flow := lines.of(row.Reference), row.Flow
	fee := int64(0)
	if order != nil {
		flow, fee = order.Flow, order.ProviderFee
		if paid := lines[order.Payment]; paid != nil { // the books have the payment of a charge of an invoice
			line.Booked += paid.Booked
			delete(lines, order.Payment)
		}
	}
	if row.Fee != nil {
		if fee, err = pesewasOf(row.Reference, *row.Fee); err != nil {
			return err
		}
	}
	switch {
	case outcome == provider.Reversed && order != nil && order.Outcome == provider.Reversed:
		line.Reported = line.Booked // paid or taken back in this period, or both
	case outcome != provider.Paid && row.Fee == nil: // nothing has moved
	case outcome != provider.Paid:
		line.Reported -= fee
	case flow == provider.Charges:
		line.Reported += amount - fee
	case flow == "":
		line.Reported += amount
		line.Unknown = true
	default:
		line.Reported -= amount + fee
	}
	return nil
}

// pesewasOf returns an amount of a row in pesewas.
func pesewasOf(reference string, ghs decimal.Decimal) (int64, error) {
	pesewas, err := money.ToPesewas(ghs)
	if err != nil {
		return 0, fmt.Errorf("orders: statement: %s: %w", reference, err)
	}
	return pesewas, nil
}
