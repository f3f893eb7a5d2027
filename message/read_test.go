package message_test

import (
	"testing"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/expect"
	"github.com/seed-7082ffec/payments/internal/must"
	"github.com/seed-7082ffec/payments/internal/testkit"
	"github.com/seed-7082ffec/payments/message"
)

func TestGetShowsWholeMessage(t *testing.T) {
	p := newPost(t, nil)
	caller := api.Caller{Merchant: "mer_1"}
	e := message.Email{To: "ama@example.com", FromName: "Adom", Subject: "Invoice", Text: "GHS 5", HTML: "<p>GHS 5</p>"}
	err := p.engine.Update(t.Context(), caller, func(tx *engine.Tx) error { return p.internal.Email(tx, "", e, "inv_1") })
	must.Do(t, err)
	list, err := p.List(t.Context(), caller, message.ListParams{})
	must.True(t, err == nil && len(list.Data) == 1, "%+v, %v", list, err)
	read := must.Get(p.Get(t.Context(), caller, list.Data[0].ID))(t)
	want := message.Detail{Message: list.Data[0], FromName: "Adom", HTML: "<p>GHS 5</p>", Attached: "inv_1"}
	expect.Equal(t, *read, want, "got %+v", read)
	for name, c := range map[string]struct {
		caller api.Caller
		id     string
		code   api.Code
	}{
		"another merchant": {api.Caller{Merchant: "mer_2"}, read.ID, api.ResourceMissing},
		"live mode":        {api.Caller{Merchant: "mer_1", Live: true}, read.ID, api.PermissionDenied},
		"no such":          {caller, "msg_none", api.ResourceMissing},
	} {
		testkit.WantCode(t, name, testkit.Err(p.Get(t.Context(), c.caller, c.id)), c.code)
	}
}
