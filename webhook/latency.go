package webhook

import "time"

// DayLatency says how long the deliveries of a day took until an endpoint accepted them. A delivery
// that is under way counts nowhere.
type DayLatency struct {
	Day time.Time `json:"-"`
	// Delivered counts the deliveries that took at most 1 second, 5 seconds, 1 minute, 1 hour, and
	// longer. Each delivery counts in one of the five.
	Delivered [5]int64 `json:"delivered"`
	Failed    int64    `json:"failed,omitempty"` // given up
}
