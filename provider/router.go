package provider

import (
	"context"
	"errors"
	"fmt"

	"github.com/seed-7082ffec/payments/internal/check"
)

// TransferRouter is an optional interface of a [Rail] that has a name, or that stands for several, as
// [Router] does. The library asks for the route of a transfer before it first submits it, and keeps the
// answer with the transfer, as [Order].Route. The route also names the provider's account in the books.
// A transfer that has a Route was submitted: RouteTransfer returns that name again, and ok is false if
// the provider of that name is not there any more.
//
// The library asks more than once, before and in transactions. So RouteTransfer must depend on its
// argument alone, and must not block. A name has 1 to 40 lower-case letters, digits and underscores. ok
// is false if no provider carries the transfer. The library also passes a zero Transfer, to learn the
// name of a rail that has a fixed one. Such a rail then returns its name; ok does not matter.
type TransferRouter interface {
	RouteTransfer(t Transfer) (route string, ok bool)
}

// ChargeRouter is [TransferRouter] for a [Charger]. A refund takes the route of its charge.
type ChargeRouter interface {
	RouteCharge(c Charge) (route string, ok bool)
}

// Router makes one [Rail] and one [Charger] of several. An order keeps the name that it was given at
// its first submission: changing the choice changes new orders only, so no provider is asked about
// another's order. Keep the entry of a provider until its last order has ended; meanwhile
// an order of a name without an entry stays in progress, and becomes stuck.
//
// Set it as Rail, as Charger or as both. Its fields must not change while it is in use. It is then safe
// for concurrent use, if the rails and chargers are.
type Router struct {
	// Rails and Chargers are the providers by name. A provider that has the same name in both has one
	// account in the books. The name "" is that of orders that were submitted before the host named its providers.
	Rails    map[string]Rail
	Chargers map[string]Charger
	// Rail returns the name in Rails for a new transfer, or for an account whose name the library looks
	// up. Charger returns the name in Chargers for a new charge. If the name has no entry, the library
	// refuses the transfer with invalid_destination, or the payment with invalid_phone_number, and names
	// the networks that have one. If none has, it refuses with service_unavailable. Do not return "" while
	// "" has an entry.
	//
	// If Rail or Charger is nil, the only entry with a name carries all.
	Rail    func(Transfer) string
	Charger func(Charge) string
}

var (
	_ Rail            = (*Router)(nil)
	_ TransferRouter  = (*Router)(nil)
	_ Checker         = (*Router)(nil)
	_ NameEnquirer    = (*Router)(nil)
	_ Charger         = (*Router)(nil)
	_ ChargeRouter    = (*Router)(nil)
	_ ChargeConfirmer = (*Router)(nil)
	_ RefundRail      = (*Router)(nil)
)

// ChargerOf returns the charger of a name, or nil. The library asks it whether a charge can be
// refunded, or takes a code.
func (r *Router) ChargerOf(route string) Charger { return r.Chargers[route] }

// Validate returns an error if a provider is nil, or if a name is neither empty nor 1 to 40 lower-case
// letters, digits and underscores. It also returns one if there are several providers and no function
// that chooses among them. payments.New calls it.
func (r *Router) Validate() error {
	for name, rail := range r.Rails {
		if err := checkName("Rails", name, rail == nil); err != nil {
			return err
		}
	}
	for name, charger := range r.Chargers {
		if err := checkName("Chargers", name, charger == nil); err != nil {
			return err
		}
	}
	if r.Rail == nil && countNamed(r.Rails) > 1 {
		return errors.New("provider: Router.Rails has several names. Set Router.Rail, which chooses one")
	}
	if r.Charger == nil && countNamed(r.Chargers) > 1 {
		return errors.New("provider: Router.Chargers has several names. Set Router.Charger, which chooses one")
	}
	return nil
}

func checkName(field, name string, empty bool) error {
	if empty {
		return fmt.Errorf("provider: Router.%s[%q] is nil", field, name)
	}
	if name != "" && !check.Route(name) {
		return fmt.Errorf("provider: the name %q in Router.%s must have 1 to 40 lower-case letters, digits and underscores", name, field)
	}
	return nil
}

// countNamed counts the providers that new orders may take.
func countNamed[T any](of map[string]T) int {
	n := len(of)
	if _, unnamed := of[""]; unnamed {
		n--
	}
	return n
}

// only returns the one name that new orders may take.
func only[T any](of map[string]T) string {
	for name := range of {
		if name != "" {
			return name
		}
	}
	return ""
}

// RouteTransfer implements [TransferRouter]. The chosen rail may say that it does not carry a new transfer.
func (r *Router) RouteTransfer(t Transfer) (string, bool) {
	name := t.Route
	switch {
	case name != "":
	case r.Rail != nil:
		name = r.Rail(t)
	default:
		name = only(r.Rails)
	}
	rail, ok := r.Rails[name]
	if own, routes := rail.(TransferRouter); ok && routes && t.Route == "" {
		_, ok = own.RouteTransfer(t)
	}
	return name, ok
}

// RouteCharge implements [ChargeRouter]. The chosen charger may say that it does not take the charge.
func (r *Router) RouteCharge(c Charge) (string, bool) {
	if c.Route != "" {
		_, ok := r.Chargers[c.Route]
		return c.Route, ok
	}
	name := ""
	if r.Charger != nil {
		name = r.Charger(c)
	} else {
		name = only(r.Chargers)
	}
	charger, ok := r.Chargers[name]
	if ok {
		if own, routes := charger.(ChargeRouter); routes {
			_, ok = own.RouteCharge(c)
		}
	}
	return name, ok
}

// rail returns the rail of an order. The error means that the outcome is unknown.
func (r *Router) rail(route string) (Rail, error) {
	if rail, ok := r.Rails[route]; ok {
		return rail, nil
	}
	return nil, fmt.Errorf("provider: Router.Rails has no rail %q", route)
}

func (r *Router) charger(route string) (Charger, error) {
	if charger, ok := r.Chargers[route]; ok {
		return charger, nil
	}
	return nil, fmt.Errorf("provider: Router.Chargers has no charger %q", route)
}

// Submit implements [Rail].
func (r *Router) Submit(ctx context.Context, t Transfer) (Result, error) {
	rail, err := r.rail(t.Route)
	if err != nil {
		return Result{}, err
	}
	return rail.Submit(ctx, t)
}

// Status implements [Rail].
func (r *Router) Status(ctx context.Context, t Transfer) (Result, error) {
	rail, err := r.rail(t.Route)
	if err != nil {
		return Result{}, err
	}
	return rail.Status(ctx, t)
}

// Check implements [Checker]. The rail that would carry the transfer checks it, if it can.
func (r *Router) Check(ctx context.Context, t Transfer) error {
	name, ok := r.RouteTransfer(t)
	if !ok {
		return nil // the library refuses the transfer itself
	}
	if checker, can := r.Rails[name].(Checker); can {
		return checker.Check(ctx, t)
	}
	return nil
}

// AccountName implements [NameEnquirer]. It asks the rail that would carry a transfer to the account.
func (r *Router) AccountName(ctx context.Context, e Enquiry) (string, error) {
	name, ok := r.RouteTransfer(Transfer{Order: Order{Live: e.Live}, Channel: e.Channel, Network: e.Network, Bank: e.Bank, Number: e.Number})
	if enquirer, can := r.Rails[name].(NameEnquirer); ok && can {
		return enquirer.AccountName(ctx, e)
	}
	return "", fmt.Errorf("provider: the rail %q tells no names", name)
}

// Charge implements [Charger].
func (r *Router) Charge(ctx context.Context, c Charge) (Result, error) {
	charger, err := r.charger(c.Route)
	if err != nil {
		return Result{}, err
	}
	return charger.Charge(ctx, c)
}

// ChargeStatus implements [Charger].
func (r *Router) ChargeStatus(ctx context.Context, c Charge) (Result, error) {
	charger, err := r.charger(c.Route)
	if err != nil {
		return Result{}, err
	}
	return charger.ChargeStatus(ctx, c)
}

// ConfirmCharge implements [ChargeConfirmer].
func (r *Router) ConfirmCharge(ctx context.Context, c Charge, code string) (Result, error) {
	if confirmer, ok := r.Chargers[c.Route].(ChargeConfirmer); ok {
		return confirmer.ConfirmCharge(ctx, c, code)
	}
	return Result{}, fmt.Errorf("provider: the charger %q takes no codes", c.Route)
}

// Refund implements [RefundRail].
func (r *Router) Refund(ctx context.Context, f Refund) (Result, error) {
	if rail, ok := r.Chargers[f.Route].(RefundRail); ok {
		return rail.Refund(ctx, f)
	}
	return Result{}, fmt.Errorf("provider: the charger %q gives no refunds", f.Route)
}

// RefundStatus implements [RefundRail].
func (r *Router) RefundStatus(ctx context.Context, f Refund) (Result, error) {
	if rail, ok := r.Chargers[f.Route].(RefundRail); ok {
		return rail.RefundStatus(ctx, f)
	}
	return Result{}, fmt.Errorf("provider: the charger %q gives no refunds", f.Route)
}
