// Package webhook posts events to the servers of merchants. It also has the functions with which a
// merchant's server verifies them.
//
// An endpoint gets an event at least once: a receiver tells events apart by their ids.
// Deliveries to one endpoint may overtake each other.
//
// A delivery succeeds with a 2xx answer within 15 seconds. Otherwise it is tried again, in all up to 10
// times within about three days, no sooner than a Retry-After of the answer asks. After a 410 it is not
// tried again. An endpoint that has failed for five days without a success is switched off, with the
// event webhook_endpoint.disabled.
package webhook
