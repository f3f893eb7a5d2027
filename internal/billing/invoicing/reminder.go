package invoicing

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/work"
	"github.com/seed-7082ffec/payments/invoice"
	"github.com/seed-7082ffec/payments/storage"
)

// remindAt is the time of the day of reminders, in UTC, which is Ghana's clock.
const remindAt = 9 * time.Hour

// reminder is the plan of an invoice's reminders. It has the invoice's id.
type reminder struct {
	DueDate api.Time `json:"due_date"`
	// Past is the last day, counted from the due date, that is done: its reminder was sent or skipped, or its
	// time had come before the invoice was finalized. Nil for none.
	Past *int `json:"past,omitempty"`
	// SendAt is when the next one is to be sent.
	SendAt api.Time `json:"send_at"`
}

var reminders = storage.NewCollection("invoice_reminders", []storage.Field[reminder]{
	storage.NullTimeColumn("due", func(r *reminder) *api.Time { return &r.SendAt }),
}, storage.DueBy("due"))

// at returns the time at which the reminder of a day is sent.
func (r *reminder) at(day int) time.Time {
	return r.DueDate.UTC().Truncate(24*time.Hour).AddDate(0, 0, day).Add(remindAt)
}

// pass marks all days whose time has come as past, and sets SendAt to the time of the next day. It returns
// the last day that has come, nil for none, and whether there is a next day.
func (r *reminder) pass(days []int, now time.Time) (come *int, more bool) {
	days = slices.Sorted(slices.Values(days))
	for _, day := range days {
		if r.Past != nil && day <= *r.Past {
			continue
		}
		if at := r.at(day); at.After(now) {
			r.SendAt = api.At(at)
			return come, true
		}
		r.Past, come = &day, &day
	}
	return come, false
}

// scheduleReminders plans the reminders of an invoice that was finalized. It plans none for an invoice that is
// charged automatically, has no due date or nothing due, or has neither an e-mail address nor a number that gets
// SMS.
func (s *Service) scheduleReminders(tx *engine.Tx, r *record) error {
	if r.DueDate == nil || r.CollectionMethod != invoice.SendInvoice || r.AmountDue == 0 || r.textPhone() == nil && r.Email == nil {
		return nil
	}
	plan := reminder{DueDate: *r.DueDate}
	if _, more := plan.pass(s.config.Reminders, tx.Now); !more {
		return nil
	}
	if _, err := reminders.Insert(tx, engine.Scope(tx.Caller), r.ID, plan); err != nil {
		return fmt.Errorf("invoice: plan reminders: %w", err)
	}
	tx.WakeAfterCommit(reminders.Kind())
	return nil
}

// whileCharged is how long a reminder waits for a charge under way.
const whileCharged = time.Hour

// Jobs returns the job that reminds customers of open invoices. Each reminder is queued at most
// once. If several are overdue, for example after the workers were stopped, only the latest is
// sent. Invoices that are charged automatically have no reminders.
func (s *Service) Jobs() []work.Job {
	return []work.Job{{Kind: reminders.Kind(), Timeout: time.Minute, Batch: 64, RunOne: s.remind}}
}

func (s *Service) remind(ctx context.Context, claimed storage.Record) error {
	caller := api.Caller{Merchant: claimed.Scope.Merchant, Live: claimed.Scope.Live}
	return s.engine.Update(ctx, caller, func(tx *engine.Tx) error {
		plan, err := engine.OrNil(reminders.Get(tx, engine.Scope(caller), claimed.ID))
		if plan == nil || err != nil {
			return err
		}
		o, err := s.get(tx, engine.Scope(caller), claimed.ID)
		if err != nil {
			return err
		}
		r := &o.Value
		if r.Status == invoice.Open && r.OpenCharge != nil {
			plan.Value.SendAt = api.At(tx.Now.Add(whileCharged))
			return reminders.Replace(tx, plan)
		}
		come, more := plan.Value.pass(s.config.Reminders, tx.Now)
		if r.Status != invoice.Open {
			more = false
		} else if come != nil {
			if _, err := s.queueMessages(tx, r, true); err != nil {
				return err
			}
			if err := s.recordEvents(tx, r, event.InvoiceSent); err != nil {
				return err
			}
		}
		if more {
			return reminders.Replace(tx, plan)
		}
		return reminders.Delete(tx, plan)
	})
}
