package postgres_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// loadVariable makes the test binary a process that sends disbursements, as its
// input says.
const loadVariable = "PAYMENTS_TEST_LOAD"

// load is what such a process is to do, and then what it saw.
type load struct {
	Address               string
	Connections, Requests int
	Keys, Wallets         []string

	Took, Within99, Processor time.Duration
}

// runLoad has another process send the requests.
func runLoad(b *testing.B, l load) (load, error) {
	in, err := json.Marshal(l)
	if err != nil {
		return l, err
	}
	cmd := exec.CommandContext(b.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), loadVariable+"=1")
	cmd.Stdin = bytes.NewReader(in)
	var problems bytes.Buffer
	cmd.Stderr = &problems
	out, err := cmd.Output()
	if err != nil {
		return l, fmt.Errorf("%w: %s", err, problems.Bytes())
	}
	return l, json.Unmarshal(out, &l)
}

// sendLoad is such a process.
func sendLoad(in io.Reader, out io.Writer) error {
	var l load
	if err := json.NewDecoder(in).Decode(&l); err != nil {
		return err
	}
	run := fmt.Sprintf("%d-%d", os.Getpid(), time.Now().UnixNano())
	took := make([][]time.Duration, l.Connections)
	failed := make([]error, l.Connections)
	conns := make([]net.Conn, l.Connections)
	for i := range conns {
		var err error
		if conns[i], err = net.Dial("tcp", l.Address); err != nil {
			return err
		}
	}
	var next atomic.Int64
	var all sync.WaitGroup
	begun := time.Now()
	for i, conn := range conns {
		all.Go(func() {
			defer conn.Close()
			from := bufio.NewReader(conn)
			for n := next.Add(1); n <= int64(l.Requests) && failed[i] == nil; n = next.Add(1) {
				sent := time.Now()
				failed[i] = l.send(conn, from, run, int(n))
				took[i] = append(took[i], time.Since(sent))
			}
		})
	}
	all.Wait()
	l.Took = time.Since(begun)
	if err := errors.Join(failed...); err != nil {
		return err
	}
	each := slices.Concat(took...)
	slices.Sort(each)
	l.Within99 = each[len(each)*99/100]
	l.Processor = processorTime()
	l.Keys, l.Wallets = nil, nil
	return json.NewEncoder(out).Encode(l)
}

// send makes one request and reads its answer, by hand: what a whole client costs
// would be taken from the server, with which it shares the processors.
func (l *load) send(conn net.Conn, from *bufio.Reader, run string, n int) error {
	body := fmt.Sprintf(`{"amount":0.01,"destination":{"type":"service_wallet","service_id":%q},"reference":"salary"}`, l.Wallets[n*7919%len(l.Wallets)])
	_, err := fmt.Fprintf(conn, "POST /v1/disbursements HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\n"+
		"Content-Type: application/json\r\nX-Idempotency-Key: salary-%s-%08d\r\nContent-Length: %d\r\n\r\n%s",
		l.Address, l.Keys[n%len(l.Keys)], run, n, len(body), body)
	if err != nil {
		return err
	}
	status, length := "", 0
	for {
		line, err := from.ReadSlice('\n')
		if err != nil {
			return err
		}
		line = bytes.TrimRight(line, "\r\n")
		if len(line) == 0 {
			break
		}
		if status == "" {
			status = string(line)
		} else if text, ok := bytes.CutPrefix(line, []byte("Content-Length: ")); ok {
			if length, err = strconv.Atoi(string(text)); err != nil {
				return err
			}
		}
	}
	if status != "HTTP/1.1 200 OK" {
		data, _ := io.ReadAll(io.LimitReader(from, int64(length)))
		return fmt.Errorf("answered %s: %s", status, data)
	}
	_, err = from.Discard(length)
	return err
}
