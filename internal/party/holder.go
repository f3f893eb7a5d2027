package party

import (
	"context"
	"errors"
	"fmt"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/check"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/ledger"
	"github.com/seed-7082ffec/payments/storage"
)

func checkHolder(p *account.CreateHolderParams, live bool) error {
	if err := checkName(p.Name); err != nil {
		return err
	}
	if p.Phone == "" {
		return api.Missing("phone_number")
	}
	var err error
	if p.Phone, err = check.Phone("phone_number", p.Phone); err != nil {
		return err
	}
	if p.Status == "" {
		p.Status = account.Active
	}
	if err := checkStatus(p.Status); err != nil {
		return err
	}
	if err := checkTier(p.Tier); err != nil {
		return err
	}
	if p.PIN != "" {
		return checkPIN(live, p.PIN)
	}
	return nil
}

// reachable returns the phone number, or "" for a closed account: another account may have that
// number by now.
func reachable(h *account.Holder) string {
	if h.Status == account.Closed {
		return ""
	}
	return h.Phone
}

var consumers = storage.NewCollection("consumers", append([]storage.Field[account.Consumer]{
	storage.TextColumn("phone", func(c *account.Consumer) string { return reachable(&c.Holder) }).Nullable(),
	storage.EnumColumn("status", func(c *account.Consumer) account.Status { return c.Status }, statuses...),
}, nameFields(func(c *account.Consumer) string { return c.Name })...), storage.Unique("phone", "phone"))

var agents = storage.NewCollection("cash_agents", []storage.Field[account.Agent]{
	storage.TextColumn("phone", func(a *account.Agent) string { return reachable(&a.Holder) }).Nullable(),
	storage.EnumColumn("status", func(a *account.Agent) account.Status { return a.Status }, statuses...),
}, storage.Unique("phone", "phone"))

func (s *Service) CreateConsumer(ctx context.Context, caller api.Caller, p account.CreateHolderParams) (*account.Consumer, error) {
	if err := operatorOnly(caller); err != nil {
		return nil, err
	}
	return create(ctx, s, caller, p, ownerConsumer, "acc_", func(tx *engine.Tx, h account.Holder) (*account.Consumer, error) {
		c := &account.Consumer{Holder: h}
		_, err := consumers.Insert(tx, operator(caller.Live), h.ID, *c)
		return c, err
	})
}

func (s *Service) CreateAgent(ctx context.Context, caller api.Caller, p account.CreateHolderParams) (*account.Agent, error) {
	if err := operatorOnly(caller); err != nil {
		return nil, err
	}
	return create(ctx, s, caller, p, ownerAgent, "cag_", func(tx *engine.Tx, h account.Holder) (*account.Agent, error) {
		a := &account.Agent{Holder: h, SubAgent: p.SubAgent}
		_, err := agents.Insert(tx, operator(caller.Live), h.ID, *a)
		return a, err
	})
}

func create[T any](ctx context.Context, s *Service, caller api.Caller, p account.CreateHolderParams, o owner, prefix string, insert func(*engine.Tx, account.Holder) (*T, error)) (*T, error) {
	if err := checkHolder(&p, caller.Live); err != nil {
		return nil, err
	}
	pin := p.PIN
	withoutPIN := p
	withoutPIN.PIN = "" // the fingerprint holds no secret
	op := engine.Operation{Name: string(o) + ".create", Params: withoutPIN}
	return engine.ExecuteWithReplay(ctx, s.engine, caller, op, func() (*T, error) {
		var hash string
		if pin != "" {
			var err error
			if hash, err = s.hasher.Hash(ctx, pin); err != nil {
				return nil, fmt.Errorf("account: hash PIN: %w", err)
			}
		}
		return engine.Execute(ctx, s.engine, caller, op, func(tx *engine.Tx) (*T, error) {
			id := tx.NewID(prefix)
			serviceID, err := newServiceID(tx, o, id, caller.Live)
			if err != nil {
				return nil, err
			}
			made, err := insert(tx, account.Holder{
				ID: id, ServiceID: serviceID, Name: p.Name, Phone: p.Phone,
				Status: p.Status, Tier: p.Tier, CreatedAt: api.At(tx.Now),
			})
			if errors.Is(err, storage.ErrExists) {
				return nil, api.Invalid("phone_number", "Another account has this phone number. Use another number, or close that account first.")
			}
			if err != nil {
				return nil, fmt.Errorf("account: create %s: %w", o, err)
			}
			if hash == "" {
				return made, nil
			}
			return made, setPIN(tx, caller.Live, id, hash)
		})
	})
}

// ConsumerExists refuses an id without a consumer, with account_not_found for the parameter
// account_id. It accepts any status.
func (*Service) ConsumerExists(tx storage.ReadTx, live bool, id string) error {
	_, err := engine.GetTx(tx, consumers, operator(live), id, "consumer")
	if api.CodeOf(err) == api.ResourceMissing {
		return api.Errorf(api.AccountNotFound, "account_id", "No consumer has this account id. Check it and try again.")
	}
	return err
}

func (s *Service) UpdateConsumer(ctx context.Context, caller api.Caller, id string, p account.UpdateHolderParams) (*account.Consumer, error) {
	if err := operatorOnly(caller); err != nil {
		return nil, err
	}
	return update(ctx, s, caller, id, p, consumers, ownerConsumer, ledger.Wallet(id, caller.Live), func(c *account.Consumer) *account.Holder { return &c.Holder })
}

func (s *Service) UpdateAgent(ctx context.Context, caller api.Caller, id string, p account.UpdateHolderParams) (*account.Agent, error) {
	if err := operatorOnly(caller); err != nil {
		return nil, err
	}
	return update(ctx, s, caller, id, p, agents, ownerAgent, ledger.Float(id, caller.Live), func(a *account.Agent) *account.Holder { return &a.Holder })
}

func update[T any](ctx context.Context, s *Service, caller api.Caller, id string, p account.UpdateHolderParams, in *storage.Collection[T], kind owner, money ledger.Account, holder func(*T) *account.Holder) (*T, error) {
	if p.Status != nil {
		if err := checkStatus(*p.Status); err != nil {
			return nil, err
		}
	}
	if p.Tier != nil {
		if err := checkTier(*p.Tier); err != nil {
			return nil, err
		}
	}
	op := engine.Operation{Name: string(kind) + ".update", Params: struct {
		ID string `json:"id"`
		account.UpdateHolderParams
	}{id, p}}
	return engine.Execute(ctx, s.engine, caller, op, func(tx *engine.Tx) (*T, error) {
		o, err := engine.GetTx(tx, in, operator(caller.Live), id, kind.noun())
		if err != nil {
			return nil, err
		}
		if p.Status != nil {
			if *p.Status == account.Closed {
				if err := checkEmpty(tx, money, "status"); err != nil {
					return nil, err
				}
			}
			if err := setStatus(holder(&o.Value), *p.Status); err != nil {
				return nil, err
			}
		}
		engine.SetGiven(&holder(&o.Value).Tier, p.Tier)
		return &o.Value, in.Replace(tx, o)
	})
}

func setStatus(h *account.Holder, status account.Status) error {
	if h.Status == account.Closed && status != account.Closed {
		return api.Invalid("status", "A closed account cannot be opened again; create a new one.")
	}
	h.Status = status
	return nil
}

func findPayer(tx storage.ReadTx, live bool, ref account.WalletRef) (*account.Consumer, error) {
	c, err := findConsumer(tx, live, ref)
	if err != nil {
		return nil, err
	}
	if c == nil || c.Status == account.Closed {
		return nil, api.Errorf(api.AccountNotFound, "", "There is no open wallet with this number or id. Check it and try again.")
	}
	return c, nil
}

func findConsumer(tx storage.ReadTx, live bool, ref account.WalletRef) (*account.Consumer, error) {
	id := ref.AccountID
	if ref.ServiceID != "" {
		owned, err := findServiceID(tx, live, ref.ServiceID)
		if err != nil || owned == nil || owned.Owner != ownerConsumer {
			return nil, err
		}
		id = owned.Account
	}
	number, err := check.Phone("phone_number", ref.Phone)
	if id == "" && err != nil {
		return nil, err
	}
	return find(tx, consumers, live, id, number)
}
