package httpapi

import (
	"fmt"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
)

// listParams are those of a list.
type listParams struct {
	api.Page
	Active  *bool     `param:"active"`
	Created api.Times `param:"created"`
}

func TestIgnoredParameters(t *testing.T) {
	body := paramsOf(reflect.TypeFor[refusedParams]())
	query := paramsOf(reflect.TypeFor[listParams]())
	many := make([]string, 0, 30)
	for i := range 30 {
		many = append(many, fmt.Sprintf(`"x%d":1`, i))
	}
	for _, c := range []struct{ body, query, want string }{
		{`{}`, "", ""},
		{`{"name":"x","n":null,"destination":{"phone_number":"1","type":"x"},"line_items":[{"quantity":1}],"events":["a"],"metadata":{"ammount":1,"a":{"b":1}}}`, "", ""},
		{`{"ammount":5,"name":"x","shiping":{"to":{"x":1}}}`, "", "ammount, shiping"},
		{`{"Name":"x"}`, "", "Name"},
		{`{"z":1,"destination":{"phone":"1","type":"x","a":1},"b":[{"c":1}]}`, "", "z, destination.phone, destination.a, b"},
		{`{"line_items":[{"quantity":1},{"qty":1,"type":"x","name":1},{"qty":2}],"a":1}`, "", "line_items[1].qty, line_items[1].name, line_items[2].qty, a"},
		{`{"line_items":{"x":1},"destination":[{"y":1}],"metadata":7,"events":{"z":1}}`, "", ""}, // refused for their types
		{`{"naïve key":1,"ɔ":1,"a%b,c":1,"tab\there":1}`, "", "na%C3%AFve key, %C9%94, a%b,c, tab%09here"},
		{`{"":1,"destination":{"":1}}`, "", `"", destination.""`},
		{`{"` + strings.Repeat("ɔ", 100) + `":1}`, "", strings.Repeat("%C9%94", 32) + "..."},
		{`{"` + strings.Repeat("€", 100) + `":1}`, "", strings.Repeat("%E2%82%AC", 21) + "..."},
		{`{` + strings.Join(many, ",") + `}`, "y=1", "x0, x1, x2, x3, x4, x5, x6, x7, x8, x9, x10, x11, x12, x13, x14, x15, x16, x17, x18, x19"},
		{``, "limit=1&starting_after=a&ending_before=b&active=true&created=2026-01-01&created[gte]=1&created%5Blt%5D=2", ""},
		{``, "statuss=paid&limit=1&Active=true&statuss=x&created_at=1&createdx[gte]=2", "statuss, Active, created_at, createdx[gte]"},
		{``, "status=&empty&&active=", ""},
		{``, "na%C3%AFve=1&a+b=2&line%0Abreak=3", "na%C3%AFve, a b, line%0Abreak"},
		{`{"ammount":1,"x":1}`, "x=1&ammount=2", "ammount, x, x, ammount"},
	} {
		r := &request{Request: httptest.NewRequest("POST", "/v1/things?"+c.query, nil)}
		v, err := parseBody([]byte(c.body))
		must.Do(t, err)
		r.members = v.members
		must.Do(t, r.takes(body, query))
		expect.Equal(t, r.ignored, c.want, "%s and %s", c.body, c.query)

		r.refuseUnknown = true
		err = r.takes(body, query)
		if c.want == "" {
			must.Do(t, err)
			continue
		}
		refusal := asAPIError(err)
		first, _, _ := strings.Cut(c.want, ", ")
		must.True(t, refusal != nil, "%s and %s are refused with %v", c.body, c.query, err)
		expect.Equal(t, refusal.Code, api.ParameterInvalid, "%s: code", c.body)
		expect.Equal(t, printable(refusal.Param), first, "%s: param", c.body)
	}
}
