// Package otelpayments reports requests and background work to OpenTelemetry.
//
//	observer, err := otelpayments.New(otelpayments.Config{})
//	svc, err := payments.New(ctx, store, payments.Config{Observer: observer})
//	handler := httpapi.New(svc, httpapi.Config{Observer: observer})
//	stop, err := observer.WatchHealth(svc)
//
// It is a separate module, so that a host without OpenTelemetry gets none of OpenTelemetry's
// modules in its go.sum. It implements payments.Observer and httpapi.Observer. Get it together with the
// library, at one commit:
//
//	go get github.com/seed-7082ffec/payments@latest github.com/seed-7082ffec/payments/otelpayments@latest
//
// # Metrics
//
//   - payments.request.duration, a histogram in seconds by http.request.method,
//     http.route, http.response.status_code, payments.code (of refusals) and
//     payments.live. Its count is the count of requests.
//   - payments.work.duration, a histogram in seconds by payments.queue,
//     payments.outcome and payments.live: submitting transfers, delivering webhooks,
//     sending messages.
//   - payments.work.wait, a histogram in seconds by payments.queue: the delay from the due time to the start.
//   - payments.provider.calls, a count by payments.provider, payments.live and, of calls that failed or
//     told another amount than the order's, error.type: the class of the error, see provider.Class.
//
// With WatchHealth also these gauges. Every process reports the same values, so an alarm should take
// the maximum, not the sum.
//
//   - payments.queue.due, by payments.queue: the work that is due.
//   - payments.queue.lag, in seconds, by payments.queue: how long the oldest has waited.
//   - payments.transfers.stuck, by payments.live: the transfers, refunds and charges that need a person.
//   - payments.seals.lag, in seconds: the greatest age of a ledger entry without a seal.
//
// All attributes have few values. Merchants and ids are in traces, not in metrics.
//
// # Traces
//
// Each piece of background work is a span named after its queue. It is the parent of the spans that
// the host's Rail, Charger, Texter, Mailer and subscribers begin. A request has a span only if the
// host's middleware, such as otelhttp, begins one. The Observer then sets the span's name to method
// and route, and adds the ids of request and merchant. Spans hold no personal data. They hold the
// class or the type of an error and not its text, which may quote a phone number.
package otelpayments

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/httpapi"
)

// scope names who tells.
const scope = "github.com/seed-7082ffec/payments/otelpayments"

// Config says where to report. The zero value works.
type Config struct {
	// MeterProvider gets the metrics, TracerProvider the traces; the global ones when
	// nil. Those of the packages metric/noop and trace/noop switch them off.
	MeterProvider  metric.MeterProvider
	TracerProvider trace.TracerProvider
}

// Observer is a [payments.Observer] and a [httpapi.Observer]. It is safe for
// concurrent use.
type Observer struct {
	meter          metric.Meter
	tracer         trace.Tracer
	requests       metric.Float64Histogram
	work, workWait metric.Float64Histogram
	calls          metric.Int64Counter
}

var (
	_ payments.Observer = (*Observer)(nil)
	_ httpapi.Observer  = (*Observer)(nil)
)

// New returns an observer.
func New(c Config) (*Observer, error) {
	if c.MeterProvider == nil {
		c.MeterProvider = otel.GetMeterProvider()
	}
	if c.TracerProvider == nil {
		c.TracerProvider = otel.GetTracerProvider()
	}
	o := &Observer{meter: c.MeterProvider.Meter(scope), tracer: c.TracerProvider.Tracer(scope)}
	var err error
	histogram := func(name, what string) metric.Float64Histogram {
		h, failed := o.meter.Float64Histogram(name, metric.WithUnit("s"), metric.WithDescription(what),
			// From a cached read to an endpoint that hangs.
			metric.WithExplicitBucketBoundaries(.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300))
		if err == nil && failed != nil {
			err = fmt.Errorf("otelpayments: %s: %w", name, failed)
		}
		return h
	}
	o.requests = histogram("payments.request.duration", "How long requests took to answer.")
	o.work = histogram("payments.work.duration", "How long pieces of background work took.")
	o.workWait = histogram("payments.work.wait", "For how long background work was due when it was begun.")
	if err != nil {
		return nil, err
	}
	o.calls, err = o.meter.Int64Counter("payments.provider.calls", metric.WithUnit("{call}"),
		metric.WithDescription("How often providers were called, by the class of the error."))
	if err != nil {
		return nil, fmt.Errorf("otelpayments: payments.provider.calls: %w", err)
	}
	return o, nil
}

// ObserveRequest implements [httpapi.Observer].
func (o *Observer) ObserveRequest(ctx context.Context, r httpapi.Observation) {
	if r.Method == "other" {
		r.Method = "_OTHER" // OpenTelemetry's word
	}
	attrs := make([]attribute.KeyValue, 0, 8)
	attrs = append(attrs,
		attribute.String("http.request.method", r.Method),
		attribute.String("http.route", r.Route),
		attribute.Int("http.response.status_code", r.Status),
		attribute.Bool("payments.live", r.Live))
	if r.Code != "" {
		attrs = append(attrs, attribute.String("payments.code", string(r.Code)))
	}
	o.requests.Record(ctx, r.Duration.Seconds(), metric.WithAttributes(attrs...))

	span := trace.SpanFromContext(ctx)
	if !span.IsRecording() {
		return
	}
	if r.Route != "" {
		span.SetName(r.Method + " " + r.Route)
	}
	attrs = append(attrs, attribute.String("payments.request_id", r.RequestID))
	if r.Merchant != "" {
		attrs = append(attrs, attribute.String("payments.merchant", r.Merchant))
	}
	if r.Replayed {
		attrs = append(attrs, attribute.Bool("payments.replayed", true))
	}
	span.SetAttributes(attrs...)
}

// BeginWork implements [payments.Observer].
func (o *Observer) BeginWork(ctx context.Context, w payments.Work) context.Context {
	ctx, span := o.tracer.Start(ctx, "payments "+w.Queue, trace.WithTimestamp(time.Now().Add(-w.Duration)))
	if span.IsRecording() {
		span.SetAttributes(
			attribute.String("payments.queue", w.Queue),
			attribute.Bool("payments.live", w.Live),
			attribute.Int("payments.records", w.Records),
			attribute.Float64("payments.wait", w.Wait.Seconds()))
		if w.ID != "" {
			span.SetAttributes(attribute.String("payments.id", w.ID), attribute.String("payments.merchant", w.Merchant))
		}
	}
	return ctx
}

// EndWork implements [payments.Observer].
func (o *Observer) EndWork(ctx context.Context, w payments.Work) {
	queue := attribute.String("payments.queue", w.Queue)
	outcome := attribute.String("payments.outcome", w.Outcome)
	o.work.Record(ctx, w.Duration.Seconds(), metric.WithAttributes(queue, outcome, attribute.Bool("payments.live", w.Live)))
	o.workWait.Record(ctx, w.Wait.Seconds(), metric.WithAttributes(queue))
	var call []attribute.KeyValue
	if w.Provider != "" {
		call = append(call, attribute.String("payments.provider", w.Provider))
		if w.ErrorClass != "" {
			call = append(call, attribute.String("error.type", string(w.ErrorClass)))
		}
		o.calls.Add(ctx, 1, metric.WithAttributes(append(call, attribute.Bool("payments.live", w.Live))...))
	}

	span := trace.SpanFromContext(ctx) // BeginWork's
	defer span.End()
	if !span.IsRecording() {
		return
	}
	span.SetAttributes(outcome)
	span.SetAttributes(call...)
	if w.Attempt > 0 {
		span.SetAttributes(attribute.Int("payments.attempt", w.Attempt))
	}
	if w.RequestID != "" {
		span.SetAttributes(attribute.String("payments.request_id", w.RequestID))
	}
	if w.Err != nil && w.ErrorClass == "" {
		span.SetAttributes(attribute.String("error.type", fmt.Sprintf("%T", w.Err)))
	}
	if w.Err != nil || w.Level >= slog.LevelError {
		span.SetStatus(codes.Error, w.Outcome)
	}
}

// WatchHealth reports payments.Service.Health at each collection of metrics, until the caller calls
// stop. If the store does not answer, the collection fails.
func (o *Observer) WatchHealth(svc *payments.Service) (stop func() error, err error) {
	due, err := o.meter.Int64ObservableGauge("payments.queue.due", metric.WithUnit("{record}"),
		metric.WithDescription("How much background work is due."))
	if err != nil {
		return nil, fmt.Errorf("otelpayments: payments.queue.due: %w", err)
	}
	lag, err := o.meter.Float64ObservableGauge("payments.queue.lag", metric.WithUnit("s"),
		metric.WithDescription("For how long the oldest due work has waited."))
	if err != nil {
		return nil, fmt.Errorf("otelpayments: payments.queue.lag: %w", err)
	}
	stuck, err := o.meter.Int64ObservableGauge("payments.transfers.stuck", metric.WithUnit("{order}"),
		metric.WithDescription("How many transfers, refunds and charges need a person."))
	if err != nil {
		return nil, fmt.Errorf("otelpayments: payments.transfers.stuck: %w", err)
	}
	seals, err := o.meter.Float64ObservableGauge("payments.seals.lag", metric.WithUnit("s"),
		metric.WithDescription("The greatest age that an entry of the ledger without a seal can have."))
	if err != nil {
		return nil, fmt.Errorf("otelpayments: payments.seals.lag: %w", err)
	}
	registration, err := o.meter.RegisterCallback(func(ctx context.Context, to metric.Observer) error {
		h, err := svc.Health(ctx)
		if err != nil {
			return err
		}
		for _, q := range h.Queues {
			of := metric.WithAttributes(attribute.String("payments.queue", q.Name))
			to.ObserveInt64(due, int64(q.Due), of)
			waited := 0.0
			if q.OldestDue != nil {
				waited = max(0, h.At.Sub(q.OldestDue.Time).Seconds())
			}
			to.ObserveFloat64(lag, waited, of)
		}
		to.ObserveInt64(stuck, int64(h.StuckLive), metric.WithAttributes(attribute.Bool("payments.live", true)))
		to.ObserveInt64(stuck, int64(h.StuckTest), metric.WithAttributes(attribute.Bool("payments.live", false)))
		to.ObserveFloat64(seals, h.SealLag().Seconds())
		return nil
	}, due, lag, stuck, seals)
	if err != nil {
		return nil, fmt.Errorf("otelpayments: watch health: %w", err)
	}
	return registration.Unregister, nil
}
