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
	stopped bool
}

// startProcesses returns so many processes that answer. They end with the test.
func startProcesses(b testing.TB, c processConfig, n int) (all []*process) {
	b.Helper()
	var outputs []io.Reader
	for range n { // a start takes many round trips, so they start together
		cmd := exec.CommandContext(context.WithoutCancel(b.Context()), os.Args[0])
		cmd.Env = append(os.Environ(), processEnv+"="+string(must.Get(json.Marshal(c))(b)))
		cmd.Stderr = os.Stderr
		p := &process{cmd: cmd, input: must.Get(cmd.StdinPipe())(b)}
		outputs = append(outputs, must.Get(cmd.StdoutPipe())(b))
		must.Do(b, cmd.Start())
		b.Cleanup(func() { p.stop(b) }) // if it was not stopped before
		all = append(all, p)
	}
	for i, p := range all {
		address := must.Get(bufio.NewReader(outputs[i]).ReadString('\n'))(b)
		p.address = strings.TrimSpace(address)
	}
	return all
}

func (p *process) stop(b testing.TB) {
	b.Helper()
	if p.stopped {
		return
	}
	p.stopped = true
	if err := errors.Join(p.input.Close(), p.cmd.Wait()); err != nil {
		b.Error(err)
	}
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
