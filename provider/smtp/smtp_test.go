package smtp

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"mime/multipart"
	"net"
	"net/http/httptest"
	"net/mail"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-smtp"
	mailer "github.com/wneessen/go-mail"
	"go.uber.org/goleak"

	"github.com/seed-7082ffec/payments/internal/test/conformance"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/message"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// inbox is a real SMTP server that keeps what it gets.
type inbox struct {
	mu     sync.Mutex
	from   string
	to     []string
	data   []byte
	refuse *smtp.SMTPError
}

func (b *inbox) NewSession(*smtp.Conn) (smtp.Session, error) { return &session{b}, nil }

type session struct{ *inbox }

func (s *session) Reset()        {}
func (s *session) Logout() error { return nil }

func (s *session) Mail(from string, _ *smtp.MailOptions) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.from, s.to = from, nil
	return nil
}

func (s *session) Rcpt(to string, _ *smtp.RcptOptions) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refuse != nil {
		return s.refuse
	}
	s.to = append(s.to, to)
	return nil
}

func (s *session) Data(r io.Reader) error {
	data, err := io.ReadAll(r)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.data = data
	return err
}

func serve(t *testing.T) (*inbox, string) {
	t.Helper()
	listener := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	b := &inbox{}
	server := smtp.NewServer(b)
	server.Domain = "localhost"
	go func() {
		if err := server.Serve(listener); err != nil && !errors.Is(err, smtp.ErrServerClosed) {
			t.Error(err)
		}
	}()
	t.Cleanup(func() { _ = server.Close() })
	return b, listener.Addr().String()
}

// serveLines serves one connection line by line. It answers a line by its first word, and hangs up
// after a line without an answer. It sends on ended when the connection has ended. A certificate makes
// the connection begin with TLS.
func serveLines(t *testing.T, answers map[string]string, certificate ...tls.Certificate) (address string, ended <-chan struct{}) {
	t.Helper()
	listener := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	if len(certificate) > 0 {
		listener = tls.NewListener(listener, &tls.Config{Certificates: certificate})
	}
	t.Cleanup(func() { _ = listener.Close() })
	end := make(chan struct{}, 1)
	go func() {
		defer func() { end <- struct{}{} }()
		c, err := listener.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		_, _ = io.WriteString(c, "220 localhost\r\n")
		content := false
		for lines := bufio.NewScanner(c); lines.Scan(); {
			word, _, _ := strings.Cut(lines.Text(), " ")
			if content && word != "." {
				continue
			}
			content = word == "DATA"
			answer, ok := answers[word]
			if !ok {
				return
			}
			_, _ = io.WriteString(c, answer+"\r\n")
		}
	}()
	return listener.Addr().String(), end
}

// An e-mail that the server took is sent, though the server hangs up right after it. Else the library
// would send it again.
func TestTakenEmailIsSent(t *testing.T) {
	answers := map[string]string{
		"EHLO": "250 localhost", "NOOP": "250 ok", "MAIL": "250 ok", "RCPT": "250 ok", "DATA": "354 go on", ".": "250 taken", "RSET": "250 ok", "QUIT": "221 bye",
	}
	for _, end := range []string{"RSET", "QUIT", "."} {
		kept := maps.Clone(answers)
		delete(kept, end)
		address, ended := serveLines(t, kept)
		m := must.Get(New(Config{Server: address, From: "invoices@example.com", Insecure: true}))(t)
		err := m.SendEmail(t.Context(), message.Email{To: "ama@example.com", Text: "x"})
		expect.Equal(t, err == nil, end != ".", "the server hangs up at %s: %v", end, err)
		<-ended
	}
}

// On port 465 the connection begins with TLS, and a password goes over it.
func TestImplicitTLS(t *testing.T) {
	web := httptest.NewTLSServer(nil)
	defer web.Close()
	trusted := x509.NewCertPool()
	trusted.AddCert(web.Certificate())
	password := base64.StdEncoding.EncodeToString([]byte("\x00volta\x00very-secret"))
	for name, auth := range map[string]string{"a login": "235 ok", "a refused login": "535 no"} {
		answers := map[string]string{
			"EHLO": "250-localhost\r\n250 AUTH PLAIN", "AUTH": auth, "NOOP": "250 ok", "MAIL": "250 ok", "RCPT": "250 ok", "DATA": "354 go on",
			".": "250 taken", "RSET": "250 ok", "QUIT": "221 bye",
		}
		address, ended := serveLines(t, answers, web.TLS.Certificates...)
		_, port, _ := net.SplitHostPort(address)
		m := must.Get(New(Config{Server: "127.0.0.1:465", From: "invoices@example.com", Username: "volta", Password: "very-secret"}))(t)
		m.options = append(m.options, mailer.WithPort(must.Get(strconv.Atoi(port))(t)))
		unknown := m.SendEmail(t.Context(), message.Email{To: "ama@example.com", Text: "x"})
		expect.True(t, strings.Contains(fmt.Sprint(unknown), "certificate"), "%s with a certificate of an unknown authority: %v", name, unknown)
		<-ended
		address, ended = serveLines(t, answers, web.TLS.Certificates...)
		m.dial = func(ctx context.Context, network, _ string) (net.Conn, error) {
			return (&tls.Dialer{Config: &tls.Config{RootCAs: trusted}}).DialContext(ctx, network, address)
		}
		err := m.SendEmail(t.Context(), message.Email{To: "ama@example.com", Text: "x"})
		expect.Equal(t, err == nil, name == "a login", "%s: %v", name, err)
		expect.True(t, !strings.Contains(fmt.Sprint(err), "very-secret"), "the error tells the password: %v", err)
		expect.True(t, !strings.Contains(fmt.Sprint(err), password), "the error tells the password as it was sent: %v", err)
		<-ended
	}
}

// A send that fails leaves no connection open.
func TestFailedSendHangsUp(t *testing.T) {
	answers := map[string]string{"EHLO": "250 localhost", "NOOP": "250 ok", "MAIL": "451 later", "RSET": "250 ok", "QUIT": "500 no"}
	for name, c := range map[string]Config{
		"no STARTTLS":    {},
		"no login":       {Insecure: true, Username: "volta", Password: "very-secret"},
		"a refused QUIT": {Insecure: true},
	} {
		address, ended := serveLines(t, answers)
		c.Server, c.From = address, "invoices@example.com"
		m := must.Get(New(c))(t)
		err := m.SendEmail(t.Context(), message.Email{To: "ama@example.com", Text: "x"})
		expect.True(t, err != nil, "%s: it is sent", name)
		select {
		case <-ended:
		case <-time.After(5 * time.Second):
			t.Errorf("%s: the connection stays open", name)
		}
	}
}

// parts returns the bodies of an e-mail by their media types, however nested.
func parts(t *testing.T, header mail.Header, body io.Reader, into map[string]string) {
	t.Helper()
	kind, params, err := mime.ParseMediaType(header.Get("Content-Type"))
	must.Do(t, err)
	if !strings.HasPrefix(kind, "multipart/") {
		data := must.Get(io.ReadAll(body))(t)
		into[kind] = header.Get("Content-Disposition") + "\n" + string(data)
		return
	}
	r := multipart.NewReader(body, params["boundary"])
	for {
		p, err := r.NextPart()
		if errors.Is(err, io.EOF) {
			return
		}
		must.Do(t, err)
		parts(t, mail.Header(p.Header), p, into)
	}
}

func TestSend(t *testing.T) {
	box, address := serve(t)
	m := must.Get(New(Config{Server: address, From: "invoices@example.com", Insecure: true}))(t)
	must.Do(t, m.SendEmail(t.Context(), message.Email{
		ID: "msg_1", To: "ama@example.com", FromName: "Adom\r\nBcc: eve@example.com", Subject: "Invoice ₵\r\nX-Evil: 1",
		Text: "Please pay ₵ 5.", HTML: "<p>Please pay</p>",
		Attachments: []message.Attachment{{Name: "INV-2026-000001.pdf", Type: "application/pdf", Data: []byte("%PDF-1.7")}},
	}))
	box.mu.Lock()
	defer box.mu.Unlock()
	expect.Equal(t, box.from, "invoices@example.com", "from")
	expect.True(t, strings.Join(box.to, ",") == "ama@example.com", "from %s to %v", box.from, box.to)
	got := must.Get(mail.ReadMessage(bytes.NewReader(box.data)))(t)
	for _, name := range []string{"Bcc", "X-Evil"} {
		expect.Equal(t, got.Header.Get(name), "", "%s was injected", name)
	}
	subject, err := new(mime.WordDecoder).DecodeHeader(got.Header.Get("Subject"))
	if err != nil || subject != "Invoice ₵ X-Evil: 1" || got.Header.Get("Message-ID") != "<msg_1@example.com>" {
		t.Errorf("subject %q, id %s, %v", subject, got.Header.Get("Message-ID"), err)
	}
	found := map[string]string{}
	parts(t, got.Header, got.Body, found)
	if len(found) != 3 || !strings.Contains(found["application/pdf"], "INV-2026-000001.pdf") || found["text/html"] == "" || found["text/plain"] == "" {
		t.Errorf("parts %v", found)
	}
}

// Any name of a merchant stands beside the sender's address, which may come with a name of its own.
func TestSenderNames(t *testing.T) {
	box, address := serve(t)
	for _, from := range []string{"invoices@example.com", "Volta <invoices@example.com>"} {
		m := must.Get(New(Config{Server: address, From: from, Insecure: true}))(t)
		for _, name := range []string{"", "Adom Juice Bar", `Auntie "Efua" & Sons`, `Back\slash\`, "Ɛnyonam, Ltd. <shop@example.org>"} {
			must.Do(t, m.SendEmail(t.Context(), message.Email{ID: "msg_1", To: "ama@example.com", FromName: name, Text: "x"}))
			got := must.Get(mail.ReadMessage(bytes.NewReader(box.data)))(t)
			sender := must.Get(mail.ParseAddress(got.Header.Get("From")))(t)
			expect.Same(t, *sender, mail.Address{Name: name, Address: "invoices@example.com"}, "from %s", from)
			expect.Equal(t, box.from+" "+got.Header.Get("Message-ID"), "invoices@example.com <msg_1@example.com>", "envelope and id from %s", from)
		}
	}
}

// No print of the configuration or the mailer shows the password.
func TestPasswordIsNotPrinted(t *testing.T) {
	c := Config{Server: "localhost:587", From: "invoices@example.com", Username: "volta", Password: "very-secret"}
	m := must.Get(New(c))(t)
	conformance.HidesSecrets(t, []string{c.Password}, c, m)
	expect.True(t, strings.Contains(fmt.Sprint(c), c.Server), "%v", c)
}

func TestSendFails(t *testing.T) {
	box, address := serve(t)
	open := must.Get(New(Config{Server: address, From: "invoices@example.com", Insecure: true}))(t)
	for refusal, never := range map[*smtp.SMTPError]bool{
		{Code: 550, EnhancedCode: smtp.EnhancedCode{5, 1, 1}, Message: "no such mailbox"}:       true,
		{Code: 550, EnhancedCode: smtp.EnhancedCode{5, 1, 2}, Message: "no such domain"}:        true,
		{Code: 553, EnhancedCode: smtp.EnhancedCode{5, 1, 3}, Message: "no address"}:            true,
		{Code: 550, EnhancedCode: smtp.EnhancedCode{5, 1, 6}, Message: "moved"}:                 true,
		{Code: 556, EnhancedCode: smtp.EnhancedCode{5, 1, 10}, Message: "no mail"}:              true,
		{Code: 553, EnhancedCode: smtp.EnhancedCode{5, 1, 7}, Message: "the sender's address"}:  false,
		{Code: 550, EnhancedCode: smtp.EnhancedCode{5, 1, 8}, Message: "the sender's domain"}:   false,
		{Code: 550, EnhancedCode: smtp.EnhancedCode{5, 7, 1}, Message: "relaying denied"}:       false,
		{Code: 450, EnhancedCode: smtp.EnhancedCode{4, 1, 1}, Message: "the mailbox is locked"}: false,
		{Code: 550, EnhancedCode: smtp.NoEnhancedCode, Message: "no"}:                           false,
	} {
		box.refuse = refusal
		err := open.SendEmail(t.Context(), message.Email{To: "ama@example.com", Text: "x"})
		expect.True(t, err != nil, "%v: %v", refusal, err)
		expect.Equal(t, errors.Is(err, message.ErrUndeliverable), never, "%v: is", refusal)
		expect.True(t, !strings.Contains(err.Error(), "ama@"), "the error tells too much: %v", err)
		expect.True(t, !strings.Contains(err.Error(), refusal.Message), "the error tells too much: %v", err)
		expect.True(t, never || strings.Contains(err.Error(), fmt.Sprint(refusal.Code)), "%v: the error has no code: %v", refusal, err)
	}
	box.refuse = nil
	err := open.SendEmail(t.Context(), message.Email{To: "ama@example.com\r\nRCPT TO:<eve@example.com>", Text: "x"})
	expect.ErrorIs(t, err, message.ErrUndeliverable, "an address with a line break")
	secure := must.Get(New(Config{Server: address, From: "invoices@example.com"}))(t)
	expect.True(t, secure.SendEmail(t.Context(), message.Email{To: "ama@example.com", Text: "x"}) != nil, "sent without TLS")
	for _, c := range []Config{
		{Server: "localhost", From: "a@example.com"},
		{Server: ":25", From: "a@example.com"},
		{Server: "localhost:x", From: "a@example.com"},
		{Server: "localhost:25", From: "nobody"},
	} {
		if _, err := New(c); err == nil {
			t.Errorf("%+v is taken", c)
		}
	}
}
