package invoice

import (
	"fmt"
	"time"
)

// OverdueAt returns when an invoice with a due date becomes overdue: at the end of that day in Accra, which
// has the time of UTC.
func OverdueAt(due time.Time) time.Time {
	return due.UTC().Truncate(24*time.Hour).AddDate(0, 0, 1)
}

// ChargeHours are the hours of the day in Accra in which automatic charges ask phones: from From
// o'clock on, and before Until o'clock. From 0 until 24 is the whole day.
type ChargeHours struct{ From, Until int }

// DefaultChargeHours are the hours if the host sets none.
var DefaultChargeHours = ChargeHours{From: 8, Until: 20}

// Check refuses hours that are not those of one day. Zero hours stand for [DefaultChargeHours].
func (h ChargeHours) Check() error {
	if h != (ChargeHours{}) && (h.From < 0 || h.From >= h.Until || h.Until > 24) {
		return fmt.Errorf("invoice: hours from %d until %d; want 0 <= From < Until <= 24", h.From, h.Until)
	}
	return nil
}

// maxReminderDays is how far from the due date a reminder may be.
const maxReminderDays = 365

// CheckReminders returns an error if a day is more than 365 days from the due date, or is given
// twice.
func CheckReminders(days []int) error {
	seen := map[int]bool{}
	for _, d := range days {
		if d < -maxReminderDays || d > maxReminderDays {
			return fmt.Errorf("invoice: a reminder %d days from the due date; want at most %d before or after", d, maxReminderDays)
		}
		if seen[d] {
			return fmt.Errorf("invoice: the reminder %d days from the due date is given twice", d)
		}
		seen[d] = true
	}
	return nil
}
