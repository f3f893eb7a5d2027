package postgres_test

import (
	"errors"
	"net"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/storage/postgres"
	"github.com/seed-7082ffec/payments/storage/postgres/pgtest"
)

// The texts are those that the servers and services answer.
func TestOnlyPostgreSQLIsAccepted(t *testing.T) {
	for version, wanted := range map[string]string{
		"PostgreSQL 15.18 (Debian 15.18-0+deb12u1) on x86_64-pc-linux-gnu, compiled by gcc (Debian 12.2.0-14+deb12u1) 12.2.0, 64-bit": "",
		"PostgreSQL 16.1, compiled by Visual C++ build 1937, 64-bit":                                                                  "", // Windows
		"PostgreSQL 19beta1 on aarch64-unknown-linux-gnu, compiled by gcc (GCC) 11.5.0, 64-bit":                                       "",
		"PostgreSQL 15.5 on x86_64-pc-linux-gnu, compiled by gcc (GCC) 7.3.1 20180712 (Red Hat 7.3.1-12), 64-bit":                     "", // RDS
		"PostgreSQL 15.4 on x86_64-pc-linux-gnu, compiled by x86_64-pc-linux-gnu-gcc (GCC) 9.5.0, 64-bit":                             "", // Aurora
		"PostgreSQL 16.4 on x86_64-pc-linux-gnu, compiled by Debian clang version 12.0.1, 64-bit":                                     "", // Cloud SQL, AlloyDB
		"PostgreSQL 17.5 (6bc9ef8) on aarch64-unknown-linux-gnu, compiled by gcc (Debian 12.2.0-14+deb12u1) 12.2.0, 64-bit":           "", // Neon
		"PostgreSQL 17.4 on aarch64-unknown-linux-gnu, compiled by gcc (GCC) 13.2.0, 64-bit":                                          "", // Supabase
		"PostgreSQL 17.2 - Percona Server for PostgreSQL 17.2.1 on x86_64-pc-linux-gnu, compiled by gcc (GCC) 11.4.1, 64-bit":         "",
		"PostgreSQL 12.22 (Debian 12.22-1.pgdg120+1) on x86_64-pc-linux-gnu, compiled by gcc (Debian 12.2.0-14) 12.2.0, 64-bit":       "upgrade it to PostgreSQL 13",
		"CockroachDB CCL v21.1.0 (x86_64-unknown-linux-gnu, built 2021/04/23 13:54:57, go1.13.14)":                                    "use PostgreSQL 13",
		"PostgreSQL 11.2-YB-2.6.1.0-b0 on x86_64-pc-linux-gnu, compiled by gcc (Homebrew gcc 5.5.0_4) 5.5.0, 64-bit":                  "use PostgreSQL 13",
		"PostgreSQL 15.12-YB-2025.2.0.1-b0 on x86_64-pc-linux-gnu, compiled by clang version 19.1.0, 64-bit":                          "use PostgreSQL 13",
		"PostgreSQL 8.0.2 on i686-pc-linux-gnu, compiled by GCC gcc (GCC) 3.4.2 20041017 (Red Hat 3.4.2-6.fc3), Redshift 1.0.77467":   "use PostgreSQL 13",
		"PostgreSQL 15.0 on x86_64-pc-linux-gnu, compiled by gcc, 64-bit (Duckgres/DuckDB)":                                           "use PostgreSQL 13",
		"Cloud Spanner PostgreSQL interface": "use PostgreSQL 13",
		"":                                   "use PostgreSQL 13",
	} {
		err := postgres.CheckVersion(version)
		if wanted == "" && err != nil || wanted != "" && (!errors.Is(err, storage.ErrInvalid) || !strings.Contains(err.Error(), wanted)) {
			t.Errorf("%q: %v", version, err)
		}
	}
}

func TestOpenRefusesAnotherEngine(t *testing.T) {
	pool := must.Get(postgres.Connect(t.Context(), answerVersion(t, "CockroachDB CCL v26.2.5 (x86_64-pc-linux-gnu)")))(t)
	defer pool.Close()
	for name, open := range map[string]func() error{
		"Open":    func() error { _, err := postgres.Open(t.Context(), pool, postgres.Config{}); return err },
		"Migrate": func() error { return postgres.Migrate(t.Context(), pool, "payments") },
	} {
		if err := open(); !errors.Is(err, storage.ErrInvalid) || !strings.Contains(err.Error(), "CockroachDB CCL v26.2.5") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// answerVersion starts a server that answers each query with one text, and returns its URL.
func answerVersion(t *testing.T, version string) string {
	listener := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	t.Cleanup(func() { _ = listener.Close() }) // ends the server; nothing was written
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go answerQueries(conn, version)
		}
	}()
	return "postgres://app@" + listener.Addr().String() + "/app?sslmode=disable"
}

func answerQueries(conn net.Conn, text string) {
	defer conn.Close()
	server := pgproto3.NewBackend(conn, conn)
	if _, err := server.ReceiveStartupMessage(); err != nil {
		return
	}
	server.Send(&pgproto3.AuthenticationOk{})
	for name, value := range map[string]string{"standard_conforming_strings": "on", "client_encoding": "UTF8"} {
		server.Send(&pgproto3.ParameterStatus{Name: name, Value: value})
	}
	for {
		server.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
		if server.Flush() != nil {
			return
		}
		message, err := server.Receive()
		query, ok := message.(*pgproto3.Query)
		if err != nil || !ok {
			return
		}
		if strings.HasPrefix(query.String, "SELECT") {
			server.Send(&pgproto3.RowDescription{Fields: []pgproto3.FieldDescription{{Name: []byte("version"), DataTypeOID: 25, DataTypeSize: -1, TypeModifier: -1}}})
			server.Send(&pgproto3.DataRow{Values: [][]byte{[]byte(text)}})
		}
		server.Send(&pgproto3.CommandComplete{CommandTag: []byte("OK")})
	}
}

// Open checks that the writers' lock is one for the whole database.
func TestOpenRefusesALockThatDoesNotHold(t *testing.T) {
	server := pgtest.NewServer(t)
	pool := must.Get(postgres.Connect(t.Context(), server.URL()))(t)
	defer pool.Close()
	open := func(refused string) {
		t.Helper()
		store, err := postgres.Open(t.Context(), pool, postgres.Config{})
		switch {
		case refused == "":
			must.Do(t, errors.Join(err, store.Close()))
		case !errors.Is(err, storage.ErrInvalid) || !strings.Contains(err.Error(), refused):
			t.Errorf("%v, want %q", err, refused)
		}
	}
	open("")

	// Another writer holds the lock. Open does not wait for it.
	tx := must.Get(pool.Begin(t.Context()))(t)
	must.Get(tx.Exec(t.Context(), "LOCK TABLE payments.storage_writer IN EXCLUSIVE MODE"))(t)
	open("")
	must.Do(t, tx.Rollback(t.Context()))

	// Citus notes the tables that it manages in pg_dist_partition.
	const change = "SET allow_system_table_mods = on; "
	server.Exec(t, change+"CREATE TABLE pg_catalog.pg_dist_partition (logicalrelid regclass)")
	open("")
	server.Exec(t, "INSERT INTO pg_catalog.pg_dist_partition VALUES ('payments.ledger_entries')")
	open("payments.ledger_entries")
	server.Exec(t, change+"DROP TABLE pg_catalog.pg_dist_partition")
	open("")

	// An engine whose LOCK TABLE does nothing shows no lock.
	server.Exec(t, change+"CREATE OR REPLACE VIEW pg_catalog.pg_locks AS SELECT * FROM pg_lock_status() WHERE false")
	open("takes no lock")

	// A program that only reads cannot take the lock.
	server.Exec(t, `CREATE ROLE reader LOGIN; GRANT USAGE ON SCHEMA payments TO reader;
		GRANT SELECT ON ALL TABLES IN SCHEMA payments TO reader`)
	readers := must.Get(postgres.Connect(t.Context(), strings.Replace(server.URL(), "postgres@", "reader@", 1)))(t)
	defer readers.Close()
	store := must.Get(postgres.Open(t.Context(), readers, postgres.Config{ReadOnlySchema: true}))(t)
	must.Do(t, store.Close())
}
