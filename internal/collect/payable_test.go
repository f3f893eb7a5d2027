package collect

import (
	"testing"

	"github.com/seed-7082ffec/payments/internal/test/expect"
)

type (
	payable  struct{ Payable }
	refunder struct{ Refunder }
)

// A payment of something that is missing would take money for nothing.
func TestEveryPayableIsNeeded(t *testing.T) {
	all := Payables{QRCodes: payable{}, Invoices: payable{}, Sessions: payable{}, Refunds: refunder{}}
	for name, drop := range map[string]func(*Payables){
		"QR codes": func(p *Payables) { p.QRCodes = nil }, "invoices": func(p *Payables) { p.Invoices = nil },
		"sessions": func(p *Payables) { p.Sessions = nil }, "refunds": func(p *Payables) { p.Refunds = nil },
	} {
		some := all
		drop(&some)
		expect.True(t, (&Service{payables: new(Payables)}).SetPayables(some) != nil, "without %s: set", name)
	}
	expect.NoError(t, (&Service{payables: new(Payables)}).SetPayables(all), "all of them")
}
