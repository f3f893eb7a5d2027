package messaging

import (
	"testing"

	"github.com/seed-7082ffec/payments/internal/test/expect"
)

func TestAttachmentsAreNeeded(t *testing.T) {
	expect.True(t, new(Service).SetAttachments(nil) != nil, "e-mails have no documents")
}
