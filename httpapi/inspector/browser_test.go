package inspector_test

import (
	"strings"
	"testing"

	"github.com/seed-7082ffec/payments/httpapi/inspector"
	"github.com/seed-7082ffec/payments/internal/browsertest"
)

// Every page fits a small phone, has nothing serious against it in an
// accessibility check, and asks nobody but us.
func TestPagesInABrowser(t *testing.T) {
	axe := browsertest.Axe(t)
	b := browsertest.Open(t, browsertest.Phone, true)
	s := open(t, inspector.Config{})
	made := s.everything()
	for _, path := range paths(made) {
		b.Go(s.at(path))
		b.See("Sandbox inspector", "Adom Juice Bar", "Test mode")
		b.Ask(`document.querySelectorAll("details").forEach((d) => { d.open = true }), 0`, new(int))
		b.See()
		b.Accessible(axe)
		b.Ask(`document.querySelectorAll("details").forEach((d) => { d.open = false }), 0`, new(int))
		name, _, one := strings.Cut(path, "/")
		switch {
		case path == "":
			name = "overview"
		case path == "invoices/"+made["draft"]:
			name = "draft"
		case path == "messages/"+made["sms"]:
			name = "sms"
		case path == "qr-codes/"+made["once"]:
			name = "qr-code-used"
		case one:
			name += "-one"
		}
		b.Picture(name)
	}
	origins := b.Origins()
	delete(origins, strings.TrimSuffix(s.address, "/look"))
	if len(origins) > 0 {
		t.Errorf("the pages asked others: %v", origins)
	}
}
