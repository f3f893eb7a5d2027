package httpapi_test

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/bench/internal/benchbase"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/qrcode"
	"github.com/seed-7082ffec/payments/storage"
	"github.com/seed-7082ffec/payments/storage/sqlite"
)

const (
	readRows = 220_000
	deepPage = 10_000
	pageSize = 20
)

// BenchmarkRead reads from SQLite over HTTP with 16 connections, beside a history of
// 220,000 disbursements: one object, the first page of 20, page 10,000, any page, and
// a QR code's picture. What is read again and again is in the caches of the library;
// any page, and any object, is one of all, and is not.
//
// The metric of-limit is the rate as a share of that of a bare net/http handler, which
// hashes the key and writes a fixed body of the same size; times-get and times-first
// are how long it took beside a GET by id and the first page. All take turns. The
// client does next to nothing, but shares the processors.
func BenchmarkRead(b *testing.B) {
	d := openDesk(b, sqlite.Config{})
	ids := multiply(b, d, readRows) // newest first
	code := must.Get(d.svc.QRCodes.Create(b.Context(), d.caller, qrcode.CreateParams{}))(b)
	const list = "/v1/disbursements?limit=20"
	get, first := fixed("/v1/disbursements/"+ids[0]), fixed(list)
	for _, read := range []struct {
		name   string
		path   func(n int64) string
		times  string // the metric beside another path
		beside func(n int64) string
	}{
		{name: "get", path: get},
		{name: "get=any", path: func(n int64) string { return "/v1/disbursements/" + ids[n*7919%readRows] }, times: "times-get", beside: get},
		{name: "page=1", path: first},
		{name: "page=10000", path: fixed(list + "&starting_after=" + ids[(deepPage-1)*pageSize-1]), times: "times-first", beside: first},
		{name: "page=any", path: func(n int64) string {
			return list + "&starting_after=" + ids[n*7919%(readRows-pageSize)]
		}, times: "times-first", beside: first},
		{name: "png", path: fixed("/v1/qr_codes/" + code.ID + "/download"), times: "times-get", beside: get},
	} {
		b.Run(read.name, func(b *testing.B) {
			r := must.Get(http.NewRequestWithContext(b.Context(), http.MethodGet, "http://"+d.address+read.path(0), nil))(b)
			r.Header.Set("Authorization", "Bearer "+d.key)
			answer := must.Get(http.DefaultClient.Do(r))(b)
			defer answer.Body.Close()
			body := must.Get(io.ReadAll(answer.Body))(b)
			bare := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				sum := sha256.Sum256([]byte(r.Header.Get("Authorization")))
				w.Header().Set("Content-Type", "application/json")
				w.Header().Set("Content-Length", strconv.Itoa(len(body)))
				w.Header().Set("X-Sum", fmt.Sprintf("%x", sum[:8]))
				_, _ = w.Write(body)
			}))
			defer bare.Close()
			ours, limit := dial(b, d.address, d.key, read.path), dial(b, bare.Listener.Addr().String(), d.key, read.path)
			var beside *connections
			if read.beside != nil {
				beside = dial(b, d.address, d.key, read.beside)
			}
			turns := benchbase.Turns(b, 8)
			share := int64(b.N/turns + 1)
			var took, limitTook, besideTook time.Duration
			for range turns {
				took += ours.read(b, share)
				limitTook += limit.read(b, share)
				if read.beside != nil {
					besideTook += beside.read(b, share)
				}
			}
			if read.beside != nil {
				b.ReportMetric(float64(took)/float64(besideTook), read.times)
			}
			b.ReportMetric(float64(took)/float64(int64(turns)*share), "ns/op")
			b.ReportMetric(float64(limitTook)/float64(took), "of-limit")
		})
	}
}

func fixed(path string) func(int64) string { return func(int64) string { return path } }

// multiply makes n disbursements out of the newest one, with ids of their own, and
// returns the ids, newest first.
func multiply(b *testing.B, d *desk, n int) []string {
	kinds := payments.Kinds()
	kind := kinds[slices.IndexFunc(kinds, func(k *storage.Kind) bool { return k.Name == "disbursements" })]
	ids := make([]string, 0, n)
	var pattern storage.Record
	err := d.store.View(b.Context(), func(tx storage.ReadTx) error {
		found, err := tx.List(kind, storage.Query{Scope: storage.Scope{Merchant: d.caller.Merchant}, Limit: 1})
		if err == nil {
			pattern = found[0]
		}
		return err
	})
	must.Do(b, err)
	for len(ids) < n {
		err := d.store.Update(b.Context(), func(tx storage.Tx) error {
			for range 10_000 {
				r := pattern
				r.ID = d.svc.NewID("po_")
				r.Data = bytes.ReplaceAll(pattern.Data, []byte(pattern.ID), []byte(r.ID))
				if err := tx.Insert(kind, r); err != nil {
					return err
				}
				ids = append(ids, r.ID)
			}
			return nil
		})
		must.Do(b, err)
	}
	slices.Reverse(ids)
	return ids
}

// connections asks one server over 16 connections.
type connections struct {
	host, key string
	path      func(n int64) string
	conns     []net.Conn
	next      atomic.Int64
}

func dial(b *testing.B, address, key string, path func(int64) string) *connections {
	const number = 16
	r := &connections{host: address, key: key, path: path}
	for range number {
		c := must.Get((&net.Dialer{}).DialContext(b.Context(), "tcp", r.host))(b)
		b.Cleanup(func() { _ = c.Close() })
		r.conns = append(r.conns, c)
	}
	return r
}

// read makes n requests and returns how long that took.
func (r *connections) read(b *testing.B, n int64) time.Duration {
	end := r.next.Load() + n
	var all sync.WaitGroup
	start := time.Now()
	for _, c := range r.conns {
		all.Go(func() {
			answers := bufio.NewReaderSize(c, 32<<10)
			var request []byte
			for {
				i := r.next.Add(1)
				if i > end {
					return
				}
				request = fmt.Appendf(request[:0], "GET %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\n\r\n", r.path(i), r.host, r.key)
				if _, err := c.Write(request); err != nil {
					b.Error(err)
					return
				}
				if err := skipAnswer(answers); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	took := time.Since(start)
	r.next.Store(end)
	return took
}

// skipAnswer reads past an answer of 200, whose length must be given.
func skipAnswer(r *bufio.Reader) error {
	length := -1
	for first := true; ; first = false {
		line, err := r.ReadSlice('\n')
		if err != nil {
			return err
		}
		if first && !bytes.HasPrefix(line, []byte("HTTP/1.1 200 ")) {
			return fmt.Errorf("answered %q", line)
		}
		if n, ok := bytes.CutPrefix(line, []byte("Content-Length: ")); ok {
			if length, err = strconv.Atoi(string(bytes.TrimSpace(n))); err != nil {
				return err
			}
		}
		if len(line) == 2 {
			break
		}
	}
	if length < 0 {
		return errors.New("the answer has no length")
	}
	_, err := io.CopyN(io.Discard, r, int64(length))
	return err
}
