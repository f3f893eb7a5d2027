package account

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/check"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/ledger"
	"github.com/seed-7082ffec/payments/storage"
)

// CreateHolderParams describes a new consumer or cash agent.
type CreateHolderParams struct {
	Name string // required
	// Phone is a Ghanaian number in any common form; required. No two open accounts of one kind and
	// mode share a number.
	Phone string
	// PIN has 4 to 6 digits. Live mode refuses repeated and sequential digits. Without a PIN the
	// account cannot pay.
	PIN string
	// Status is active when empty.
	Status Status
	// SubAgent makes a cash agent a sub-agent, who cannot be paid directly. CreateConsumer ignores it.
	SubAgent bool
	// Tier decides which limits apply to top-ups of a consumer's wallet; see [WalletTiers].
	Tier Tier
}

func (p *CreateHolderParams) check(live bool) error {
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
		p.Status = Active
	}
	if err := p.Status.check(); err != nil {
		return err
	}
	if err := p.Tier.check(); err != nil {
		return err
	}
	if p.PIN != "" {
		return checkPIN(live, p.PIN)
	}
	return nil
}

// Holder is the common part of consumers and cash agents.
type Holder struct {
	ID        string   `json:"id"`
	ServiceID string   `json:"service_id"` // see [WalletRef]
	Name      string   `json:"name"`
	Phone     string   `json:"phone_number"` // +233XXXXXXXXX
	Status    Status   `json:"status"`
	Tier      Tier     `json:"tier,omitempty"`
	CreatedAt api.Time `json:"created_at"`
}

// DisplayName is the name as strangers see it: the first name and the initial of the last one.
func (h *Holder) DisplayName() string { return displayName(h.Name) }

// displayName shortens a name for strangers: Ama Serwaa Mensah becomes Ama M.
func displayName(name string) string {
	words := strings.Fields(name)
	if len(words) == 0 {
		return ""
	}
	if len(words) == 1 {
		return words[0]
	}
	initial, _ := utf8.DecodeRuneInString(words[len(words)-1])
	return words[0] + " " + string(initial) + "."
}

// Consumer holds a wallet.
type Consumer struct {
	Holder
}

// Agent is a cash agent, who holds a float.
type Agent struct {
	Holder
	// SubAgent marks a sub-agent, who works for a main agent and cannot be paid directly.
	SubAgent bool `json:"sub_agent"`
}

// reachable returns the phone number, or "" for a closed account: another account may have that
// number by now.
func (h *Holder) reachable() string {
	if h.Status == Closed {
		return ""
	}
	return h.Phone
}

var consumers = storage.NewCollection("consumers", append([]storage.Field[Consumer]{
	storage.TextColumn("phone", func(c *Consumer) string { return c.reachable() }).Nullable(),
	storage.EnumColumn("status", func(c *Consumer) Status { return c.Status }, statuses...),
}, nameFields(func(c *Consumer) string { return c.Name })...), storage.Unique("phone", "phone"))

var agents = storage.NewCollection("cash_agents", []storage.Field[Agent]{
	storage.TextColumn("phone", func(a *Agent) string { return a.reachable() }).Nullable(),
	storage.EnumColumn("status", func(a *Agent) Status { return a.Status }, statuses...),
}, storage.Unique("phone", "phone"))

// CreateConsumer makes a consumer of the caller's mode, with an empty wallet. Only the operator may
// call it. With an idempotency key the call may be repeated safely. A replay may carry another PIN,
// because the library stores no PIN to compare.
//
// Refusals: permission_denied, parameter_missing, parameter_invalid (also for a phone number that
// another account has), invalid_phone_number.
func (s *Service) CreateConsumer(ctx context.Context, caller api.Caller, p CreateHolderParams) (*Consumer, error) {
	if err := operatorOnly(caller); err != nil {
		return nil, err
	}
	return create(ctx, s, caller, p, ownerConsumer, "acc_", func(tx *engine.Tx, h Holder) (*Consumer, error) {
		c := &Consumer{Holder: h}
		_, err := consumers.Insert(tx, operator(caller.Live), h.ID, *c)
		return c, err
	})
}

// CreateAgent is CreateConsumer for a cash agent, with an empty float.
func (s *Service) CreateAgent(ctx context.Context, caller api.Caller, p CreateHolderParams) (*Agent, error) {
	if err := operatorOnly(caller); err != nil {
		return nil, err
	}
	return create(ctx, s, caller, p, ownerAgent, "cag_", func(tx *engine.Tx, h Holder) (*Agent, error) {
		a := &Agent{Holder: h, SubAgent: p.SubAgent}
		_, err := agents.Insert(tx, operator(caller.Live), h.ID, *a)
		return a, err
	})
}

func create[T any](ctx context.Context, s *Service, caller api.Caller, p CreateHolderParams, o owner, prefix string, insert func(*engine.Tx, Holder) (*T, error)) (*T, error) {
	if err := p.check(caller.Live); err != nil {
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
			made, err := insert(tx, Holder{
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
func (*Internal) ConsumerExists(tx storage.ReadTx, live bool, id string) error {
	_, err := engine.GetTx(tx, consumers, operator(live), id, "consumer")
	if api.CodeOf(err) == api.ResourceMissing {
		return api.Errorf(api.AccountNotFound, "account_id", "No consumer has this account id. Check it and try again.")
	}
	return err
}

// UpdateHolderParams changes a consumer or cash agent. A nil field stays as it is.
type UpdateHolderParams struct {
	// Status says whether the wallet or float may be used. An account with money in it cannot be
	// closed. A closed one stays closed, since another person may have its number by now.
	Status *Status `json:"status,omitempty"`
	// Tier is the holder's new tier; see [CreateHolderParams].
	Tier *Tier `json:"tier,omitempty"`
}

// UpdateConsumer changes a consumer of the caller's mode. Only the operator may call it.
//
// Refusals: permission_denied, resource_missing, parameter_invalid.
func (s *Service) UpdateConsumer(ctx context.Context, caller api.Caller, id string, p UpdateHolderParams) (*Consumer, error) {
	if err := operatorOnly(caller); err != nil {
		return nil, err
	}
	return update(ctx, s, caller, id, p, consumers, "consumer", ledger.Wallet(id, caller.Live), func(c *Consumer) *Holder { return &c.Holder })
}

// UpdateAgent is UpdateConsumer for a cash agent.
func (s *Service) UpdateAgent(ctx context.Context, caller api.Caller, id string, p UpdateHolderParams) (*Agent, error) {
	if err := operatorOnly(caller); err != nil {
		return nil, err
	}
	return update(ctx, s, caller, id, p, agents, "cash agent", ledger.Float(id, caller.Live), func(a *Agent) *Holder { return &a.Holder })
}

func update[T any](ctx context.Context, s *Service, caller api.Caller, id string, p UpdateHolderParams, in *storage.Collection[T], noun string, money ledger.Account, holder func(*T) *Holder) (*T, error) {
	if p.Status != nil {
		if err := p.Status.check(); err != nil {
			return nil, err
		}
	}
	if p.Tier != nil {
		if err := p.Tier.check(); err != nil {
			return nil, err
		}
	}
	op := engine.Operation{Name: noun + ".update", Params: struct {
		ID string `json:"id"`
		UpdateHolderParams
	}{id, p}}
	return engine.Execute(ctx, s.engine, caller, op, func(tx *engine.Tx) (*T, error) {
		o, err := engine.GetTx(tx, in, operator(caller.Live), id, noun)
		if err != nil {
			return nil, err
		}
		if p.Status != nil {
			if *p.Status == Closed {
				if err := checkEmpty(tx, money, "status"); err != nil {
					return nil, err
				}
			}
			if err := holder(&o.Value).setStatus(*p.Status); err != nil {
				return nil, err
			}
		}
		engine.SetGiven(&holder(&o.Value).Tier, p.Tier)
		return &o.Value, in.Replace(tx, o)
	})
}

func (h *Holder) setStatus(status Status) error {
	if h.Status == Closed && status != Closed {
		return api.Invalid("status", "A closed account cannot be opened again; create a new one.")
	}
	h.Status = status
	return nil
}

// WalletRef names a consumer, or the recipient of a payout, in one of three ways. The library uses the
// first one given.
type WalletRef struct {
	// ServiceID is a short number that people can read out, such as SVC1000042. Each merchant, consumer
	// and agent has one, and payouts take it as their recipient.
	ServiceID string
	AccountID string
	// Phone is a Ghanaian number in any common form.
	Phone string
}

func findPayer(tx storage.ReadTx, live bool, ref WalletRef) (*Consumer, error) {
	c, err := findConsumer(tx, live, ref)
	if err != nil {
		return nil, err
	}
	if c == nil || c.Status == Closed {
		return nil, api.Errorf(api.AccountNotFound, "", "There is no open wallet with this number or id. Check it and try again.")
	}
	return c, nil
}

func findConsumer(tx storage.ReadTx, live bool, ref WalletRef) (*Consumer, error) {
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

// Usable refuses a frozen or suspended wallet with wallet_not_active.
func (c *Consumer) Usable() error {
	if c.Status != Active {
		return api.Errorf(api.WalletNotActive, "", "This wallet is %s. Its holder can have it opened again by customer care.", c.Status)
	}
	return nil
}
