package orders

import (
	"errors"

	"github.com/seed-7082ffec/payments/internal/check"
	"github.com/seed-7082ffec/payments/internal/phone"
	"github.com/seed-7082ffec/payments/provider"
)

// errRoute means that the host's code panicked, or returned a name that is none.
var errRoute = errors.New("orders: the host's RouteTransfer or RouteCharge panicked, or returned another name than 1 to 40 lower-case letters, digits and underscores")

// RouteTransfer returns the rail, or nil if it does not carry the transfer. It gives a transfer that
// was not submitted yet its route. One that was submitted keeps its route: nil means that the host has
// another provider now, which must not be asked about it.
func (s *Submission) RouteTransfer(rail provider.Rail, t provider.Transfer) (provider.Rail, error) {
	if rail == nil {
		return nil, nil
	}
	router, routes := rail.(provider.TransferRouter)
	ok, err := s.choose(routes, func(route string) (string, bool) {
		t.Route = route
		return router.RouteTransfer(t)
	})
	if !ok {
		return nil, err
	}
	return rail, nil
}

// RouteCharge is RouteTransfer for charges.
func (s *Submission) RouteCharge(charger provider.Charger, c provider.Charge) (provider.Charger, error) {
	if charger == nil {
		return nil, nil
	}
	router, routes := charger.(provider.ChargeRouter)
	ok, err := s.choose(routes, func(route string) (string, bool) {
		c.Route = route
		return router.RouteCharge(c)
	})
	if !ok {
		return nil, err
	}
	return charger, nil
}

// TransferNetworks returns the networks to whose numbers a rail carries a transfer like t; none without a rail.
func TransferNetworks(rail provider.Rail, t provider.Transfer) []string {
	return networks(func(network string) bool {
		t.Route, t.Channel, t.Network, t.Bank = "", provider.MobileMoney, network, ""
		carrier, err := (&Submission{}).RouteTransfer(rail, t)
		return carrier != nil && err == nil
	})
}

// ChargeNetworks returns the networks whose phones a charger takes for a charge like c; none without a
// charger.
func ChargeNetworks(charger provider.Charger, c provider.Charge) []string {
	return networks(func(network string) bool {
		c.Route, c.Network = "", network
		taker, err := (&Submission{}).RouteCharge(charger, c)
		return taker != nil && err == nil
	})
}

func networks(take func(network string) bool) (taken []string) {
	for _, network := range phone.Networks() {
		if take(network) {
			taken = append(taken, network)
		}
	}
	return taken
}

// choose sets the route of an order that was not submitted yet, and reports whether the provider takes
// the order. ask is given the route that the order must keep, or "". routes says that the provider has
// a name.
func (s *Submission) choose(routes bool, ask func(route string) (string, bool)) (bool, error) {
	submitted := s.SubmittedAt != nil
	switch {
	case submitted && s.Route == "": // the host has named its provider since
		return true, nil
	case !routes && submitted:
		return false, nil
	case !routes:
		s.Route = ""
		return true, nil
	}
	keep := ""
	if submitted {
		keep = s.Route
	}
	name, ok, err := askRoute(ask, keep)
	switch {
	case err != nil || !ok:
		return false, err
	case submitted:
		return name == s.Route, nil
	case !check.Route(name):
		return false, errRoute
	}
	s.Route = name
	return true, nil
}

// askRoute calls the host's code, which may panic.
func askRoute(ask func(string) (string, bool), keep string) (name string, ok bool, err error) {
	defer func() {
		if recover() != nil {
			name, ok, err = "", false, errRoute
		}
	}()
	name, ok = ask(keep)
	return name, ok, nil
}

// ChargerOf returns the charger of a route, nil if there is none: charger itself, or the one among several
// that has the name; see [provider.Router].
func ChargerOf(charger provider.Charger, route string) (of provider.Charger) {
	defer func() {
		if recover() != nil { // the host's code
			of = nil
		}
	}()
	if router, ok := charger.(interface {
		ChargerOf(route string) provider.Charger
	}); ok {
		return router.ChargerOf(route)
	}
	if route == "" {
		return charger
	}
	if router, ok := charger.(provider.ChargeRouter); ok {
		if name, _ := router.RouteCharge(provider.Charge{Order: provider.Order{Route: route}}); name == route {
			return charger
		}
	}
	return nil
}
