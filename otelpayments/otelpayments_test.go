package otelpayments_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/shopspring/decimal"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	api "go.opentelemetry.io/otel/trace"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/disbursement"
	"github.com/seed-7082ffec/payments/httpapi"
	"github.com/seed-7082ffec/payments/httpapi/paymentstest"
	"github.com/seed-7082ffec/payments/otelpayments"
	"github.com/seed-7082ffec/payments/payout"
	"github.com/seed-7082ffec/payments/provider"
	"github.com/seed-7082ffec/payments/storage/memory"
)

// rail begins a span of its own, and fails with an error that quotes the number.
type rail struct{ tracer api.Tracer }

func (r rail) Submit(ctx context.Context, o provider.Transfer) (provider.Result, error) {
	_, span := r.tracer.Start(ctx, "the provider's API")
	defer span.End()
	return provider.Result{}, errors.New("no answer about " + o.Number)
}

func (r rail) Status(ctx context.Context, o provider.Transfer) (provider.Result, error) {
	return r.Submit(ctx, o)
}

// bench is a shop that is watched.
type bench struct {
	*paymentstest.Shop
	reader *metric.ManualReader
	spans  *tracetest.SpanRecorder
	tracer api.Tracer
	server *httptest.Server
}

func open(t *testing.T) *bench {
	t.Helper()
	b := &bench{reader: metric.NewManualReader(), spans: tracetest.NewSpanRecorder()}
	traces := trace.NewTracerProvider(trace.WithSpanProcessor(b.spans))
	b.tracer = traces.Tracer("host")
	o, err := otelpayments.New(otelpayments.Config{
		MeterProvider: metric.NewMeterProvider(metric.WithReader(b.reader)), TracerProvider: traces,
	})
	if err != nil {
		t.Fatal(err)
	}
	b.Shop = paymentstest.NewWithStore(t, memory.New(), payments.Config{Observer: o, Test: payments.Providers{Rail: rail{b.tracer}}})
	library := httpapi.New(b.Service, httpapi.Config{Observer: o})
	// The host's middleware begins a span for each request, as otelhttp does.
	b.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, span := b.tracer.Start(r.Context(), "HTTP")
		defer span.End()
		library.ServeHTTP(w, r.WithContext(ctx))
	}))
	t.Cleanup(b.server.Close)
	stop, err := o.WatchHealth(b.Service)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
	return b
}

func (b *bench) do(t *testing.T, method, path string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, b.server.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+b.Key)
	response, err := b.server.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
}

// collect returns all metrics: for a histogram its count, for a gauge its value, by
// name and attributes.
func (b *bench) collect(t *testing.T) map[string]float64 {
	t.Helper()
	var all metricdata.ResourceMetrics
	if err := b.reader.Collect(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	values := map[string]float64{}
	key := func(name string, set attribute.Set) string {
		return name + "{" + set.Encoded(attribute.DefaultEncoder()) + "}"
	}
	for _, s := range all.ScopeMetrics {
		for _, m := range s.Metrics {
			switch data := m.Data.(type) {
			case metricdata.Histogram[float64]:
				for _, p := range data.DataPoints {
					values[key(m.Name, p.Attributes)] = float64(p.Count)
				}
			case metricdata.Sum[int64]:
				for _, p := range data.DataPoints {
					values[key(m.Name, p.Attributes)] = float64(p.Value)
				}
			case metricdata.Gauge[int64]:
				for _, p := range data.DataPoints {
					values[key(m.Name, p.Attributes)] = float64(p.Value)
				}
			case metricdata.Gauge[float64]:
				for _, p := range data.DataPoints {
					values[key(m.Name, p.Attributes)] = p.Value
				}
			default:
				t.Errorf("%s is a %T", m.Name, data)
			}
		}
	}
	return values
}

func attrs(s trace.ReadOnlySpan) map[string]string {
	m := map[string]string{}
	for _, a := range s.Attributes() {
		m[string(a.Key)] = a.Value.String()
	}
	return m
}

func TestObserverRecordsMetricsAndSpans(t *testing.T) {
	b := open(t)
	sent, err := b.Disbursements.Create(t.Context(), b.Caller, disbursement.CreateParams{
		Amount: decimal.NewFromInt(5), Destination: payout.DestinationParams{Type: payout.MobileMoney, PhoneNumber: "0247654321"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := b.collect(t)["payments.queue.due{payments.queue=disbursements}"]; got != 1 {
		t.Errorf("%v disbursements are due, want 1", got)
	}
	b.Work()
	b.do(t, "GET", "/v1/disbursements/"+sent.ID)
	b.do(t, "GET", "/v1/disbursements/po_0")
	b.do(t, "BREW", "/v1/teapots")

	values := b.collect(t)
	if lag, ok := values["payments.seals.lag{}"]; !ok || lag < 0 || lag > 60 {
		t.Errorf("the seals lag %v s (%t)", lag, ok)
	}
	for name, want := range map[string]float64{
		"payments.queue.due{payments.queue=disbursements}":                                                    0,
		"payments.queue.lag{payments.queue=disbursements}":                                                    0,
		"payments.transfers.stuck{payments.live=true}":                                                        0,
		"payments.transfers.stuck{payments.live=false}":                                                       0,
		"payments.work.duration{payments.live=false,payments.outcome=no_answer,payments.queue=disbursements}": 1,
		"payments.work.wait{payments.queue=disbursements}":                                                    1,
		"payments.provider.calls{error.type=other,payments.live=false,payments.provider=rail}":                1,

		"payments.request.duration{http.request.method=GET,http.response.status_code=200,http.route=/v1/disbursements/{id},payments.live=false}":                                1,
		"payments.request.duration{http.request.method=GET,http.response.status_code=404,http.route=/v1/disbursements/{id},payments.code=resource_missing,payments.live=false}": 1,
		"payments.request.duration{http.request.method=_OTHER,http.response.status_code=404,http.route=,payments.code=not_found,payments.live=false}":                           1,
	} {
		if got, ok := values[name]; !ok || got != want {
			t.Errorf("%s is %v (%t), want %v", name, got, ok, want)
		}
	}

	var work, call, request trace.ReadOnlySpan
	for _, s := range b.spans.Ended() {
		switch s.Name() {
		case "payments disbursements":
			work = s
		case "the provider's API":
			call = s
		case "GET /v1/disbursements/{id}":
			request = s
		}
	}
	if work == nil || call == nil || request == nil {
		t.Fatalf("spans %v", b.spans.Ended())
	}
	if call.Parent().SpanID() != work.SpanContext().SpanID() {
		t.Error("the rail's span is no child of the work's")
	}
	is := attrs(work)
	if is["payments.id"] != sent.ID || is["payments.merchant"] != b.Caller.Merchant || is["payments.outcome"] != "no_answer" ||
		is["payments.attempt"] != "1" || is["error.type"] != "other" || is["payments.provider"] != "rail" || work.Status().Code != codes.Error {
		t.Errorf("the work's span has %v, %v", is, work.Status())
	}
	if is := attrs(request); is["payments.merchant"] != b.Caller.Merchant || !strings.HasPrefix(is["payments.request_id"], "req_") {
		t.Errorf("the request's span has %v", is)
	}

	// Neither the number nor the error that quotes it comes out.
	told := fmt.Sprint(values)
	for _, s := range b.spans.Ended() {
		told += fmt.Sprint(s.Name(), attrs(s), s.Events(), s.Status())
	}
	if strings.Contains(told, "47654321") || strings.Contains(told, "no answer about") {
		t.Errorf("too much is told: %s", told)
	}
}

// A store that does not answer fails the collection, and keeps nothing else from
// being told.
func TestHealthOfAClosedStore(t *testing.T) {
	store := memory.New()
	reader := metric.NewManualReader()
	o, err := otelpayments.New(otelpayments.Config{MeterProvider: metric.NewMeterProvider(metric.WithReader(reader))})
	if err != nil {
		t.Fatal(err)
	}
	svc, err := payments.New(t.Context(), store, payments.Config{})
	if err != nil {
		t.Fatal(err)
	}
	stop, err := o.WatchHealth(svc)
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	var all metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &all); err == nil {
		t.Error("the collection is well")
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	if err := reader.Collect(t.Context(), &all); err != nil {
		t.Errorf("when it was stopped: %v", err)
	}
}

// A host gets the commits of the library and of this module together. A requirement of v0.0.0, which
// stands above every commit and is no tag, would refuse the library's.
func TestHostGetsBothModules(t *testing.T) {
	file, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`(?m)^\s*github.com/seed-7082ffec/payments (v\S+)$`).FindSubmatch(file)
	if found == nil || string(found[1]) == "v0.0.0" {
		t.Errorf("go.mod requires the library as %q", found)
	}
}
