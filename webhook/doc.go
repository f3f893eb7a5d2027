// Package webhook tells merchants' servers of events, and lets a server check what
// it is told.
//
// It owns endpoints, the signature, and the making of deliveries, from the fan-out of an
// event to their removal. Package event, below, keeps events, and the records of deliveries
// and subscriptions, by which it counts the endpoints that an event has yet to reach.
//
// An event is delivered at least once: a receiver tells events apart by their ids.
// Deliveries to one endpoint may overtake each other.
package webhook
