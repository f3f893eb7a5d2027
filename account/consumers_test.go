package account_test

import (
	"testing"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/expect"
	"github.com/seed-7082ffec/payments/internal/must"
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
