package lifebench

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/httpapi"
	"github.com/seed-7082ffec/payments/internal/must"
	"github.com/seed-7082ffec/payments/storage/postgres"
)

// processEnv is set for a child process that is a server. It holds a processConfig.
const processEnv = "PAYMENTS_TEST_SERVER"

// processConfig says where a server process finds its database.
type processConfig struct{ URL, Schema string }

// process is a server in a process of its own.
type process struct {
	address string
	input   io.Closer // the process ends with its input
	cmd     *exec.Cmd
}

// startProcess returns a process that answers.
func startProcess(b testing.TB, c processConfig) *process {
	b.Helper()
	cmd := exec.CommandContext(b.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), processEnv+"="+string(must.Get(json.Marshal(c))(b)))
	cmd.Stderr = os.Stderr
	input := must.Get(cmd.StdinPipe())(b)
	out := must.Get(cmd.StdoutPipe())(b)
	must.Do(b, cmd.Start())
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		_ = input.Close()
		b.Fatalf("the server process did not start: %v, %v", err, cmd.Wait())
	}
	return &process{address: strings.TrimSpace(address), input: input, cmd: cmd}
}

func (p *process) stop(b testing.TB) {
	b.Helper()
	must.Do(b, p.input.Close())
	must.Do(b, p.cmd.Wait())
}

// serveProcess runs a server until the input of the process ends.
func serveProcess(config string) error {
	var c processConfig
	if err := json.Unmarshal([]byte(config), &c); err != nil {
		return err
	}
	ctx := context.Background()
	poolConfig, err := postgres.PoolConfig(c.URL)
	if err != nil {
		return err
	}
	poolConfig.MaxConns = poolSize
	pool, err := pgxpool.NewWithConfig(ctx, poolConfig)
	if err != nil {
		return err
	}
	defer pool.Close()
	store, err := postgres.Open(ctx, pool, postgres.Config{Schema: c.Schema})
	if err != nil {
		return err
	}
	svc, err := payments.New(ctx, store, payments.Config{Logger: slog.New(slog.DiscardHandler), Test: payments.Providers{Rail: &slowRail{}}})
	if err != nil {
		return errors.Join(err, store.Close())
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return errors.Join(err, store.Close())
	}
	server := httpapi.NewServer("", httpapi.New(svc, inFlight))
	svc.Start(ctx)
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		_ = server.Close()
	}()
	fmt.Println(listener.Addr())
	if err = server.Serve(listener); errors.Is(err, http.ErrServerClosed) {
		err = nil
	}
	stopping, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	return errors.Join(err, svc.Stop(stopping), store.Close())
}
