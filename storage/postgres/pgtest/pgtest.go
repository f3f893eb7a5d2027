// Package pgtest gives tests a PostgreSQL to run on. It is the one that the variable
// PAYMENTS_TEST_POSTGRES names by its URL. Without the variable it is a throwaway server, which is
// started when its programs are installed and ends with the test process. A test that kills or freezes
// its server gets one of its own with [NewServer].
//
// Without either, tests are skipped, unless PAYMENTS_REQUIRE_POSTGRES is set:
// then they fail. It is for tests alone, and for hosts' tests, too.
package pgtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/seed-7082ffec/payments/storage/postgres"
)

// The variables that a test run may set.
const (
	urlVariable     = "PAYMENTS_TEST_POSTGRES"
	requireVariable = "PAYMENTS_REQUIRE_POSTGRES"
)

// URL returns the address of the server, or skips the test.
func URL(t testing.TB) string {
	t.Helper()
	if url := os.Getenv(urlVariable); url != "" {
		return url
	}
	url, err := start()
	if err == nil {
		return url
	}
	if os.Getenv(requireVariable) != "" || !errors.Is(err, errNotInstalled) {
		t.Fatalf("pgtest: %v", err)
	}
	t.Skipf("pgtest: %v; set %s to the URL of a server", err, urlVariable)
	return ""
}

// Pool returns a pool of at most size connections, which is closed at the end of
// the test.
func Pool(t testing.TB, size int) *pgxpool.Pool {
	t.Helper()
	config, err := postgres.PoolConfig(URL(t))
	if err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	config.MaxConns = int32(size)
	pool, err := pgxpool.NewWithConfig(context.Background(), config)
	if err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	t.Cleanup(pool.Close)
	return pool
}

// Store returns an empty store. The caller closes it before the test ends.
func Store(t testing.TB) *postgres.Store {
	t.Helper()
	store, err := postgres.Open(context.Background(), Pool(t, 16), postgres.Config{Schema: Schema(t)})
	if err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	return store
}

var schemas atomic.Int64

// deadlock is the error of a DROP beside the last statement of a killed process. It
// passes when the server has ended that statement.
const deadlock = "40P01"

// Schema returns the name of a schema that no other test uses. On a server that outlives the test
// process it is dropped at the end of the test.
func Schema(t testing.TB) string {
	t.Helper()
	name := fmt.Sprintf("test_%d_%d_%d", os.Getpid(), time.Now().UnixNano(), schemas.Add(1))
	url := URL(t)
	if os.Getenv(urlVariable) == "" { // the server and all that is in it ends with the process
		return name
	}
	t.Cleanup(func() {
		ctx := context.Background()
		conn, err := pgx.Connect(ctx, url)
		if err != nil {
			t.Errorf("pgtest: %v", err)
			return
		}
		defer conn.Close(ctx)
		for {
			_, err = conn.Exec(ctx, "DROP SCHEMA IF EXISTS "+pgx.Identifier{name}.Sanitize()+" CASCADE")
			if e, ok := errors.AsType[*pgconn.PgError](err); !ok || e.Code != deadlock {
				break
			}
		}
		if err != nil {
			t.Errorf("pgtest: %v", err)
		}
	})
	return name
}
