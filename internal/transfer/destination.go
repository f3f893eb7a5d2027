package transfer

import (
	"strings"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/check"
	"github.com/seed-7082ffec/payments/internal/party"
	"github.com/seed-7082ffec/payments/internal/phone"
	"github.com/seed-7082ffec/payments/payout"
	"github.com/seed-7082ffec/payments/provider"
)

// target is an external destination in the form that the rail gets.
type target struct {
	Provider string `json:"provider"`
	Number   string `json:"number"` // +233XXXXXXXXX, or digits of a bank account
	BankCode string `json:"bank_code,omitempty"`
	Name     string `json:"name,omitempty"`
}

// providerTransfer returns a transfer to the destination as a rail gets it.
func (t *target) providerTransfer() provider.Transfer {
	to := provider.Transfer{Channel: provider.MobileMoney, Network: t.Provider, Number: t.Number, Name: t.Name}
	if t.BankCode != "" {
		to.Channel, to.Network, to.Bank = provider.BankTransfer, "", t.BankCode
	}
	return to
}

// enquiry asks for the name of the destination.
func (t *target) enquiry(live bool) provider.Enquiry {
	to := t.providerTransfer()
	return provider.Enquiry{Live: live, Channel: to.Channel, Network: to.Network, Bank: to.Bank, Number: to.Number}
}

// parseDestination refuses wrong parameters without a lookup. It returns an external destination and its
// target; both are nil for a service wallet. Nil banks do not ask whether the bank can be paid: one
// that was paid before may be gone.
func parseDestination(p *payout.DestinationParams, banks provider.BankDirectory) (*payout.Destination, *target, error) {
	if err := check.Text("destination.account_name", p.AccountName, api.MaxName); err != nil {
		return nil, nil, err
	}
	if p.MatchName && p.AccountName == "" {
		return nil, nil, api.Missing("destination.account_name")
	}
	switch p.Type {
	case "":
		return nil, nil, api.Missing("destination.type")
	case payout.MobileMoney:
		return mobileMoney(p)
	case payout.BankTransfer:
		return bankTransfer(p, banks)
	case payout.ServiceWallet:
		if p.ServiceID == "" && p.AccountID == "" && p.PhoneNumber == "" {
			return nil, nil, api.Errorf(api.ParameterMissing, "destination.service_id",
				"A service_wallet destination needs one of service_id, account_id and phone_number.")
		}
		// The form of a number or id is no secret. Whether the recipient exists is one.
		return nil, nil, check.Under("destination", walletOf(p).Check())
	}
	return nil, nil, api.Invalid("destination.type", "destination.type must be mobile_money, bank_transfer or service_wallet.")
}

// walletOf names the recipient of a service wallet transfer.
func walletOf(p *payout.DestinationParams) account.WalletRef {
	return account.WalletRef{ServiceID: p.ServiceID, AccountID: p.AccountID, Phone: p.PhoneNumber}
}

func mobileMoney(p *payout.DestinationParams) (*payout.Destination, *target, error) {
	number, network, err := check.MobileMoney("destination.", p.PhoneNumber, p.Provider)
	if err != nil {
		return nil, nil, err
	}
	return &payout.Destination{Type: payout.MobileMoney, Provider: &network, Number: phone.Mask(number), Name: p.AccountName},
		&target{Provider: network, Number: number, Name: p.AccountName}, nil
}

// Bank account numbers in Ghana have lengths between these, with some margin.
const (
	minAccountNumber = 5
	maxAccountNumber = 30
)

func bankTransfer(p *payout.DestinationParams, banks provider.BankDirectory) (*payout.Destination, *target, error) {
	if p.AccountNumber == "" {
		return nil, nil, api.Missing("destination.account_number")
	}
	if p.BankCode == "" {
		return nil, nil, api.Missing("destination.bank_code")
	}
	number := strings.NewReplacer(" ", "", "-", "").Replace(p.AccountNumber)
	if len(number) < minAccountNumber || len(number) > maxAccountNumber || strings.Trim(number, "0123456789") != "" {
		return nil, nil, api.Errorf(api.InvalidDestination, "destination.account_number",
			"destination.account_number must have %d to %d digits.", minAccountNumber, maxAccountNumber)
	}
	if banks != nil {
		if bank, ok := banks.Bank(p.BankCode); !ok || !bank.Active {
			return nil, nil, api.Errorf(api.InvalidDestination, "destination.bank_code",
				"destination.bank_code is of no bank that can be paid. Take it from GET /v1/lookup/banks.")
		}
	}
	code := p.BankCode
	return &payout.Destination{Type: payout.BankTransfer, Provider: &code, Number: maskAccount(number), Name: p.AccountName},
		&target{Provider: code, Number: number, BankCode: code, Name: p.AccountName}, nil
}

// maskAccount shows the last four digits. The number of stars before them does not depend on the
// length.
func maskAccount(number string) string {
	const shown = 4
	return "****" + number[len(number)-shown:]
}

// wallet is the destination of a recipient within the service.
func wallet(r *party.Recipient) payout.Destination {
	return payout.Destination{
		Type: payout.ServiceWallet, Number: r.AccountID, Name: r.DisplayName,
		ServiceID: r.ServiceID, AccountID: r.AccountID, RecipientType: r.Type,
	}
}
