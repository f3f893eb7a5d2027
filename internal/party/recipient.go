package party

import (
	"context"
	"fmt"
	"strings"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/check"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/storage"
)

// Recipient is an account that money can be sent to.
type Recipient struct {
	Type      account.RecipientType
	AccountID string // acc_… or cag_…
	ServiceID string
	Name      string // whole; merchants see DisplayName
	// DisplayName is the first name and the initial of the last one.
	DisplayName string
}

// Recipient finds the account that a payout or disbursement pays. It uses the service id if
// given, else the account id, else the phone number. For a phone number it prefers a consumer to
// a cash agent.
//
// Refusals: invalid_service_id, service_id_not_found, service_id_not_payable,
// subagent_not_payable, invalid_phone_number, account_not_found, wallet_not_active, and
// parameter_missing when ref is empty. Their parameters are service_id, account_id and
// phone_number.
func (*Service) Recipient(tx storage.ReadTx, live bool, ref account.WalletRef) (*Recipient, error) {
	id, param := ref.AccountID, "account_id"
	switch {
	case ref.ServiceID != "":
		owned, err := parseServiceID(tx, live, ref.ServiceID)
		if err != nil {
			return nil, err
		}
		if owned.Owner == ownerMerchant {
			return nil, api.Errorf(api.ServiceIDNotPayable, "service_id", "This service ID belongs to a merchant, who cannot be paid this way. Give the service ID of a consumer or cash agent.")
		}
		id, param = owned.Account, "service_id"
	case id == "" && ref.Phone == "":
		return nil, api.Missing("service_id")
	case id == "":
		param = "phone_number"
	}
	h, agent, err := findHolder(tx, live, id, ref.Phone)
	if err != nil {
		return nil, err
	}
	if h == nil || h.Status == account.Closed {
		return nil, api.Errorf(api.AccountNotFound, param, "No active consumer or cash agent has this %s. Check it and try again.", strings.ReplaceAll(param, "_", " "))
	}
	if agent != nil && agent.SubAgent {
		return nil, api.Errorf(api.SubagentNotPayable, param, "This account is a sub-agent's. Pay the main agent instead.")
	}
	if h.Status != account.Active {
		return nil, api.Errorf(api.WalletNotActive, param, "The recipient's account is %s and cannot receive money.", h.Status)
	}
	r := &Recipient{Type: account.RecipientConsumer, AccountID: h.ID, ServiceID: h.ServiceID, Name: h.Name, DisplayName: h.DisplayName()}
	if agent != nil {
		r.Type = account.RecipientAgent
	}
	return r, nil
}

// findHolder finds a consumer or, with agent set, a cash agent. It searches by id, or by phone if
// id is empty. It returns nil if there is none.
func findHolder(tx storage.ReadTx, live bool, id, number string) (h *account.Holder, agent *account.Agent, err error) {
	if id == "" {
		if number, err = check.Phone("phone_number", number); err != nil {
			return nil, nil, err
		}
	}
	if id == "" || strings.HasPrefix(id, "acc_") {
		c, err := find(tx, consumers, live, id, number)
		if err != nil {
			return nil, nil, err
		}
		if c != nil {
			return &c.Holder, nil, nil
		}
	}
	if id == "" || strings.HasPrefix(id, "cag_") {
		a, err := find(tx, agents, live, id, number)
		if err != nil || a == nil {
			return nil, nil, err
		}
		return &a.Holder, a, nil
	}
	return nil, nil, nil
}

// find returns the consumer or cash agent with this id or, if id is empty, with this phone number. It
// returns nil if there is none.
func find[T any](tx storage.ReadTx, holders *storage.Collection[T], live bool, id, number string) (*T, error) {
	var o *storage.Object[T]
	var err error
	if id == "" {
		o, err = holders.Find(tx, "phone", operator(live), number)
	} else {
		o, err = holders.Get(tx, operator(live), id)
	}
	if o, err = engine.OrNil(o, err); o == nil || err != nil {
		return nil, err
	}
	return &o.Value, nil
}

// parseServiceID returns the record of a service id.
func parseServiceID(tx storage.ReadTx, live bool, id string) (*serviceID, error) {
	if err := check.ServiceID(id); err != nil {
		return nil, err
	}
	owned, err := findServiceID(tx, live, id)
	if err != nil {
		return nil, err
	}
	if owned == nil {
		return nil, api.Errorf(api.ServiceIDNotFound, "service_id", "No consumer or cash agent has this service ID. Check it and try again.")
	}
	return owned, nil
}

func (s *Service) LookUpServiceID(ctx context.Context, caller api.Caller, id string) (*account.ServiceIDLookup, error) {
	if id == "" {
		return nil, api.Missing("service_id")
	}
	// The call changes nothing, but a caller that gives a key gets the first answer again.
	op := engine.Operation{Name: "service_id.look_up", Params: id}
	return engine.ReadAndStoreAnswer(ctx, s.engine, caller, op, func(tx *engine.ReadTx) (*account.ServiceIDLookup, error) {
		return lookUpTx(tx, caller.Live, id)
	})
}

func lookUpTx(tx storage.ReadTx, live bool, id string) (*account.ServiceIDLookup, error) {
	owned, err := parseServiceID(tx, live, id)
	if err != nil {
		return nil, err
	}
	found := &account.ServiceIDLookup{Object: "service_id_lookup", ServiceID: id}
	if owned.Owner == ownerMerchant {
		m, err := getMerchant(tx, owned.Account)
		if err != nil {
			return nil, fmt.Errorf("account: merchant of a service id: %w", err)
		}
		found.RecipientType, found.Name = account.RecipientMerchant, m.Name
		return found, nil
	}
	h, agent, err := findHolder(tx, live, owned.Account, "")
	if err != nil {
		return nil, err
	}
	if h == nil || h.Status == account.Closed {
		return nil, api.Errorf(api.AccountNotFound, "service_id", "The account of this service ID was closed.")
	}
	found.RecipientType, found.Name = account.RecipientConsumer, h.DisplayName()
	if agent != nil {
		found.RecipientType = account.RecipientAgent
		if agent.SubAgent {
			found.RecipientType = account.RecipientSubAgent
		}
	}
	found.Payable = h.Status == account.Active && found.RecipientType != account.RecipientSubAgent
	return found, nil
}
