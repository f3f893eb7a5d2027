package lifebench

import (
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/seed-7082ffec/payments/internal/httpload"
	"github.com/seed-7082ffec/payments/internal/must"
	"github.com/seed-7082ffec/payments/storage/postgres"
	"github.com/seed-7082ffec/payments/storage/postgres/pgtest"
)

// BenchmarkDistance makes the transfers of BenchmarkTransfer with a round trip of 5 ms to
// PostgreSQL. of-near is the rate as a share of that without a delay, through the same kind of
// proxy. The two servers take turns, and the median of the turns counts.
func BenchmarkDistance(b *testing.B) {
	near, far := openServer(b, openPostgresAt(b, 0)), openServer(b, openPostgresAt(b, 5*time.Millisecond))
	for _, connections := range []int{64, 256} {
		b.Run(fmt.Sprintf("roundtrip=5ms/connections=%d", connections), func(b *testing.B) {
			const turns = 3
			share := max(b.N/turns, connections)
			open := maxOpen(connections, 0)
			for _, s := range []*server{near, far} {
				s.live(b, s.load(connections, max(share/4, connections)), open)
			}
			var each, ofNear []float64
			for range turns {
				life := far.live(b, far.load(connections, share), open).each()
				each = append(each, life)
				ofNear = append(ofNear, near.live(b, near.load(connections, share), open).each()/life)
			}
			b.ReportMetric(httpload.Median(each), "ns/op")
			b.ReportMetric(httpload.Median(ofNear), "of-near")
		})
	}
}

// openPostgresAt returns a database with a round trip of so long.
func openPostgresAt(b testing.TB, roundTrip time.Duration) *database {
	b.Helper()
	config := must.Get(postgres.PoolConfig(newDelayProxy(b, postgresURL(b), roundTrip)))(b)
	config.MaxConns = poolSize
	pool := must.Get(pgxpool.NewWithConfig(b.Context(), config))(b)
	b.Cleanup(pool.Close)
	return openSchema(b, pool, pgtest.Schema(b))
}
