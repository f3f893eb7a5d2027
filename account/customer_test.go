package account_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/personal"
	"github.com/seed-7082ffec/payments/storage"
)

func ptr(text string) *string { return &text }

func TestChangesOfCustomers(t *testing.T) {
	b := newBench(t, nil)
	caller := api.Caller{Merchant: b.merchant(t)}
	made, err := b.CreateCustomer(t.Context(), caller, account.CustomerParams{
		Name: "Akua", Email: "Akua@example.com", Phone: "024 100 0001", Address: "Accra", Metadata: api.Metadata{"a": "1", "b": "2"},
	})
	wantCode(t, "create", err, "")
	got, err := b.UpdateCustomer(t.Context(), caller, made.ID, account.CustomerUpdate{
		Name: ptr("Akua Boateng"), Phone: ptr(""), Address: ptr("Tema"), Metadata: api.Metadata{"a": nil, "c": "3"},
	})
	wantCode(t, "update", err, "")
	want := *made
	want.Name, want.Phone, want.Address, want.Metadata = "Akua Boateng", "", "Tema", api.Metadata{"b": "2", "c": "3"}
	if diff := cmp.Diff(&want, got); diff != "" {
		t.Errorf("updated (-want +got)\n%s", diff)
	}

	// A refused change changes nothing, whichever field it is for.
	long := strings.Repeat("n", 501)
	for name, test := range map[string]struct {
		u     account.CustomerUpdate
		code  api.Code
		param string
	}{
		"a long name":     {account.CustomerUpdate{Name: &long}, api.ParameterInvalid, "name"},
		"two addresses":   {account.CustomerUpdate{Name: ptr("N"), Email: ptr("a@example.com,b@example.com")}, api.ParameterInvalid, "email"},
		"a number abroad": {account.CustomerUpdate{Name: ptr("N"), Phone: ptr("+4412345678")}, api.InvalidPhoneNumber, "phone_number"},
		"a long address":  {account.CustomerUpdate{Name: ptr("N"), Address: &long}, api.ParameterInvalid, "address"},
		"nested metadata": {account.CustomerUpdate{Name: ptr("N"), Metadata: api.Metadata{"m": map[string]any{}}}, api.ParameterInvalid, "metadata.m"},
	} {
		_, err := b.UpdateCustomer(t.Context(), caller, made.ID, test.u)
		if e := (*api.Error)(nil); !errors.As(err, &e) || e.Code != test.code || e.Param != test.param {
			t.Errorf("%s: got %v", name, err)
		}
		p := account.CustomerParams{Metadata: test.u.Metadata}
		for to, from := range map[*string]*string{&p.Name: test.u.Name, &p.Email: test.u.Email, &p.Phone: test.u.Phone, &p.Address: test.u.Address} {
			if from != nil {
				*to = *from
			}
		}
		_, err = b.CreateCustomer(t.Context(), caller, p)
		wantCode(t, "create with "+name, err, test.code)
	}
	if now, err := b.Customer(t.Context(), caller, made.ID); err != nil || !cmp.Equal(now, got) {
		t.Errorf("afterwards %+v, %v", now, err)
	}
	for name, stranger := range map[string]api.Caller{"the other mode": {Merchant: caller.Merchant, Live: true}, "another merchant": {Merchant: b.merchant(t)}} {
		_, err := b.UpdateCustomer(t.Context(), stranger, made.ID, account.CustomerUpdate{Name: ptr("N")})
		wantCode(t, "update by "+name, err, api.ResourceMissing)
		_, err = b.DeleteCustomer(t.Context(), stranger, made.ID)
		wantCode(t, "delete by "+name, err, api.ResourceMissing)
	}
}

func TestListsOfCustomers(t *testing.T) {
	b := newBench(t, nil)
	caller := api.Caller{Merchant: b.merchant(t)}
	var ids []string
	for _, p := range []account.CustomerParams{
		{Email: "Akua@example.com", Phone: "0241000001"}, {Email: "akua@EXAMPLE.com"}, {Phone: "+233 24 100 0001"}, {},
	} {
		b.advance(time.Hour)
		c, err := b.CreateCustomer(t.Context(), caller, p)
		wantCode(t, "create", err, "")
		ids = append(ids, c.ID)
	}
	now := *b.now.Load()
	for name, test := range map[string]struct {
		p    account.CustomerListParams
		want []string
	}{
		"all":              {account.CustomerListParams{}, []string{ids[3], ids[2], ids[1], ids[0]}},
		"an address":       {account.CustomerListParams{Email: "AKUA@example.com"}, []string{ids[1], ids[0]}},
		"a number":         {account.CustomerListParams{Phone: "0241 000 001"}, []string{ids[2], ids[0]}},
		"both":             {account.CustomerListParams{Email: "akua@example.com", Phone: "0241000001"}, []string{ids[0]}},
		"of the last hour": {account.CustomerListParams{Created: api.Times{From: now}}, []string{ids[3]}},
		"a page":           {account.CustomerListParams{Page: api.Page{Limit: 1, StartingAfter: ids[3]}}, []string{ids[2]}},
	} {
		list, err := b.ListCustomers(t.Context(), caller, test.p)
		wantCode(t, name, err, "")
		var got []string
		for _, c := range list.Data {
			got = append(got, c.ID)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
	}
	_, err := b.ListCustomers(t.Context(), caller, account.CustomerListParams{Email: "nobody"})
	wantCode(t, "a list of no address", err, api.ParameterInvalid)
	_, err = b.ListCustomers(t.Context(), caller, account.CustomerListParams{Phone: "12"})
	wantCode(t, "a list of no number", err, api.InvalidPhoneNumber)
}

// Every package is asked in turn; one that fails is asked again, and all those before
// it.
func TestErasers(t *testing.T) {
	b := newBench(t, nil)
	if err := b.engine.Store.Define(t.Context(), personal.Erasures.Kind()); err != nil {
		t.Fatal(err)
	}
	caller := api.Caller{Merchant: b.merchant(t), RequestID: "req_1", IdempotencyKey: "k"}
	c, err := b.CreateCustomer(t.Context(), api.Caller{Merchant: caller.Merchant}, account.CustomerParams{Email: "a@example.com", Phone: "0241000001"})
	wantCode(t, "create", err, "")
	for range 2 { // the second is a repetition
		gone, err := b.DeleteCustomer(t.Context(), caller, c.ID)
		if err != nil || gone.ID != c.ID || !gone.Deleted {
			t.Errorf("deleted %+v, %v", gone, err)
		}
	}
	_, err = b.Customer(t.Context(), caller, c.ID)
	wantCode(t, "one that was deleted", err, api.ResourceMissing)

	broken := errors.New("not now")
	var asked []string
	fails := broken
	b.Erasers = []account.Eraser{
		func(_ context.Context, by api.Caller, customer string) error {
			if by.Merchant != caller.Merchant || by.RequestID != "req_1" || by.IdempotencyKey != "k" || customer != c.ID {
				t.Errorf("asked about %s for %+v", customer, by)
			}
			asked = append(asked, "first")
			return nil
		},
		func(context.Context, api.Caller, string) error {
			asked = append(asked, "second")
			return fails
		},
	}
	claim := func() (claimed []storage.Record) {
		t.Helper()
		err := b.engine.Store.Update(t.Context(), func(tx storage.Tx) (err error) {
			claimed, err = tx.Claim(personal.Erasures.Kind(), storage.Claim{Due: *b.now.Load(), Now: *b.now.Load(), Lease: time.Minute, Limit: 10})
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return claimed
	}
	job := b.EraseJob()
	first := claim()
	if len(first) != 1 {
		t.Fatalf("claimed %+v", first)
	}
	if err := job.Do(t.Context(), first[0]); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	b.advance(2 * time.Minute) // past the lease
	fails = nil
	second := claim()
	if err := job.Do(t.Context(), second[0]); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff([]string{"first", "second", "first", "second"}, asked); diff != "" {
		t.Errorf("asked (-want +got)\n%s", diff)
	}
	// The one that was too slow finds its claim taken over, and that is fine.
	if err := job.Do(t.Context(), first[0]); err != nil {
		t.Errorf("a late worker: %v", err)
	}
	b.advance(time.Hour)
	if left := claim(); len(left) != 0 {
		t.Errorf("left %+v", left)
	}
	// The work keeps nothing of the person.
	if err := b.engine.View(t.Context(), caller, func(tx *engine.ReadTx) error {
		o, err := personal.Erasures.Get(tx, caller.Scope(), c.ID)
		if err == nil && len(o.Value.Recipients) > 0 {
			t.Errorf("kept %+v", o.Value)
		}
		return err
	}); err != nil {
		t.Error(err)
	}

	wantCode(t, "forget nobody", b.ForgetCustomer(t.Context(), caller, ""), api.ParameterMissing)
	own, err := b.CreateCustomer(t.Context(), api.Caller{Merchant: caller.Merchant}, account.CustomerParams{})
	wantCode(t, "create", err, "")
	wantCode(t, "forget one of the library's own", b.ForgetCustomer(t.Context(), caller, own.ID), api.ParameterInvalid)
	for range 2 { // again, while the first is queued
		wantCode(t, "forget one of the host's", b.ForgetCustomer(t.Context(), caller, "cus_host"), "")
	}
	if queued := claim(); len(queued) != 1 || queued[0].ID != "cus_host" {
		t.Errorf("queued %+v", queued)
	}
}
