package api_test

import (
	"testing"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/expect"
)

func TestUnder(t *testing.T) {
	for _, test := range []struct {
		given          *api.Error
		param, message string
	}{
		{api.Missing("phone_number"), "to.phone_number", "The parameter to.phone_number is required."},
		{api.Invalid("phone_number", "This number is wrong."), "to.phone_number", "This number is wrong."},
		{api.NoSuch("wallet"), "to", api.NoSuch("wallet").Message},
	} {
		before := *test.given
		under := test.given.Under("to")
		if under.Param != test.param || under.Message != test.message || under.Code != before.Code || under.Type != before.Type {
			t.Errorf("%v under to is %v", before.Param, under)
		}
		expect.True(t, *test.given == before, "%v has changed to %v", before, *test.given)
	}
}
