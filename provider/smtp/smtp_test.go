package smtp

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net"
	"net/mail"
	"strings"
	"sync"
	"testing"

	"github.com/emersion/go-smtp"
	"go.uber.org/goleak"

	"github.com/seed-7082ffec/payments/internal/conformance"
	"github.com/seed-7082ffec/payments/internal/expect"
	"github.com/seed-7082ffec/payments/internal/must"
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
	expect.True(t, box.from == "invoices@example.com" && strings.Join(box.to, ",") == "ama@example.com", "from %s to %v", box.from, box.to)
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
		expect.True(t, err != nil && errors.Is(err, message.ErrUndeliverable) == never, "%v: %v", refusal, err)
		expect.True(t, !strings.Contains(err.Error(), "ama@") && !strings.Contains(err.Error(), refusal.Message), "the error tells too much: %v", err)
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
