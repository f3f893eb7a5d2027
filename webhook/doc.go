// Package webhook tells merchants' servers of events, and lets a server check what
// it is told.
//
// It owns endpoints, the deliveries to them with every attempt, and the signature.
// It does not own events (package event), which it is handed once they are
// committed.
//
// An event is delivered at least once: a receiver tells events apart by their ids.
// Deliveries to one endpoint may overtake each other.
package webhook
