package mtnmomo

import "github.com/seed-7082ffec/payments/provider"

// Route is the name of MTN MoMo in orders and in the books. In a [provider.Router] the name in its table
// takes its place.
const Route = "mtnmomo"

var _ interface {
	provider.TransferRouter
	provider.ChargeRouter
} = (*Client)(nil)

// RouteTransfer implements [provider.TransferRouter]: the Client pays to phones of MTN alone.
func (c *Client) RouteTransfer(t provider.Transfer) (string, bool) {
	if t.Route != "" {
		return Route, t.Route == Route
	}
	return Route, t.Channel == provider.MobileMoney && t.Network == network
}

// RouteCharge implements [provider.ChargeRouter]: the Client charges phones of MTN alone.
func (c *Client) RouteCharge(charge provider.Charge) (string, bool) {
	if charge.Route != "" {
		return Route, charge.Route == Route
	}
	return Route, charge.Phone != "" && charge.Network == network
}
