package paystack_test

import (
	"testing"

	"github.com/seed-7082ffec/payments/internal/expect"
	"github.com/seed-7082ffec/payments/provider/paystack"
)

func TestReference(t *testing.T) {
	const id = "po_0000000000000000000Abc"
	reference, ok := paystack.Reference(id)
	expect.True(t, ok && reference != id, "the reference of an order: %q", reference)
	back, ok := paystack.OrderID(reference)
	expect.True(t, ok && back == id, "the order of a reference: %q", back)
	for _, other := range []string{"", "T123456789", id, reference + "0"} {
		_, ok := paystack.OrderID(other)
		expect.True(t, !ok, "%q is no reference of the library", other)
	}
	_, ok = paystack.Reference("T123456789")
	expect.True(t, !ok, "a text that is no id has a reference")
}
