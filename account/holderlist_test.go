package account_test

import (
	"testing"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/expect"
	"github.com/seed-7082ffec/payments/internal/must"
	"github.com/seed-7082ffec/payments/internal/testkit"
)

func TestConsumersAreListed(t *testing.T) {
	b := newBench(t, nil)
	first, second := b.consumer(t, "0241000001"), b.consumer(t, "0241000002")
	must.Get(b.CreateConsumer(t.Context(), api.Caller{Live: true}, account.CreateHolderParams{Name: "Live", Phone: "0241000001"}))(t)
	list, err := b.ListConsumers(t.Context(), api.Caller{}, api.Page{Limit: 1})
	must.True(t, err == nil && len(list.Data) == 1 && list.Data[0] == *second && list.HasMore, "%+v, %v", list, err)
	list, err = b.ListConsumers(t.Context(), api.Caller{}, api.Page{StartingAfter: second.ID})
	expect.True(t, err == nil && len(list.Data) == 1 && list.Data[0] == *first && !list.HasMore, "%+v, %v", list, err)
}

func TestAgentsAreRead(t *testing.T) {
	b := newBench(t, nil)
	made := must.Get(b.CreateAgent(t.Context(), api.Caller{}, account.CreateHolderParams{Name: "Kofi Boateng", Phone: "0241000001"}))(t)
	b.consumer(t, "0241000002")
	expect.Same(t, must.Get(b.GetAgent(t.Context(), api.Caller{}, made.ID))(t), made, "by id")
	list := must.Get(b.ListAgents(t.Context(), api.Caller{}, api.Page{}))(t)
	expect.Same(t, list.Data, []account.Agent{*made}, "the list")
	testkit.WantCode(t, "the other mode", testkit.Err(b.GetAgent(t.Context(), api.Caller{Live: true}, made.ID)), api.ResourceMissing)
	merchant := api.Caller{Merchant: "mer_1"}
	testkit.WantCode(t, "a merchant", testkit.Err(b.GetAgent(t.Context(), merchant, made.ID)), api.PermissionDenied)
	testkit.WantCode(t, "a merchant's list", testkit.Err(b.ListAgents(t.Context(), merchant, api.Page{})), api.PermissionDenied)
}
