package httpapi_test

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/seed-7082ffec/payments/internal/test/contract"
)

// TestMain fails where the tests, all together, have left something of the
// description unseen, or a goroutine running.
func TestMain(m *testing.M) {
	status := m.Run()
	whole := true
	flag.Visit(func(f *flag.Flag) {
		switch f.Name {
		case "test.run", "test.skip", "test.list", "test.fuzz":
			whole = false
		}
	})
	if c, err := contract.Load(); status == 0 && whole && err == nil {
		for _, missing := range c.Uncovered() {
			fmt.Println("openapi.yaml:", missing, "in any test of this package")
			status = 1
		}
	}
	if err := goleak.Find(); status == 0 && err != nil {
		fmt.Println(err)
		status = 1
	}
	os.Exit(status)
}
