package life

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/bench/internal/httpload"
	"github.com/seed-7082ffec/payments/disbursement"
	"github.com/seed-7082ffec/payments/payout"
)

// BenchmarkCommit disburses to wallets from Go, by groups of callers that wait for each other, so that
// a group is about one commit. cpu-us/op is the processor time of this process for a transfer.
// wait-us/commit is the time for which this process has nothing to do until the answer of a commit:
// on PostgreSQL what the server takes for it, and the round trip. docs/performance.md computes from
// these parts what one primary carries.
func BenchmarkCommit(b *testing.B) {
	overStores(b, func(b *testing.B, _ backend, s *server) {
		for _, group := range []int{1, 32, 128} {
			b.Run(fmt.Sprint("group=", group), func(b *testing.B) {
				rounds := max(1, b.N/group)
				commits, cpu, begun := s.commits(), httpload.CPUTime(), time.Now()
				for range rounds {
					s.disburseTogether(b, group)
				}
				took := time.Since(begun)
				cpu = httpload.CPUTime() - cpu
				commits = s.commits() - commits
				report(b, rounds*group, took, cpu)
				b.ReportMetric(float64(rounds*group)/float64(commits), "op/commit")
				b.ReportMetric(float64((took-cpu).Microseconds())/float64(commits), "wait-us/commit")
			})
		}
	})
}

// disburseTogether makes so many transfers to wallets at the same time, and waits for all.
func (s *server) disburseTogether(b *testing.B, n int) {
	b.Helper()
	var all sync.WaitGroup
	start := make(chan struct{})
	for i := range n {
		caller := api.Caller{Merchant: s.merchant, RequestID: s.svc.NewID("req_"), IdempotencyKey: s.svc.NewID("order-")}
		p := disbursement.CreateParams{Amount: decimal.New(1, -2), Destination: payout.DestinationParams{Type: payout.ServiceWallet, ServiceID: s.wallets[i%len(s.wallets)]}}
		all.Go(func() {
			<-start
			if _, err := s.svc.Disbursements.Create(context.Background(), caller, p); err != nil {
				b.Error(err)
			}
		})
	}
	close(start)
	all.Wait()
	if b.Failed() {
		b.FailNow()
	}
}
