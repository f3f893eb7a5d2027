package inspector

import "time"

// LookEvery sets how often open pages look for changes.
func (in *Inspector) LookEvery(d time.Duration) { in.look = d }
