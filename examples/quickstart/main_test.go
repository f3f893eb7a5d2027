package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/storage/postgres/pgtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// begin runs the example until ctx ends. It returns what is printed, and how the run ended.
func begin(ctx context.Context, o options) (printed io.Reader, ended <-chan error) {
	read, write := io.Pipe()
	end := make(chan error, 1)
	go func() {
		err := run(ctx, o, write)
		write.CloseWithError(io.EOF)
		end <- err
	}()
	return read, end
}

// start runs the quickstart until stop is called, and returns its first line.
func start(t *testing.T, o options) (first string, stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	printed, ended := begin(ctx, o)
	lines := bufio.NewReader(printed)
	first, err := lines.ReadString('\n')
	if err != nil {
		t.Fatalf("no first line: %v, %v", err, <-ended)
	}
	rest := make(chan string, 1)
	go func() {
		text, _ := io.ReadAll(lines)
		rest <- string(text)
	}()
	return first, func() {
		t.Helper()
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("it stopped with %v", err)
		}
		if text := <-rest; o.json && text != "" {
			t.Errorf("with -json it prints more than a line: %q", text)
		}
	}
}

func status(t *testing.T, address, key string) int {
	t.Helper()
	r := must.Get(http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil))(t)
	r.Header.Set("Authorization", "Bearer "+key)
	response := must.Get(http.DefaultClient.Do(r))(t)
	defer response.Body.Close()
	return response.StatusCode
}

// A second start on the same file finds the merchant, and the keys of the first
// one work on.
func TestTwoStarts(t *testing.T) {
	o := options{addr: "127.0.0.1:0", db: filepath.Join(t.TempDir(), "payments.db"), json: true}
	var first, second keys
	for _, k := range []*keys{&first, &second} {
		line, stop := start(t, o)
		d := json.NewDecoder(strings.NewReader(line))
		d.DisallowUnknownFields()
		if err := d.Decode(k); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		for name, key := range map[string]string{"test": first.TestKey, "live": first.LiveKey, "new test": k.TestKey, "new live": k.LiveKey} {
			expect.Equal(t, status(t, k.BaseURL+"/v1/balance", key), 200, "%s key", name)
		}
		stop()
	}
	expect.Equal(t, first.MerchantID, second.MerchantID, "first: merchant ID")
	expect.True(t, first.TestKey != second.TestKey, "first %+v, second %+v", first, second)
	expect.True(t, strings.HasPrefix(first.TestKey, "sk_test_"), "keys %+v", first)
	expect.True(t, strings.HasPrefix(first.LiveKey, "sk_live_"), "keys %+v", first)
}

// Two processes on one PostgreSQL serve the same merchant.
func TestTwoProcesses(t *testing.T) {
	url, schema := pgtest.URL(t), pgtest.Schema(t)
	separator := "?"
	if strings.Contains(url, "?") {
		separator = "&"
	}
	o := options{addr: "127.0.0.1:0", db: url + separator + "search_path=" + schema, json: true}
	var both [2]keys
	for i := range both {
		line, stop := start(t, o)
		defer stop()
		if err := json.Unmarshal([]byte(line), &both[i]); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
	}
	if both[0].MerchantID != both[1].MerchantID {
		t.Errorf("merchants %s and %s", both[0].MerchantID, both[1].MerchantID)
	}
	for _, at := range both {
		for _, of := range both {
			expect.Equal(t, status(t, at.BaseURL+"/v1/balance", of.TestKey), 200, "%s with a key of %s", at.BaseURL, of.BaseURL)
		}
	}
}

func TestWelcome(t *testing.T) {
	line, stop := start(t, options{addr: "127.0.0.1:0", db: ":memory:", baseURL: "https://pay.example.com"})
	expect.True(t, line == "Serving https://pay.example.com\n", "first line %q", line)
	stop()

	var out bytes.Buffer
	s := &shop{keys: keys{BaseURL: "http://x", MerchantID: "mer_1", TestKey: "sk_test_1", LiveKey: "sk_live_1"}}
	must.Do(t, welcome(&out, s))
	for _, want := range []string{"export KEY=sk_test_1", "curl -s http://x/v1/payments -H", "curl -s http://x/v1/qr_codes", "mer_1", "http://x/inspector/"} {
		expect.True(t, strings.Contains(out.String(), want), "%q is missing in\n%s", want, out.String())
	}
}

// Each address that is printed for a person leads to a page.
func TestPrintedAddresses(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	printed, ended := begin(ctx, options{addr: "127.0.0.1:0", db: ":memory:"})
	n, lines := 0, bufio.NewScanner(printed)
	for lines.Scan() && lines.Text() != "Ctrl-C stops." {
		if strings.Contains(lines.Text(), "curl") {
			continue
		}
		for _, address := range regexp.MustCompile(`http://127\.0\.0\.1:\d+[^\s"]*`).FindAllString(lines.Text(), -1) {
			if strings.Contains(address, ":9000/") {
				continue // a server of the reader's
			}
			n++
			expect.Equal(t, status(t, address, ""), 200, "%s", address)
		}
	}
	expect.True(t, n >= 4, "%d addresses were printed", n)
	http.DefaultClient.CloseIdleConnections()
	cancel()
	expect.NoError(t, <-ended, "the end")
}

// A server that listens on all addresses prints one that a browser can open.
func TestAllAddresses(t *testing.T) {
	line, stop := start(t, options{addr: ":0", db: ":memory:", json: true})
	defer stop()
	var k keys
	must.Do(t, json.Unmarshal([]byte(line), &k))
	expect.True(t, strings.HasPrefix(k.BaseURL, "http://127.0.0.1:"), "the base is %s", k.BaseURL)
	expect.Equal(t, status(t, k.BaseURL+"/v1/balance", k.TestKey), 200, "%s", k.BaseURL)
}

// A page of the inspector that is open does not keep the server from stopping.
func TestStopWithAnOpenPage(t *testing.T) {
	line, stop := start(t, options{addr: "127.0.0.1:0", db: ":memory:", json: true})
	var k keys
	must.Do(t, json.Unmarshal([]byte(line), &k))
	r := must.Get(http.NewRequestWithContext(t.Context(), http.MethodGet, k.BaseURL+"/inspector/"+k.MerchantID+"/", nil))(t)
	r.Header.Set("Accept", "text/event-stream")
	response := must.Get(http.DefaultClient.Do(r))(t)
	defer response.Body.Close()
	open := bufio.NewReader(response.Body)
	for line := ""; !strings.HasPrefix(line, "id: "); {
		line = must.Get(open.ReadString('\n'))(t)
	}
	stop()
	if _, err := io.ReadAll(open); err != nil {
		t.Errorf("the page was cut off: %v", err)
	}
}

// Paths reach the API as they came.
func TestPathsBesideTheInspector(t *testing.T) {
	line, stop := start(t, options{addr: "127.0.0.1:0", db: ":memory:", json: true})
	defer stop()
	var k keys
	must.Do(t, json.Unmarshal([]byte(line), &k))
	for path, want := range map[string]int{"//v1/balance": 404, "/v1//balance": 404, "/v1/balance": 200, "/inspectors": 404, "/inspector": 200, "/docs": 200, "/docs/openapi.json": 200, "/docsx": 404, "/inspector/none/": 404} {
		expect.Equal(t, status(t, k.BaseURL+path, k.TestKey), want, "%s", path)
	}
}

func TestWrongOptions(t *testing.T) {
	for name, o := range map[string]options{
		"a database elsewhere": {addr: "127.0.0.1:0", db: "mysql://x"},
		"an address of nobody": {addr: "256.0.0.1:1", db: ":memory:"},
		"a base that is none":  {addr: "127.0.0.1:0", db: ":memory:", baseURL: "pay"},
	} {
		if err := run(t.Context(), o, io.Discard); err == nil {
			t.Errorf("%s: it runs", name)
		}
	}
}
