package account

import (
	"strings"
	"unicode/utf8"

	"github.com/seed-7082ffec/payments/api"
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

// UpdateHolderParams changes a consumer or cash agent. A nil field stays as it is.
type UpdateHolderParams struct {
	// Status says whether the wallet or float may be used. An account with money in it cannot be
	// closed. A closed one stays closed, since another person may have its number by now.
	Status *Status `json:"status,omitempty"`
	// Tier is the holder's new tier; see [CreateHolderParams].
	Tier *Tier `json:"tier,omitempty"`
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

// Usable refuses a frozen or suspended wallet with wallet_not_active.
func (c *Consumer) Usable() error {
	if c.Status != Active {
		return api.Errorf(api.WalletNotActive, "", "This wallet is %s. Its holder can have it opened again by customer care.", c.Status)
	}
	return nil
}

// SetPINParams hold a new PIN.
type SetPINParams struct {
	// PIN is 4 to 6 digits, in live mode neither repeated nor sequential ones.
	PIN string `json:"-"`
}
