// Package webhook posts events to the servers of merchants. It also has the functions with which a
// merchant's server verifies them.
//
// It owns endpoints, the signature, and the life of deliveries: the fan-out of an event, the
// attempts and the removal. Package event, which this package uses, stores events, deliveries and
// subscriptions. From these records package event counts the endpoints that an event has not
// reached yet.
//
// An endpoint gets an event at least once: a receiver tells events apart by their ids.
// Deliveries to one endpoint may overtake each other.
package webhook
