package account

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/chart"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/storage"
)

// HolderParams describe a new consumer or cash agent.
type HolderParams struct {
	// Live is the mode that the account belongs to.
	Live bool
	Name string // required
	// Phone is required, in any way of writing a number of Ghana. No two open
	// accounts of one kind and mode have the same.
	Phone string
	// PIN is 4 to 6 digits, in live mode neither repeated nor sequential ones. Without one
	// the account cannot pay.
	PIN string
	// Status is active when empty.
	Status Status
	// SubAgent makes a cash agent a sub-agent, who is not paid directly.
	SubAgent bool
	// IdempotencyKey makes it safe to repeat a call whose answer was lost, as that of a
	// [Deposit] does. The PIN is not compared: secrets are kept nowhere.
	IdempotencyKey string
}

func (p *HolderParams) check() error {
	if err := checkName(p.Name); err != nil {
		return err
	}
	if p.Phone == "" {
		return api.Missing("phone_number")
	}
	var err error
	if p.Phone, err = parsePhone("phone_number", p.Phone); err != nil {
		return err
	}
	if p.Status == "" {
		p.Status = Active
	}
	if err := p.Status.check(); err != nil {
		return err
	}
	if p.PIN != "" {
		return checkPIN(p.Live, p.PIN)
	}
	return nil
}

// Holder is what consumers and cash agents have in common: who holds the
// account and how it is found.
type Holder struct {
	ID        string   `json:"id"`
	ServiceID string   `json:"service_id"`
	Name      string   `json:"name"`
	Phone     string   `json:"phone_number"` // +233XXXXXXXXX
	Status    Status   `json:"status"`
	CreatedAt api.Time `json:"created_at"`
}

// DisplayName is what a stranger may see of the holder's name: the first name and the
// initial of the last one.
func (h *Holder) DisplayName() string { return displayName(h.Name) }

// displayName shortens a name to what a stranger may see: Ama Serwaa Mensah is
// Ama M.
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
	// SubAgent: a sub-agent works for a main agent and is not paid directly.
	SubAgent bool `json:"sub_agent"`
}

func (h *Holder) reachable() any {
	if h.Status == Closed {
		return nil // its number may be given to another account
	}
	return h.Phone
}

var consumers = storage.NewCollection("consumers", []storage.Field[Consumer]{
	{
		Column: storage.Column{Name: "phone", Type: storage.Text, Null: true},
		Value:  func(c *Consumer) any { return c.reachable() },
	},
	{
		Column: storage.Column{Name: "status", Type: storage.Text, OneOf: statuses},
		Value:  func(c *Consumer) any { return string(c.Status) },
	},
}, storage.Unique("phone", "phone"))

var agents = storage.NewCollection("cash_agents", []storage.Field[Agent]{
	{
		Column: storage.Column{Name: "phone", Type: storage.Text, Null: true},
		Value:  func(a *Agent) any { return a.reachable() },
	},
	{
		Column: storage.Column{Name: "status", Type: storage.Text, OneOf: statuses},
		Value:  func(a *Agent) any { return string(a.Status) },
	},
}, storage.Unique("phone", "phone"))

// CreateConsumer makes a consumer with an empty wallet.
func (s *Service) CreateConsumer(ctx context.Context, p HolderParams) (*Consumer, error) {
	return create(ctx, s, p, ownerConsumer, "acc_", func(tx *engine.Tx, h Holder) (*Consumer, error) {
		c := &Consumer{Holder: h}
		_, err := consumers.Insert(tx, operator(p.Live), h.ID, *c)
		return c, err
	})
}

// CreateAgent makes a cash agent with an empty float.
func (s *Service) CreateAgent(ctx context.Context, p HolderParams) (*Agent, error) {
	return create(ctx, s, p, ownerAgent, "cag_", func(tx *engine.Tx, h Holder) (*Agent, error) {
		a := &Agent{Holder: h, SubAgent: p.SubAgent}
		_, err := agents.Insert(tx, operator(p.Live), h.ID, *a)
		return a, err
	})
}

func create[T any](ctx context.Context, s *Service, p HolderParams, o owner, prefix string, insert func(*engine.Tx, Holder) (*T, error)) (*T, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	caller, pin := api.Caller{Live: p.Live, IdempotencyKey: p.IdempotencyKey}, p.PIN
	p.IdempotencyKey, p.PIN = "", ""
	call := engine.Call{Name: string(o) + ".create", Params: p}
	return engine.Once(ctx, s.engine, caller, call, func() (*T, error) {
		var hash string
		if pin != "" {
			var err error
			if hash, err = s.hasher.Hash(ctx, pin); err != nil {
				return nil, fmt.Errorf("account: hash PIN: %w", err)
			}
		}
		return engine.Do(ctx, s.engine, caller, call, func(tx *engine.Tx) (*T, error) {
			id := tx.NewID(prefix)
			serviceID, err := newServiceID(tx, o, id, p.Live)
			if err != nil {
				return nil, err
			}
			made, err := insert(tx, Holder{
				ID: id, ServiceID: serviceID, Name: p.Name, Phone: p.Phone,
				Status: p.Status, CreatedAt: api.At(tx.Now),
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
			return made, setPIN(tx, p.Live, id, hash)
		})
	})
}

// Consumer returns one consumer, whatever the status.
func (s *Service) Consumer(ctx context.Context, live bool, id string) (*Consumer, error) {
	var c *Consumer
	err := s.engine.Store.View(ctx, func(tx storage.ReadTx) error {
		o, err := engine.GetTx(tx, consumers, operator(live), id, "consumer")
		if err != nil {
			return err
		}
		c = &o.Value
		return nil
	})
	return c, err
}

// ConsumerExistsTx refuses an id that is no consumer's, of whatever status, as
// account_not_found of the parameter account_id.
func ConsumerExistsTx(tx storage.ReadTx, live bool, id string) error {
	_, err := engine.GetTx(tx, consumers, operator(live), id, "consumer")
	if api.CodeOf(err) == api.ResourceMissing {
		return api.Errorf(api.AccountNotFound, "account_id", "No consumer has this account id. Check it and try again.")
	}
	return err
}

// SetConsumerStatus changes whether a consumer's wallet may be used. A closed
// account stays closed, since its number may belong to somebody else by now.
func (s *Service) SetConsumerStatus(ctx context.Context, live bool, id string, status Status) (*Consumer, error) {
	if err := status.check(); err != nil {
		return nil, err
	}
	var c *Consumer
	err := s.engine.Update(ctx, api.Caller{Live: live}, func(tx *engine.Tx) error {
		o, err := engine.GetTx(tx, consumers, operator(live), id, "consumer")
		if err != nil {
			return err
		}
		if err := o.Value.setStatus(status); err != nil {
			return err
		}
		c = &o.Value
		return consumers.Replace(tx, o)
	})
	return c, err
}

// SetAgentStatus is SetConsumerStatus for a cash agent's float.
func (s *Service) SetAgentStatus(ctx context.Context, live bool, id string, status Status) (*Agent, error) {
	if err := status.check(); err != nil {
		return nil, err
	}
	var a *Agent
	err := s.engine.Update(ctx, api.Caller{Live: live}, func(tx *engine.Tx) error {
		o, err := engine.GetTx(tx, agents, operator(live), id, "cash agent")
		if err != nil {
			return err
		}
		if err := o.Value.setStatus(status); err != nil {
			return err
		}
		a = &o.Value
		return agents.Replace(tx, o)
	})
	return a, err
}

func (h *Holder) setStatus(status Status) error {
	if h.Status == Closed && status != Closed {
		return api.Invalid("status", "A closed account cannot be opened again; create a new one.")
	}
	h.Status = status
	return nil
}

// WalletRef names a consumer in one of three ways; the first that is given
// counts.
type WalletRef struct {
	ServiceID string
	AccountID string
	// Phone is a number in any form.
	Phone string
}

// PayerTx finds the consumer whose wallet is to pay, or refuses with
// account_not_found. Frozen wallets are found: whoever proves with the PIN to be
// the holder is told, see [Consumer.Usable].
func PayerTx(tx storage.ReadTx, live bool, ref WalletRef) (*Consumer, error) {
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
	var o *storage.Object[Consumer]
	var err error
	if id != "" {
		o, err = consumers.Get(tx, operator(live), id)
	} else {
		number, invalid := parsePhone("phone_number", ref.Phone)
		if invalid != nil {
			return nil, invalid
		}
		o, err = consumers.Find(tx, "phone", operator(live), number)
	}
	if errors.Is(err, storage.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("account: find consumer: %w", err)
	}
	return &o.Value, nil
}

// Usable refuses a frozen or suspended wallet with wallet_not_active.
func (c *Consumer) Usable() error {
	if c.Status != Active {
		return api.Errorf(api.WalletNotActive, "", "This wallet is %s. Its holder can have it opened again by customer care.", c.Status)
	}
	return nil
}

// Wallet is the consumer's ledger account.
func (c *Consumer) Wallet(live bool) chart.Account { return chart.Wallet(c.ID, live) }
