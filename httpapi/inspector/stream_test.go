package inspector_test

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/seed-7082ffec/payments/httpapi/inspector"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/qrcode"
)

// streamed is one event: its id and its data.
type streamed struct{ id, data string }

// read reads the next event.
func read(t *testing.T, lines *bufio.Reader) (streamed, error) {
	t.Helper()
	var e streamed
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return e, err
		}
		line = strings.TrimSuffix(line, "\n")
		switch name, value, _ := strings.Cut(line, ": "); {
		case line == "" && e.id != "":
			return e, nil
		case name == "id":
			e.id = value
		case name == "data":
			e.data += value + "\n"
		case name == "retry", line == "":
		default:
			t.Fatalf("line %q", line)
		}
	}
}

// readUntil reads events until one has the text. A page is built from several reads,
// so that what changes meanwhile may take two versions to be seen in full.
func readUntil(t *testing.T, lines *bufio.Reader, text string) streamed {
	t.Helper()
	last := ""
	for {
		e, err := read(t, lines)
		if err != nil {
			t.Fatalf("waiting for %q: %v", text, err)
		}
		must.True(t, e.id != last, "version %s comes twice", last)
		if last = e.id; strings.Contains(e.data, text) {
			return e
		}
	}
}

func readToEnd(t *testing.T, lines *bufio.Reader) error {
	t.Helper()
	for {
		if _, err := read(t, lines); err != nil {
			return err
		}
	}
}

// A merchant has 16 live updates at a time, and the pages themselves without end.
func TestStreamsAreBounded(t *testing.T) {
	s := open(t, inspector.Config{})
	look := inspector.New(s.Service, inspector.Config{})
	defer look.Close()
	server := httptest.NewServer(look)
	defer server.Close()
	get := func(accept string) *http.Response {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/"+s.Caller.Merchant+"/", nil)
		s.check(err)
		r.Header.Set("Accept", accept)
		answer, err := http.DefaultClient.Do(r)
		s.check(err)
		t.Cleanup(func() { answer.Body.Close() })
		return answer
	}
	const stream = "text/event-stream"
	var open []*http.Response
	for i := range 16 {
		open = append(open, get(stream))
		if open[i].StatusCode != http.StatusOK {
			t.Fatalf("number %d: %s", i+1, open[i].Status)
		}
	}
	if answer := get(stream); answer.StatusCode != http.StatusTooManyRequests {
		t.Errorf("number 17: %s", answer.Status)
	}
	if answer := get("text/html"); answer.StatusCode != http.StatusOK {
		t.Errorf("the page: %s", answer.Status)
	}
	look.Close() // which ends all
	for _, answer := range open {
		_, err := io.Copy(io.Discard, answer.Body)
		s.check(err)
	}
	if answer := get(stream); answer.StatusCode != http.StatusOK {
		t.Errorf("after the others have ended: %s", answer.Status)
	}
}

// A page that takes too long is answered all the same.
func TestPagesEndInTime(t *testing.T) {
	s := open(t, inspector.Config{})
	defer inspector.PageTime(0)()
	w := httptest.NewRecorder()
	inspector.New(s.Service, inspector.Config{}).ServeHTTP(w, httptest.NewRequest("GET", "http://localhost/"+s.Caller.Merchant+"/", nil))
	expect.Equal(t, w.Code, http.StatusServiceUnavailable, "status")
	expect.True(t, strings.Contains(w.Body.String(), "took too long"), "status %d: %s", w.Code, w.Body)
}

func TestStream(t *testing.T) {
	s := open(t, inspector.Config{})
	look := inspector.New(s.Service, inspector.Config{})
	look.LookEvery(time.Millisecond)
	server := httptest.NewUnstartedServer(look)
	server.Config.WriteTimeout = 50 * time.Millisecond // which is for requests that end
	server.Start()
	defer server.Close()
	follow := func(path, last string) (*http.Response, *bufio.Reader) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/"+s.Caller.Merchant+"/"+path, nil)
		s.check(err)
		r.Header.Set("Accept", "text/event-stream")
		if last != "" {
			r.Header.Set("Last-Event-ID", last)
		}
		answer, err := http.DefaultClient.Do(r)
		s.check(err)
		t.Cleanup(func() { answer.Body.Close() })
		return answer, bufio.NewReader(answer.Body)
	}

	code, err := s.QRCodes.Create(t.Context(), s.Caller, qrcode.CreateParams{Name: "Till 1", Description: "two\r\nlines\rand three"})
	s.check(err)
	answer, lines := follow("qr-codes/"+code.ID, "")
	if kind := answer.Header.Get("Content-Type"); kind != "text/event-stream" {
		t.Fatalf("content type %q", kind)
	}
	first, err := read(t, lines)
	s.check(err)
	expect.True(t, strings.Contains(first.data, "No payments yet"), "at first:\n%s", first.data)
	expect.True(t, strings.Contains(first.data, "two<br>lines<br>and three"), "at first:\n%s", first.data)
	if page := s.page("qr-codes/" + code.ID); !strings.Contains(page, `data-version="`+first.id+`"`) {
		t.Error("the page is of another version than the stream")
	}
	for range 3 {
		paid := s.Pay(code.ID, 1250)
		next := readUntil(t, lines, paid.ID)
		expect.True(t, next.id != first.id, "after a payment:\n%s", next.data)
		expect.True(t, !strings.Contains(next.data, "<nav"), "after a payment:\n%s", next.data)
		first = next
	}
	if !strings.Contains(first.data, "used 3") { // uses
		first = readUntil(t, lines, "used 3")
	}

	// Who has the newest version is told of the next one only.
	_, again := follow("qr-codes/"+code.ID, first.id)
	_, err = s.QRCodes.Update(t.Context(), s.Caller, code.ID, qrcode.UpdateParams{Active: new(false)})
	s.check(err)
	for _, stream := range []*bufio.Reader{lines, again} {
		readUntil(t, stream, "Switch on")
	}

	// A page that is gone ends its stream, Close ends all, and the pages go on.
	_, err = s.QRCodes.Delete(t.Context(), s.Caller, code.ID)
	s.check(err)
	expect.Equal(t, readToEnd(t, lines), io.EOF, "the stream of what was deleted")
	if answer, _ := follow("qr-codes/"+code.ID, ""); answer.StatusCode != http.StatusNotFound {
		t.Errorf("followed again: %s", answer.Status)
	}
	_, overview := follow("", "")
	_, err = read(t, overview)
	s.check(err)
	look.Close()
	look.Close()
	expect.Equal(t, readToEnd(t, overview), io.EOF, "after Close")
	s.page("")
}

// A request that may no longer see its merchant gets no further update.
func TestStreamEndsWithItsPermission(t *testing.T) {
	s, asked := open(t, inspector.Config{}), 0
	look := inspector.New(s.Service, inspector.Config{Allow: func(*http.Request, string) bool {
		asked++
		return asked <= 3
	}})
	look.LookEvery(time.Millisecond)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	r := httptest.NewRequestWithContext(ctx, http.MethodGet, "http://localhost/"+s.Caller.Merchant+"/", nil)
	r.Header.Set("Accept", "text/event-stream")
	look.ServeHTTP(httptest.NewRecorder(), r)
	must.Do(t, ctx.Err())
}
