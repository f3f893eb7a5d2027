package subscription

// CancelParams say when a subscription is cancelled.
type CancelParams struct {
	// AtPeriodEnd cancels at the end of the current period. Otherwise, and while the subscription is
	// paused, it is cancelled at once.
	AtPeriodEnd bool `json:"at_period_end,omitempty"`
}
