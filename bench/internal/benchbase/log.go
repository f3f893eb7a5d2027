package benchbase

import (
	"context"
	"os"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/seed-7082ffec/payments/internal/test/effort"
)

// Turns is how often the sides of a benchmark take turns: n times, or once in a run that only tries whether
// the benchmark works.
func Turns(b *testing.B, n int) int {
	if b.N == 1 {
		return 1
	}
	return n
}

// FillLog makes the server of a URL create files for its log. A server in use writes its log over
// old files. A new server must create each file first, and all commits wait for that.
func FillLog(b testing.TB, url string) {
	b.Helper()
	if effort.Trial() {
		return
	}
	conn, err := pgx.Connect(context.Background(), url)
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close(context.Background())
	statements := []string{"SELECT count(pg_logical_emit_message(false, 'bench', repeat('x', 1000000))) FROM generate_series(1, 1200)"}
	if os.Getenv("PAYMENTS_TEST_POSTGRES") == "" { // only on a server that the test has started
		statements = append(statements, "CHECKPOINT")
	}
	for _, s := range statements {
		if _, err := conn.Exec(context.Background(), s); err != nil {
			b.Fatal(err)
		}
	}
}
