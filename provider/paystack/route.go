package paystack

import "github.com/seed-7082ffec/payments/provider"

// Route is the name of Paystack in orders and in the books. In a [provider.Router] the name in its table
// takes its place.
const Route = "paystack"

var _ interface {
	provider.TransferRouter
	provider.ChargeRouter
} = (*Client)(nil)

// RouteTransfer implements [provider.TransferRouter].
func (c *Client) RouteTransfer(t provider.Transfer) (string, bool) {
	return Route, t.Route == "" || t.Route == Route
}

// RouteCharge implements [provider.ChargeRouter]: the Client charges phones alone.
func (c *Client) RouteCharge(charge provider.Charge) (string, bool) {
	if charge.Route != "" {
		return Route, charge.Route == Route
	}
	return Route, charge.Phone != ""
}
