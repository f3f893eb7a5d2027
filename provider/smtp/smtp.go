// Package smtp is a Mailer that hands e-mails to an SMTP server.
//
// It owns the connection and the form of the e-mail. Package message queues and retries e-mails.
// The packages that queue them write the text.
package smtp

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	netmail "net/mail"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/wneessen/go-mail"

	"github.com/seed-7082ffec/payments/message"
)

// Config names the server, the login and the sender's address.
type Config struct {
	// Server is host:port. Port 465 begins with TLS; any other upgrades with
	// STARTTLS, and fails where the server has none, unless Insecure is set.
	Server string
	// From is the address that e-mails come from, such as "invoices@example.com". The name beside
	// it is the merchant's.
	From string
	// Username and Password log in. Without a username the client does not log in.
	Username string
	Password string `json:"-"`
	// Insecure allows a connection without TLS: for a server on the same machine.
	Insecure bool
}

// Format implements [fmt.Formatter], so that no print shows the password.
func (c Config) Format(w fmt.State, _ rune) {
	_, _ = fmt.Fprintf(w, "smtp.Config{Server: %q, From: %q, Username: %q, Insecure: %t}", c.Server, c.From, c.Username, c.Insecure)
}

// Mailer sends e-mails, each over a connection of its own. It is safe for
// concurrent use.
type Mailer struct {
	from    string
	host    string
	options []mail.Option // functions, which print as addresses
	dial    mail.DialContextFunc
}

// sendTimeout bounds dialling and sending.
const sendTimeout = 15 * time.Second

// noMailbox are the enhanced codes with which a server says for good that the recipient's address is
// wrong. Others of 5.1 are about the sender's address. A bare 550 may also mean that the server does
// not like the sender.
var noMailbox = []string{"5.1.1", "5.1.2", "5.1.3", "5.1.6", "5.1.10"}

// New returns a mailer, or refuses a configuration that cannot work. It does not
// connect.
func New(c Config) (*Mailer, error) {
	host, text, err := net.SplitHostPort(c.Server)
	port, portErr := strconv.Atoi(text)
	if err != nil || portErr != nil || host == "" || port < 1 || port > 65535 {
		return nil, fmt.Errorf("smtp: server %q is not host:port", c.Server)
	}
	m := &Mailer{host: host, dial: (&net.Dialer{}).DialContext}
	m.options = []mail.Option{mail.WithPort(port), mail.WithTimeout(sendTimeout)}
	switch {
	case port == 465: // no server offers STARTTLS within TLS
		m.dial = (&tls.Dialer{Config: &tls.Config{ServerName: host, MinVersion: tls.VersionTLS12}}).DialContext
		m.options = append(m.options, mail.WithTLSPolicy(mail.TLSOpportunistic))
	case c.Insecure:
		m.options = append(m.options, mail.WithTLSPolicy(mail.TLSOpportunistic))
	default:
		m.options = append(m.options, mail.WithTLSPolicy(mail.TLSMandatory))
	}
	if c.Username != "" {
		m.options = append(m.options, mail.WithSMTPAuth(mail.SMTPAuthAutoDiscover),
			mail.WithUsername(c.Username), mail.WithPassword(c.Password))
	}
	if _, err := mail.NewClient(host, m.options...); err != nil {
		return nil, fmt.Errorf("smtp: %w", err)
	}
	from, err := netmail.ParseAddress(c.From)
	if err != nil {
		return nil, errors.New("smtp: From is not an e-mail address")
	}
	m.from = from.Address
	return m, nil
}

// SendEmail implements [message.Mailer].
func (m *Mailer) SendEmail(ctx context.Context, e message.Email) error {
	msg := mail.NewMsg()
	msg.FromMailAddress(&netmail.Address{Name: oneLine(e.FromName), Address: m.from}) // which quotes the name
	if err := msg.To(e.To); err != nil {
		return fmt.Errorf("smtp: the recipient is not an e-mail address: %w", message.ErrUndeliverable)
	}
	msg.Subject(oneLine(e.Subject))
	if e.ID != "" {
		// The same for every try, so that what arrives twice can be told.
		_, domain, _ := strings.Cut(m.from, "@")
		msg.SetMessageIDWithValue(e.ID + "@" + domain)
	}
	msg.SetBodyString(mail.TypeTextPlain, e.Text)
	if e.HTML != "" {
		msg.AddAlternativeString(mail.TypeTextHTML, e.HTML)
	}
	for _, a := range e.Attachments {
		err := msg.AttachReader(a.Name, bytes.NewReader(a.Data), mail.WithFileContentType(mail.ContentType(a.Type)))
		if err != nil {
			return fmt.Errorf("smtp: attachment: %w", err)
		}
	}
	// The client does not close a connection over which it could not log in or say goodbye.
	var connection net.Conn
	defer func() {
		if connection != nil {
			_ = connection.Close()
		}
	}()
	dial := func(ctx context.Context, network, address string) (_ net.Conn, err error) {
		connection, err = m.dial(ctx, network, address)
		return connection, err
	}
	client, err := mail.NewClient(m.host, append(slices.Clone(m.options), mail.WithDialContextFunc(dial))...)
	if err != nil {
		return fmt.Errorf("smtp: %w", err)
	}
	err = client.DialAndSendWithContext(ctx, msg)
	var refused *mail.SendError
	switch {
	case err == nil, msg.IsDelivered(): // what fails after the server took the e-mail must not send it again
		return nil
	case !errors.As(err, &refused): // before the recipient was named
	case slices.Contains(noMailbox, refused.EnhancedStatusCode()):
		return fmt.Errorf("smtp: the recipient's address does not exist: %w", message.ErrUndeliverable)
	default:
		// The error quotes the recipient, and the server's text may.
		return fmt.Errorf("smtp: %s: the answer is %d %s", refused.Reason, refused.ErrorCode(), refused.EnhancedStatusCode())
	}
	return fmt.Errorf("smtp: send: %w", err)
}

// oneLine makes a header of a name or subject that people may have written in
// several.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
