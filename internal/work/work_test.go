package work_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/internal/work"
	"github.com/seed-7082ffec/payments/storage"
)

type mark struct{}

// observer records its calls.
type observer struct {
	mu           sync.Mutex
	begun, ended []work.Work
	lost         int // ends with another context than the begin returned
	panics       bool
}

func (o *observer) BeginWork(ctx context.Context, w work.Work) context.Context {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.begun = append(o.begun, w)
	if o.panics {
		panic("planned")
	}
	return context.WithValue(ctx, mark{}, w.ID)
}

func (o *observer) EndWork(ctx context.Context, w work.Work) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ended = append(o.ended, w)
	if ctx.Value(mark{}) != any(w.ID) {
		o.lost++
	}
	if o.panics {
		panic("planned")
	}
}

// Each record makes one log line and one pair of calls. The work runs with the observer's
// context.
func TestWorkIsLoggedAndObserved(t *testing.T) {
	w := newWorks(t)
	var log bytes.Buffer
	o := &observer{}
	w.Log, w.Observer = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})), o
	secret := errors.New("it is about 0241234567")
	w.do = func(ctx context.Context, task *storage.Object[task]) error {
		expect.Equal(t, ctx.Value(mark{}), any(task.ID), "%s ran without the observer's context", task.ID)
		switch task.ID {
		case "warned":
			work.SetReport(ctx, work.Report{Name: "first"})
			work.SetReport(context.WithoutCancel(ctx), work.Report{
				Name: "again", Attempt: 3, RequestID: "req_1", Level: slog.LevelWarn, Err: secret,
			})
		case "fails":
			work.SetReport(ctx, work.Report{Name: "delivered", Attempt: 2})
			return errors.New("planned")
		}
		return nil
	}
	scope := storage.Scope{Merchant: "mer_1", Live: true}
	for _, id := range []string{"plain", "warned", "fails"} {
		w.add(t, scope, id, time.Now().Add(-time.Hour))
	}
	w.drain(t)

	must.True(t, len(o.begun) == 3 && len(o.ended) == 3 && o.lost == 0, "%d begun, %d ended, %d with another context", len(o.begun), len(o.ended), o.lost)
	for _, b := range o.begun {
		expect.Equal(t, b.Name, "", "%s has begun: name", b.ID)
		expect.Equal(t, b.Duration, 0, "%s has begun: duration", b.ID)
		expect.Equal(t, b.Queue, "tasks", "%s has begun: queue", b.ID)
		expect.Equal(t, b.Scope, scope, "%s has begun: scope", b.ID)
		expect.Equal(t, b.Records, 1, "%s has begun: records", b.ID)
		expect.True(t, b.Wait >= time.Hour, "%s has begun: it waited %s", b.ID, b.Wait)
	}
	outcomes := map[string]string{}
	for _, e := range o.ended {
		outcomes[e.ID] = fmt.Sprint(e.Name, " ", e.Attempt, " ", e.Level, " ", e.Err, " ", e.RequestID)
		expect.True(t, e.Duration > 0, "%s has ended: it took %s", e.ID, e.Duration)
		expect.True(t, e.Wait >= time.Hour, "%s has ended: it waited %s", e.ID, e.Wait)
	}
	for id, want := range map[string]string{
		"plain": "done 0 INFO <nil> ", "warned": "again 3 WARN " + secret.Error() + " req_1", "fails": "error 2 ERROR planned ",
	} {
		expect.True(t, outcomes[id] == want, "%s: %q, want %q", id, outcomes[id], want)
	}

	lines := strings.Split(strings.TrimSpace(log.String()), "\n")
	expect.Equal(t, len(lines), 3, "lines of the log %q", log.String())
	expect.True(t, !strings.Contains(log.String(), "0241234567"), "the log tells the phone number:\n%s", &log)
	for _, want := range []string{
		"level=INFO msg=work queue=tasks id=plain merchant=mer_1 live=true outcome=done wait=1h",
		"level=WARN msg=work queue=tasks id=warned merchant=mer_1 live=true outcome=again attempt=3 wait=1h",
		`level=ERROR msg="work failed and will be tried again" queue=tasks id=fails merchant=mer_1 live=true outcome=error attempt=2 wait=1h`,
	} {
		expect.True(t, slices.ContainsFunc(lines, func(line string) bool { return strings.Contains(line, want) }), "no line has %s\n%s", want, &log)
	}
}

// A batch is one piece of work, and its ids are not reported.
func TestBatchIsObservedAsOnePiece(t *testing.T) {
	w := newWorks(t)
	var log bytes.Buffer
	o := &observer{}
	r := &work.Runner{Store: w.store, Clock: time.Now, Log: slog.New(slog.NewTextHandler(&log, nil)), Poll: time.Second, Observer: o}
	r.Add(work.Job{Kind: tasks.Kind(), Timeout: time.Minute, Batch: 10, RunBatch: func(ctx context.Context, records []storage.Record) error {
		work.SetReport(ctx, work.Report{Name: "forgotten"})
		return w.store.Update(ctx, func(tx storage.Tx) error {
			for _, one := range records {
				if err := tx.Delete(tasks.Kind(), one.Scope, one.ID, one.Version); err != nil {
					return err
				}
			}
			return nil
		})
	}})
	for i := range 4 {
		w.add(t, storage.Scope{}, fmt.Sprint("secret", i), time.Now())
	}
	must.Do(t, r.Drain(t.Context()))
	must.True(t, len(o.ended) == 1, "ended: %+v, want one", o.ended)
	expect.Equal(t, o.ended[0].Records, 4, "ended: records")
	expect.Equal(t, o.ended[0].Name, "forgotten", "ended: name")
	expect.Equal(t, o.ended[0].ID, "", "ended: id")
	text := log.String()
	expect.Equal(t, strings.Count(text, "\n"), 1, "lines of the log %q", text)
	expect.True(t, strings.Contains(text, "records=4"), "the log does not tell how many records:\n%s", text)
	expect.True(t, !strings.Contains(text, "secret"), "the log tells an id:\n%s", text)
}

// The work continues when an observer panics.
func TestObserverPanicIsLogged(t *testing.T) {
	w := newWorks(t)
	var log bytes.Buffer
	o := &observer{panics: true}
	w.Log, w.Observer = slog.New(slog.NewTextHandler(&log, nil)), o
	w.add(t, storage.Scope{}, "a", time.Now())
	w.drain(t)
	expect.Equal(t, w.count(), 1, "how many ran")
	expect.Equal(t, len(o.begun), 1, "how many have begun")
	expect.Equal(t, len(o.ended), 1, "how many have ended")
	n := strings.Count(log.String(), "the observer panicked")
	expect.Equal(t, n, 2, "panics in the log %q", log.String())
	expect.True(t, !strings.Contains(log.String(), "planned"), "the log tells the value of the panic:\n%s", &log)
}

// A report outside of work has no effect.
func TestReportOutsideOfWorkIsIgnored(t *testing.T) {
	expect.True(t, !work.SetReport(t.Context(), work.Report{Name: "sent"}), "it belongs to no work")
}

// The observer hears of work in the claiming transaction once it is done. Failed work is claimed
// again with a lease, and blocks no other work.
func TestWorkInTxIsReportedOnceDone(t *testing.T) {
	w := newWorks(t)
	o := &observer{}
	r := &work.Runner{Store: w.store, Clock: time.Now, Log: slog.New(slog.DiscardHandler), Poll: time.Second, Observer: o}
	finish := func(ctx context.Context, tx storage.Tx, record storage.Record) error {
		if record.ID == "bad" {
			return errors.New("no")
		}
		return tx.Delete(tasks.Kind(), record.Scope, record.ID, record.Version)
	}
	var versions []int64
	r.Add(work.Job{
		Kind: tasks.Kind(), Timeout: time.Minute, Batch: 3,
		BeginInTx: func(ctx context.Context, c storage.Claim) (work.Claimed, error) {
			if _, bounded := ctx.Deadline(); bounded || !c.InTx || c.Limit != 3 {
				t.Errorf("claim %+v", c)
			}
			work.SetReport(ctx, work.Report{Name: "swept"})
			var done []storage.Record
			err := w.store.Update(ctx, func(tx storage.Tx) error {
				var err error
				if done, err = tx.Claim(tasks.Kind(), c); err != nil {
					return err
				}
				for _, record := range done {
					versions = append(versions, record.Version)
					if err := finish(ctx, tx, record); err != nil {
						return err
					}
				}
				return nil
			})
			return work.Claimed{Done: done, More: len(done) == c.Limit}, err
		},
		RunOne: func(ctx context.Context, record storage.Record) error {
			return w.store.Update(ctx, func(tx storage.Tx) error { return finish(ctx, tx, record) })
		},
	})
	at := time.Now().Add(-time.Hour)
	for i := range 5 {
		w.add(t, storage.Scope{}, fmt.Sprint("t", i), at.Add(time.Duration(i)*time.Minute))
	}
	must.Do(t, r.Drain(t.Context()))
	if len(o.ended) != 2 || o.ended[0].Records != 3 || o.ended[1].Records != 2 || o.ended[0].Name != "swept" ||
		o.ended[0].Wait < 59*time.Minute || o.ended[0].Duration <= 0 || o.ended[0].ID != "" || len(o.begun) != 2 {
		t.Errorf("ended: %+v", o.ended)
	}
	expect.Equal(t, slices.Max(versions), 1, "the records were written before they were done: versions %v", versions)

	o.ended = nil
	w.add(t, storage.Scope{}, "bad", at)
	w.add(t, storage.Scope{}, "good", at.Add(time.Minute))
	must.Do(t, r.Drain(t.Context()))
	outcomes := map[string]string{}
	for _, one := range o.ended {
		outcomes[one.ID] = one.Name
	}
	expect.Equal(t, len(outcomes), 2, "outcomes")
	expect.Equal(t, outcomes["bad"], "error", "outcome of bad")
	expect.Equal(t, outcomes["good"], "done", "outcome of good")
}

// The claiming transaction may do the work on some records and begin it on others. Those that are done take no slot.
func TestWorkInTxMayBeDoneOrBegun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorks(t)
		o := &observer{}
		r := &work.Runner{Store: w.store, Clock: time.Now, Log: slog.New(slog.DiscardHandler), Poll: time.Second, Observer: o}
		finish := func(tx storage.Tx, record storage.Record) error {
			return tx.Delete(tasks.Kind(), record.Scope, record.ID, record.Version)
		}
		proceed := make(chan struct{})
		r.Add(work.Job{
			Kind: tasks.Kind(), Timeout: time.Minute, Batch: 2,
			BeginInTx: func(ctx context.Context, c storage.Claim) (claimed work.Claimed, err error) {
				err = w.store.Update(ctx, func(tx storage.Tx) error {
					records, err := tx.Claim(tasks.Kind(), c)
					if err != nil {
						return err
					}
					claimed = work.Claimed{More: len(records) == c.Limit}
					for _, record := range records {
						if record.ID != "slow" {
							claimed.Done = append(claimed.Done, record)
							if err := finish(tx, record); err != nil {
								return err
							}
							continue
						}
						claimed.Begun = append(claimed.Begun, work.Begun{Record: record, Run: func(ctx context.Context) error {
							<-proceed
							return w.store.Update(ctx, func(tx storage.Tx) error { return finish(tx, record) })
						}})
						if err := tx.Lease(tasks.Kind(), record.Scope, record.ID, record.Version, time.Now().Add(work.LeaseDuration)); err != nil {
							return err
						}
					}
					return nil
				})
				return claimed, err
			},
			RunOne: func(context.Context, storage.Record) error { return errors.New("not begun in the transaction") },
		})
		at := time.Now().Add(-time.Hour)
		w.add(t, storage.Scope{}, "slow", at)
		for i := range 7 {
			w.add(t, storage.Scope{}, fmt.Sprint("t", i), at.Add(time.Minute))
		}
		r.Start(t.Context())
		synctest.Wait()
		done := 0
		for _, one := range o.ended {
			done += one.Records
		}
		expect.Equal(t, done, 7, "records done while one is slow")
		close(proceed)
		expect.NoError(t, r.Drain(t.Context()), "Drain")
		last := o.ended[len(o.ended)-1]
		expect.Equal(t, last.ID, "slow", "the last")
		expect.NoError(t, last.Err, "the last")
		expect.NoError(t, r.Stop(t.Context()), "Stop")
	})
}
