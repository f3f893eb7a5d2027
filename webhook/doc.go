// Package webhook posts events to the servers of merchants, and verifies the posts there.
//
// It owns endpoints, the signature, and the life of deliveries: the fan-out of an event, the
// attempts and the removal. Package event, below, stores events, deliveries and
// subscriptions. By these records it counts the endpoints that an event has yet to reach.
//
// An endpoint gets an event at least once: a receiver tells events apart by their ids.
// Deliveries to one endpoint may overtake each other.
package webhook
