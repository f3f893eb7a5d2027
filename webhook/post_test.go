package webhook_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/event"
	"github.com/seed-7082ffec/payments/internal/test/conformance"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/storage/memory"
	"github.com/seed-7082ffec/payments/webhook"
)

// An answer that drips, and one that never begins, cost the bound on time and no
// more.
func TestSlowAnswersTimeOut(t *testing.T) {
	const ok = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n"
	for name, answer := range map[string]struct {
		begins string
		status int
		reason string
	}{
		"body":   {ok, 200, ""},
		"header": {"HTTP/1.1 200 OK\r\nX-Drip: ", 0, "no answer within 15 seconds"},
		"none":   {"", 0, "no answer within 15 seconds"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCourier(t, memory.New(), nil)
				c.dial(func(context.Context, string, string) (net.Conn, error) {
					near, far := net.Pipe()
					go drip(far, answer.begins)
					return near, nil
				})
				const limit = 15 * time.Second
				begun := time.Now() // the bubble's clock
				o := c.attempt("http://receiver.test/")
				took := time.Since(begun)
				expect.Equal(t, took, limit, "took")
				expect.Equal(t, o.Duration, limit.Milliseconds(), "duration")
				c.Transport(false).CloseIdleConnections()
				time.Sleep(2 * time.Second) // until the last drop
				expect.Equal(t, o.StatusCode, answer.status, "status")
				expect.Equal(t, o.Error, answer.reason, "error")
				expect.True(t, len(o.Response) <= 30, "kept %q", o.Response)
				expect.True(t, answer.status != 200 || o.Response != "", "kept %q", o.Response)
			})
		})
	}
}

// drip reads a request and answers a byte in a second, if it begins to answer, until the
// sender hangs up.
func drip(c net.Conn, begins string) {
	defer c.Close()
	if _, err := c.Read(make([]byte, 1)); err != nil { // an answer that comes before its request is none
		return
	}
	if begins != "" {
		go func() {
			_, _ = c.Write([]byte(begins))
			for {
				if _, err := c.Write([]byte(".")); err != nil {
					return
				}
				time.Sleep(time.Second)
			}
		}()
	}
	_, _ = io.Copy(io.Discard, c)
}

// An attempt refuses a name that was public when the endpoint was saved, but leads to an
// internal address now. It connects to nothing.
func TestReboundNameIsRefused(t *testing.T) {
	inside := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer inside.Close()
	var knocks atomic.Int64
	go func() {
		for {
			c, err := inside.Accept()
			if err != nil {
				return
			}
			knocks.Add(1)
			_ = c.Close()
		}
	}()
	_, port, _ := net.SplitHostPort(inside.Addr().String())
	for _, to := range []string{"127.0.0.1", "10.0.0.1", "169.254.169.254", "100.64.0.1", "0.0.0.0", "192.168.1.1"} {
		useNameServer(t, to)
		c := newCourier(t, memory.New(), nil)
		c.caller.Live = true
		o := c.attempt("https://receiver.example:" + port + "/hook")
		expect.Equal(t, o.StatusCode, 0, "%s: status", to)
		expect.True(t, strings.Contains(o.Error, "not public"), "%s: got %d %q", to, o.StatusCode, o.Error)
	}
	n := knocks.Load()
	expect.True(t, n <= 0, "%d connections were made inside", n)
}

// An attempt over a connection that the network has forgotten fails, and the next one connects anew.
func TestSilentConnectionIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCourier(t, memory.New(), nil)
		c.caller.Live = true
		transport := c.Transport(true)
		defer transport.CloseIdleConnections()
		silence := conformance.SilentHTTP2(t, transport)
		e := c.endpoint("https://example.com/")
		post := func() int { return must.Get(c.Ping(t.Context(), c.caller, e.ID))(t).Attempts[0].StatusCode }
		expect.Equal(t, post(), 200, "the first attempt")
		silence()
		expect.Equal(t, post(), 0, "an attempt that was lost")
		time.Sleep(5 * time.Second) // as a delivery waits
		expect.Equal(t, post(), 200, "the next attempt")
	})
}

// Test mode reaches each range that the host has opened, not only the last.
func TestEachAllowedRangeIsOpen(t *testing.T) {
	near := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	server := &http.Server{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}), ReadHeaderTimeout: time.Second}
	go func() { _ = server.Serve(near) }()
	defer server.Close()
	allow := []netip.Prefix{
		netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128"), netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8"),
	}
	for range allow {
		c := newCourier(t, memory.New(), allow)
		o := c.attempt("http://" + near.Addr().String() + "/")
		expect.Equal(t, o.StatusCode, 200, "with %v: %q", allow, o.Error)
		c.Transport(false).CloseIdleConnections()
		allow = append(allow[1:], allow[0])
	}
	for _, inside := range []string{"169.254.169.254", "192.168.1.1", "172.16.0.1"} {
		o := newCourier(t, memory.New(), allow).attempt("http://" + inside + "/")
		expect.True(t, strings.Contains(o.Error, "not public"), "%s: %d %q", inside, o.StatusCode, o.Error)
	}
}

// useNameServer gives every name one IPv4 address, for the rest of the test.
func useNameServer(t *testing.T, ip string) {
	t.Helper()
	own := net.DefaultResolver
	t.Cleanup(func() { net.DefaultResolver = own })
	server := must.Get(net.ListenPacket("udp", "127.0.0.1:0"))(t)
	t.Cleanup(func() { _ = server.Close() })
	to := [4]byte(net.ParseIP(ip).To4())
	go func() {
		packet := make([]byte, 1500)
		for {
			n, from, err := server.ReadFrom(packet)
			if err != nil {
				return
			}
			var m dnsmessage.Message
			if m.Unpack(packet[:n]) != nil || len(m.Questions) != 1 {
				continue
			}
			m.Response, m.Additionals = true, nil
			if q := m.Questions[0]; q.Type == dnsmessage.TypeA {
				m.Answers = []dnsmessage.Resource{{
					Header: dnsmessage.ResourceHeader{Name: q.Name, Class: q.Class},
					Body:   &dnsmessage.AResource{A: to},
				}}
			}
			if answer, err := m.Pack(); err == nil {
				_, _ = server.WriteTo(answer, from)
			}
		}
	}()
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", server.LocalAddr().String())
	}}
}

func TestUnsafeURLsAreRefused(t *testing.T) {
	const maxURL = 2048
	c := newCourier(t, memory.New(), nil)
	// check makes an endpoint, and returns why it cannot be.
	check := func(url string, live bool) error {
		caller := c.caller
		caller.Live = live
		e, err := c.Create(t.Context(), caller, webhook.CreateParams{URL: url, Events: []event.Type{"*"}})
		if err == nil {
			must.Get(c.Delete(t.Context(), caller, e.ID))(t)
		}
		return err
	}
	for url, modes := range map[string]string{ // in which modes it is taken
		"https://example.com/hooks":                          "live test",
		"https://example.com:8443/h?a=b":                     "live test",
		"https://93.184.216.34/h":                            "live test",
		"https://[2606:2800:220:1::1]/h":                     "live test",
		"http://example.com/h":                               "test",
		"http://127.0.0.1:8080/h":                            "test",
		"http://localhost/h":                                 "test",
		"https://localhost/h":                                "test",
		"https://LOCALHOST./h":                               "test",
		"https://a.localhost/h":                              "test",
		"https://127.0.0.1/h":                                "test",
		"https://127.1/h":                                    "test",
		"https://0x7f.1/h":                                   "test",
		"https://0177.0.0.1/h":                               "test",
		"https://2130706433/h":                               "test",
		"https://0x7f000001/h":                               "test",
		"https://10.0.0.1/h":                                 "test",
		"https://192.168.1.1/h":                              "test",
		"https://169.254.169.254/h":                          "test",
		"https://100.64.0.1/h":                               "test",
		"https://0.0.0.0/h":                                  "test",
		"https://[::1]/h":                                    "test",
		"https://[::]/h":                                     "test",
		"https://[::ffff:127.0.0.1]/h":                       "test",
		"https://[::ffff:7f00:1]/h":                          "test",
		"https://[64:ff9b::7f00:1]/h":                        "test",
		"https://[2002:7f00:1::]/h":                          "test",
		"https://[fc00::1]/h":                                "test",
		"https://[fe80::1%25eth0]/h":                         "test",
		"https://intranet/h":                                 "test",
		"https://1.2.3.4.5/h":                                "test",
		"https://metadata.google.internal/h":                 "test",
		"https://user@example.com/h":                         "",
		"https://user:pw@example.com/h":                      "",
		"https://example.com/h#frag":                         "",
		"https://example.com/h#":                             "",
		"ftp://example.com/h":                                "",
		"javascript:alert(1)":                                "",
		"//example.com/h":                                    "",
		"https:///h":                                         "",
		"https://example.com:0/h":                            "",
		"https://example.com:99999/h":                        "",
		"https://exa mple.com/h":                             "",
		"https://example.com\\@evil/h":                       "",
		"example.com":                                        "",
		"https://example.com/" + strings.Repeat("x", maxURL): "",
	} {
		for _, mode := range []string{"live", "test"} {
			err := check(url, mode == "live")
			taken := strings.Contains(modes, mode)
			expect.True(t, (err == nil) == taken, "%s in %s mode: %v", url[:min(len(url), 60)], mode, err)
			expect.True(t, err == nil || api.CodeOf(err) == api.WebhookURLInvalid, "%s in %s mode: %v", url[:min(len(url), 60)], mode, err)
		}
	}
	for _, host := range []string{
		"127.0.1", "017700000001", "127.0.0.1.", "localhost.", "0", "[0:0:0:0:0:0:0:1]", "[::127.0.0.1]", "172.16.0.1", "0xa9fea9fe", "[::ffff:a9fe:a9fe]", "printer.local",
		"224.0.0.1", "255.255.255.255", "198.18.0.1", "192.0.2.1", "１２７.0.0.1", "127。0。0。1", "127.0.0.1:22", "user@127.0.0.1", "example.com@127.0.0.1", "127.0.0.1\\@example.com",
		"%31%32%37.0.0.1", "127.0.0.1%2eexample.com", "[::1", " 127.0.0.1", "example.com#@127.0.0.1",
	} {
		expect.Equal(t, api.CodeOf(check("https://"+host+"/h", true)), api.WebhookURLInvalid, "%s in live mode", host)
	}
	for _, scheme := range []string{"file", "gopher", "data", "unix", "HTTPS+x"} {
		expect.Equal(t, api.CodeOf(check(scheme+"://example.com/h", false)), api.WebhookURLInvalid, "%s", scheme)
	}
}
