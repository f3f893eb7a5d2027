package party

import (
	"fmt"
	"strings"

	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/storage"
)

// owner is the kind of account that a service id belongs to.
type owner string

const (
	ownerConsumer owner = "consumer"
	ownerAgent    owner = "cash_agent"
	ownerMerchant owner = "merchant"
)

// noun returns what a refusal calls the kind, such as "cash agent".
func (o owner) noun() string { return strings.ReplaceAll(string(o), "_", " ") }

// serviceID names the owner of a service id. The id of the record is the service id, which makes
// it unique over all kinds of accounts.
type serviceID struct {
	Owner   owner  `json:"owner"`
	Account string `json:"account"`
}

var serviceIDs = storage.NewCollection[serviceID]("service_ids", nil)

// firstServiceID is added to the sequence, so that ids have a fixed length for
// the first million accounts.
const firstServiceID = 1_000_000

// newServiceID gives the account the next service id in the given modes.
func newServiceID(tx *engine.Tx, o owner, account string, modes ...bool) (string, error) {
	n, err := tx.Next("service_ids")
	if err != nil {
		return "", fmt.Errorf("account: next service id: %w", err)
	}
	id := fmt.Sprintf("SVC%d", firstServiceID+n)
	for _, live := range modes {
		if _, err := serviceIDs.Insert(tx, operator(live), id, serviceID{Owner: o, Account: account}); err != nil {
			return "", fmt.Errorf("account: keep service id: %w", err)
		}
	}
	return id, nil
}

// findServiceID returns the owner of a service id, or nil.
func findServiceID(tx storage.ReadTx, live bool, id string) (*serviceID, error) {
	o, err := engine.OrNil(serviceIDs.Get(tx, operator(live), id))
	if o == nil || err != nil {
		return nil, err
	}
	return &o.Value, nil
}
