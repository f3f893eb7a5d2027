package account_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/pii"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/internal/test/testkit"
	"github.com/seed-7082ffec/payments/storage"
)

func ptr(text string) *string { return &text }

func TestUpdateCustomer(t *testing.T) {
	b := newBench(t, nil)
	caller := api.Caller{Merchant: b.merchant(t)}
	made := must.Get(b.CreateCustomer(t.Context(), caller, account.CreateCustomerParams{
		Name: "Akua", Email: "Akua@example.com", Phone: "024 100 0001", Address: "Accra", Metadata: api.Metadata{"a": "1", "b": "2"},
	}))(t)
	got := must.Get(b.UpdateCustomer(t.Context(), caller, made.ID, account.UpdateCustomerParams{
		Name: ptr("Akua Boateng"), Phone: ptr(""), Address: ptr("Tema"), Metadata: api.Metadata{"a": nil, "c": "3"},
	}))(t)
	want := *made
	want.Name, want.Phone, want.Address, want.Metadata = "Akua Boateng", "", "Tema", api.Metadata{"b": "2", "c": "3"}
	expect.Same(t, got, &want, "updated")

	// A refused change leaves every field as it was.
	long := strings.Repeat("n", 501)
	for name, test := range map[string]struct {
		u     account.UpdateCustomerParams
		code  api.Code
		param string
	}{
		"a long name":      {account.UpdateCustomerParams{Name: &long}, api.ParameterInvalid, "name"},
		"two addresses":    {account.UpdateCustomerParams{Name: ptr("N"), Email: ptr("a@example.com,b@example.com")}, api.ParameterInvalid, "email"},
		"no number abroad": {account.UpdateCustomerParams{Name: ptr("N"), Phone: ptr("+44 1234")}, api.InvalidPhoneNumber, "phone_number"},
		"a long address":   {account.UpdateCustomerParams{Name: ptr("N"), Address: &long}, api.ParameterInvalid, "address"},
		"nested metadata":  {account.UpdateCustomerParams{Name: ptr("N"), Metadata: api.Metadata{"m": map[string]any{}}}, api.ParameterInvalid, "metadata.m"},
	} {
		_, err := b.UpdateCustomer(t.Context(), caller, made.ID, test.u)
		e := (*api.Error)(nil)
		must.True(t, errors.As(err, &e), "%s: got %v", name, err)
		expect.Equal(t, e.Code, test.code, "%s: code", name)
		expect.Equal(t, e.Param, test.param, "%s: param", name)
		p := account.CreateCustomerParams{Metadata: test.u.Metadata}
		for to, from := range map[*string]*string{&p.Name: test.u.Name, &p.Email: test.u.Email, &p.Phone: test.u.Phone, &p.Address: test.u.Address} {
			if from != nil {
				*to = *from
			}
		}
		testkit.WantCode(t, "create with "+name, testkit.Err(b.CreateCustomer(t.Context(), caller, p)), test.code)
	}
	now := must.Get(b.GetCustomer(t.Context(), caller, made.ID))(t)
	expect.True(t, cmp.Equal(now, got), "afterwards %+v", now)
	for name, stranger := range map[string]api.Caller{"the other mode": {Merchant: caller.Merchant, Live: true}, "another merchant": {Merchant: b.merchant(t)}} {
		testkit.WantCode(t, "update by "+name, testkit.Err(b.UpdateCustomer(t.Context(), stranger, made.ID, account.UpdateCustomerParams{Name: ptr("N")})), api.ResourceMissing)
		testkit.WantCode(t, "delete by "+name, testkit.Err(b.DeleteCustomer(t.Context(), stranger, made.ID)), api.ResourceMissing)
	}
}

func TestListCustomers(t *testing.T) {
	b := newBench(t, nil)
	caller := api.Caller{Merchant: b.merchant(t)}
	var ids []string
	for _, p := range []account.CreateCustomerParams{
		{Email: "Akua@example.com", Phone: "0241000001"}, {Email: "akua@EXAMPLE.com"}, {Phone: "+233 24 100 0001"}, {},
	} {
		b.advance(time.Hour)
		c := must.Get(b.CreateCustomer(t.Context(), caller, p))(t)
		ids = append(ids, c.ID)
	}
	now := *b.now.Load()
	for name, test := range map[string]struct {
		p    account.ListCustomersParams
		want []string
	}{
		"all":              {account.ListCustomersParams{}, []string{ids[3], ids[2], ids[1], ids[0]}},
		"an address":       {account.ListCustomersParams{Email: "AKUA@example.com"}, []string{ids[1], ids[0]}},
		"a number":         {account.ListCustomersParams{Phone: "0241 000 001"}, []string{ids[2], ids[0]}},
		"both":             {account.ListCustomersParams{Email: "akua@example.com", Phone: "0241000001"}, []string{ids[0]}},
		"of the last hour": {account.ListCustomersParams{Created: api.Times{From: now}}, []string{ids[3]}},
		"a page":           {account.ListCustomersParams{Page: api.Page{Limit: 1, StartingAfter: ids[3]}}, []string{ids[2]}},
	} {
		list := must.Get(b.ListCustomers(t.Context(), caller, test.p))(t)
		var got []string
		for _, c := range list.Data {
			got = append(got, c.ID)
		}
		expect.Same(t, got, test.want, "%s", name)
	}
	testkit.WantCode(t, "a list of no address", testkit.Err(b.ListCustomers(t.Context(), caller, account.ListCustomersParams{Email: "nobody"})), api.ParameterInvalid)
	testkit.WantCode(t, "a list of no number", testkit.Err(b.ListCustomers(t.Context(), caller, account.ListCustomersParams{Phone: "12"})), api.InvalidPhoneNumber)
}

// Deleting a customer queues one erasure, which names the deleting call.
func TestDeletionQueuesAnErasure(t *testing.T) {
	b := newBench(t, nil)
	must.Do(t, b.engine.Store.Define(t.Context(), pii.Erasures.Kind()))
	caller := api.Caller{Merchant: b.merchant(t), RequestID: "req_1", IdempotencyKey: "k"}
	c, err := b.CreateCustomer(t.Context(), api.Caller{Merchant: caller.Merchant}, account.CreateCustomerParams{Email: "a@example.com", Phone: "0241000001"})
	testkit.WantCode(t, "create", err, "")
	for range 2 { // the second is a repetition
		gone, err := b.DeleteCustomer(t.Context(), caller, c.ID)
		must.Do(t, err)
		expect.Equal(t, gone.ID, c.ID, "deleted: ID")
		expect.Equal(t, gone.Deleted, true, "deleted: Deleted")
	}
	testkit.WantCode(t, "one that was deleted", testkit.Err(b.GetCustomer(t.Context(), caller, c.ID)), api.ResourceMissing)

	claim := func() (claimed []storage.Record) {
		t.Helper()
		must.Do(t, b.engine.Store.Update(t.Context(), func(tx storage.Tx) (err error) {
			claimed, err = tx.Claim(pii.Erasures.Kind(), storage.Claim{Due: *b.now.Load(), Now: *b.now.Load(), Lease: time.Minute, Limit: 10})
			return err
		}))
		return claimed
	}
	first := claim()
	must.True(t, len(first) == 1 && first[0].ID == c.ID, "claimed %+v", first)
	o, err := pii.Erasures.Decode(first[0])
	must.Do(t, err)
	expect.Equal(t, o.Value.Request, "req_1", "queued: request of the value")
	expect.Equal(t, o.Value.IdempotencyKey, "k", "queued: idempotency key of the value")
	// The worker finishes the erasure.
	must.Do(t, b.engine.Update(t.Context(), caller, func(tx *engine.Tx) error {
		o.Value = pii.Erasure{}
		return pii.Erasures.Replace(tx, o)
	}))

	testkit.WantCode(t, "forget nobody", b.ForgetCustomer(t.Context(), caller, ""), api.ParameterMissing)
	own := must.Get(b.CreateCustomer(t.Context(), api.Caller{Merchant: caller.Merchant}, account.CreateCustomerParams{}))(t)
	testkit.WantCode(t, "forget one of the library's own", b.ForgetCustomer(t.Context(), caller, own.ID), api.ParameterInvalid)
	for range 2 { // again, while the first is queued
		testkit.WantCode(t, "forget one of the host's", b.ForgetCustomer(t.Context(), caller, "cus_host"), "")
	}
	queued := claim()
	must.True(t, len(queued) == 1, "queued %+v", queued)
	expect.Equal(t, queued[0].ID, "cus_host", "queued: ID of the first")
}

// A search has several senses, each with a page of its own, and large documents shorten a page. Paging in
// either direction still finds every customer once.
func TestSearchOfLargeCustomersMissesNone(t *testing.T) {
	b := newBench(t, nil)
	caller := api.Caller{Merchant: b.merchant(t)}
	const text, group = "ama@example.com", 16
	large := api.Metadata{}
	for n := range 50 {
		large[fmt.Sprint("key", n)] = strings.Repeat("₵", 500)
	}
	for n := range 3 * group {
		p := account.CreateCustomerParams{Email: text}
		if n/group == 1 {
			p = account.CreateCustomerParams{Name: text, Metadata: large}
		}
		must.Get(b.CreateCustomer(t.Context(), caller, p))(t)
	}
	all := must.Get(b.ListCustomers(t.Context(), caller, account.ListCustomersParams{Page: api.Page{Limit: 1}}))(t)
	oldest := ""
	for _, backward := range []bool{false, true} {
		seen := map[string]bool{all.Data[0].ID: !backward, oldest: backward}
		page := api.Page{Limit: group, StartingAfter: all.Data[0].ID}
		if backward {
			page = api.Page{Limit: group, EndingBefore: oldest}
		}
		for more := true; more; {
			list := must.Get(b.SearchCustomers(t.Context(), caller, text, account.ListCustomersParams{Page: page}))(t)
			must.True(t, len(list.Data) > 0, "an empty page")
			for i := range list.Data {
				expect.True(t, !seen[list.Data[i].ID], "%s comes twice", list.Data[i].ID)
				seen[list.Data[i].ID] = true
			}
			oldest = list.Data[len(list.Data)-1].ID
			if page.StartingAfter = oldest; backward {
				page = api.Page{Limit: group, EndingBefore: list.Data[0].ID}
			}
			more = list.HasMore
		}
		delete(seen, "")
		expect.Equal(t, len(seen), 3*group, "found, backward %t", backward)
	}
}
