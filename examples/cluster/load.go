//go:build linux

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// patience is how long a client waits for an answer: longer than a server may take, so
// that one which takes longer is seen.
const patience = 100 * time.Second

// attempt is a request and its answer.
type attempt struct {
	begun, ended time.Time
	answer       string
}

func (a *attempt) good() bool { return a.answer == "200" }

// ack is a disbursement that the client knows to be made.
type ack struct {
	key, id      string
	begun, ended time.Time // of the first attempt, and of the last
}

// load is clients that disburse, each one after another. As a good client does, they
// repeat a request under its idempotency key until it is answered for good.
type load struct {
	address string
	shop    *shop
	client  *http.Client
	all     sync.WaitGroup
	ctx     context.Context
	cancel  context.CancelFunc
	done    chan struct{}
	begun   time.Time

	mu         sync.Mutex
	attempts   []attempt
	acks       []ack
	lastGood   time.Time
	unanswered int
	refused    []string
}

func newLoad(ctx context.Context, address string, s *shop, callers int) *load {
	l := &load{address: address, shop: s, done: make(chan struct{}), begun: time.Now()}
	l.client = &http.Client{Timeout: patience, Transport: &http.Transport{MaxIdleConnsPerHost: callers}}
	l.ctx, l.cancel = context.WithCancel(ctx)
	for n := range callers {
		l.all.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-l.done:
					return
				case <-time.After(10 * time.Millisecond): // a little air for the cluster
				}
				if !l.disburse(fmt.Sprintf("%s-%d-%d", s.run, n, i), s.wallets[(n+i)%len(s.wallets)]) {
					return
				}
			}
		})
	}
	return l
}

// stop ends the load when each client has the answer to its last request, for which it
// gets another minute.
func (l *load) stop() {
	close(l.done)
	late := time.AfterFunc(time.Minute, l.cancel)
	l.all.Wait()
	late.Stop()
	l.cancel()
	l.client.CloseIdleConnections()
}

// disburse asks for one disbursement until it is answered, and reports whether it was made.
func (l *load) disburse(key, wallet string) (made bool) {
	body := fmt.Sprintf(`{"amount":0.01,"reference":%q,"destination":{"type":"service_wallet","service_id":%q}}`, key, wallet)
	begun := time.Now()
	for n := 1; ; n++ {
		sent := time.Now()
		status, wait, answer := l.send(key, body)
		if l.ctx.Err() != nil {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.unanswered++
			return false
		}
		if l.record(key, begun, attempt{sent, time.Now(), label(status, wait)}, status, answer) {
			return status == http.StatusOK
		}
		if wait == 0 {
			wait = min(time.Duration(n)*100*time.Millisecond, time.Second)
		}
		select {
		case <-l.ctx.Done():
		case <-time.After(wait):
		}
	}
}

// send makes one attempt. The status is 0 when there was no answer, and wait what the
// server asks for with Retry-After.
func (l *load) send(key, body string) (status int, wait time.Duration, answer []byte) {
	r, err := http.NewRequestWithContext(l.ctx, http.MethodPost, "http://"+l.address+"/v1/disbursements", strings.NewReader(body))
	if err != nil {
		return 0, 0, nil
	}
	r.Header.Set("Authorization", "Bearer "+l.shop.key)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-Idempotency-Key", key)
	response, err := l.client.Do(r)
	if err != nil {
		return 0, 0, nil
	}
	defer response.Body.Close()
	if answer, err = io.ReadAll(response.Body); err != nil {
		return 0, 0, nil
	}
	seconds, _ := strconv.Atoi(response.Header.Get("Retry-After")) // 0 when there is none
	return response.StatusCode, time.Duration(seconds) * time.Second, answer
}

// label names an answer in the report.
func label(status int, wait time.Duration) string {
	switch {
	case status == 0:
		return "none"
	case status == http.StatusInternalServerError && wait == 0:
		return "bare 500"
	case status > http.StatusInternalServerError && wait == 0:
		return fmt.Sprintf("%d without Retry-After", status)
	}
	return strconv.Itoa(status)
}

// record keeps an attempt, and reports whether its answer is final.
func (l *load) record(key string, begun time.Time, a attempt, status int, answer []byte) (final bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.attempts = append(l.attempts, a)
	switch {
	case status == http.StatusOK:
		var object struct{ ID string }
		if err := json.Unmarshal(answer, &object); err != nil || object.ID == "" {
			l.refused = append(l.refused, fmt.Sprintf("200 without an id: %s", answer))
			return true
		}
		l.lastGood = a.ended
		l.acks = append(l.acks, ack{key, object.ID, begun, a.ended})
		return true
	case status == 0, status >= http.StatusInternalServerError, status == http.StatusTooManyRequests, status == http.StatusConflict:
		return false
	}
	l.refused = append(l.refused, fmt.Sprintf("%d: %s", status, answer))
	return true
}

// goodSince waits until a request was acknowledged after t, or refused.
func (l *load) goodSince(ctx context.Context, t time.Time) error {
	return until(ctx, "a server", 3*time.Minute, func(context.Context) bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.lastGood.After(t) || len(l.refused) > 0
	})
}

// acknowledged returns the disbursements that were acknowledged, when the load has ended.
func (l *load) acknowledged() []ack { return l.acks }

// verdict is an error when a client has not got what it asked for.
func (l *load) verdict() error {
	switch {
	case len(l.refused) > 0:
		return fmt.Errorf("%d requests were refused, the first with %s", len(l.refused), l.refused[0])
	case l.unanswered > 0:
		return fmt.Errorf("%d requests were not answered within a minute after the end", l.unanswered)
	case len(l.acks) == 0:
		return fmt.Errorf("nothing was acknowledged")
	}
	return nil
}
