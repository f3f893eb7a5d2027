package paymentstest_test

import (
	"testing"

	"go.uber.org/goleak"

	_ "github.com/seed-7082ffec/payments/internal/test/contract"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
