package qrcode_test

import (
	"bytes"
	"encoding/base64"
	"errors"
	"strings"
	"testing"

	"github.com/seed-7082ffec/payments"
	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/qrcode"
)

func encoded(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }

func TestCodec(t *testing.T) {
	c := qrcode.NewCodec(bytes.Repeat([]byte{1}, 32))
	text := must.Get(c.Encode(false, "cqr_1"))(t)
	expect.Equal(t, must.Get(c.Decode(false, text))(t), "cqr_1", "Decode")
	plain := must.Get(base64.StdEncoding.DecodeString(text))(t)
	for name, wrong := range map[string]string{
		"another code":     strings.Replace(string(plain), "cqr_1", "cqr_2", 1),
		"a merchant":       strings.Replace(string(plain), "consumer", "merchant", 1),
		"another version":  strings.Replace(string(plain), `"v":1`, `"v":2`, 1),
		"no MAC":           `{"v":1,"e":"consumer","c":"cqr_1"}`,
		"a MAC that is no": `{"v":1,"e":"consumer","c":"cqr_1","m":"*"}`,
		"a changed MAC":    changedMAC(t, string(plain)),
		"no JSON":          "hello", "a list": "[]", "nothing": "",
	} {
		if _, err := c.Decode(false, encoded(wrong)); !errors.Is(err, qrcode.ErrNotConsumer) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	for name, wrong := range map[string]string{
		"no base64": "***", "no padding": strings.TrimRight(encoded("abcd"), "="), "a line break": text[:8] + "\n" + text[8:],
		"another alphabet": "-_-_", "too long": strings.Repeat("AAAA", 1000),
	} {
		if _, err := c.Decode(false, wrong); !errors.Is(err, qrcode.ErrPayload) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if _, err := c.Decode(true, text); !errors.Is(err, qrcode.ErrNotConsumer) {
		t.Errorf("the other mode: %v", err)
	}
	if _, err := qrcode.NewCodec(bytes.Repeat([]byte{2}, 32)).Decode(false, text); !errors.Is(err, qrcode.ErrNotConsumer) {
		t.Errorf("another key: %v", err)
	}
}

// changedMAC changes a bit of the MAC's last character that none of the MAC's bytes has.
func changedMAC(t *testing.T, payload string) string {
	t.Helper()
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	at := len(payload) - len(`"}`) - 1
	n := strings.IndexByte(alphabet, payload[at])
	must.True(t, n >= 0, "the MAC of %s does not end it", payload)
	return payload[:at] + alphabet[n^1:n^1+1] + payload[at+1:]
}

func FuzzDecode(f *testing.F) {
	c := qrcode.NewCodec(make([]byte, 32))
	good := must.Get(c.Encode(false, "cqr_1"))(f)
	for _, seed := range []string{good, "", "***", encoded("{}"), encoded(`{"v":1,"e":"consumer","c":"","m":""}`), good[:len(good)-4]} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		id, err := c.Decode(false, text)
		expect.True(t, err != nil || id == "cqr_1", "%q was made up, and names %q", text, id)
		expect.True(t, err == nil || errors.Is(err, qrcode.ErrPayload) || errors.Is(err, qrcode.ErrNotConsumer), "%q: %v", text, err)
	})
}

// wallets is the codec of a host with payloads of another form.
type wallets struct{}

func (wallets) Encode(_ bool, id string) (string, error) { return "wallet:" + id, nil }

func (wallets) Decode(_ bool, text string) (string, error) {
	id, ok := strings.CutPrefix(text, "wallet:")
	if !ok {
		return "", qrcode.ErrNotConsumer
	}
	return id, nil
}

func TestHostCodecIsUsed(t *testing.T) {
	s := openStall(t, false, payments.Config{ConsumerCodec: wallets{}})
	ctx := t.Context()
	code, err := s.QRCodes.IssueConsumerCode(ctx, s.caller, qrcode.IssueConsumerCodeParams{Account: s.ama.ID, Type: qrcode.Dynamic})
	must.True(t, err == nil && strings.HasPrefix(code.Payload, "wallet:cqr_"), "%+v, %v", code, err)
	r, err := s.QRCodes.Resolve(ctx, s.caller, code.Payload)
	must.Do(t, err)
	expect.Equal(t, r.DisplayName, "Ama M.", "display name")
	expect.Equal(t, r.Type, qrcode.Dynamic, "type")
	expect.Equal(t, r.Active, true, "Active")
	expect.True(t, r.Amount == nil, "Amount is set")
	for payload, want := range map[string]api.Code{"wallet:cqr_unknown": api.InvalidConsumerQR, "bank:1": api.InvalidConsumerQR, "": api.ParameterMissing} {
		if _, err := s.QRCodes.Resolve(ctx, s.caller, payload); api.CodeOf(err) != want {
			t.Errorf("%q: got %v", payload, err)
		}
	}
	if _, err := s.QRCodes.IssueConsumerCode(ctx, s.caller, qrcode.IssueConsumerCodeParams{Account: "acc_1"}); api.CodeOf(err) != api.AccountNotFound {
		t.Errorf("a code for nobody: %v", err)
	}
	limit := int64(2)
	if _, err := s.QRCodes.IssueConsumerCode(ctx, s.caller, qrcode.IssueConsumerCodeParams{Account: s.ama.ID, UsageLimit: &limit}); api.CodeOf(err) != api.ParameterInvalid {
		t.Errorf("a static code with a limit: %v", err)
	}
}

func TestDrawPictures(t *testing.T) {
	long := "https://pay.example.com/" + strings.Repeat("a", 300)
	if _, err := qrcode.Draw(long, qrcode.PNG, 64); api.CodeOf(err) != api.ParameterInvalid {
		t.Errorf("a code that does not fit: %v", err)
	}
	if _, err := qrcode.Draw(strings.Repeat("a", 5000), qrcode.PNG, 512); err == nil {
		t.Error("a text that no code can hold is drawn")
	}
	text := must.Get(qrcode.Terminal("https://pay.example.com/pay/qr_1"))(t)
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	for _, line := range lines {
		got := len([]rune(line))
		expect.Equal(t, got, len([]rune(lines[0])), "a line: number of characters")
		expect.True(t, got >= 2*len(lines)-1, "a line of %d characters among %d lines", got, len(lines))
	}
}

// The refusals that only Go callers can get.
func TestPayRefusesBadParams(t *testing.T) {
	s := newStall(t, false, nil)
	ctx := t.Context()
	amount, wrong := int64(5), int64(0)
	without := must.Get(s.Accounts.CreateConsumer(ctx, api.Caller{}, account.CreateHolderParams{Name: "Kojo Antwi", Phone: "0241000002"}))(t)
	wallet := account.WalletRef{AccountID: without.ID}
	own := s.code(t, qrcode.CreateParams{}).ID
	for name, test := range map[string]struct {
		p    qrcode.PayParams
		want api.Code
	}{
		"no amount":      {qrcode.PayParams{Wallet: wallet, PIN: "1234"}, api.AmountRequired},
		"a wrong amount": {qrcode.PayParams{Wallet: wallet, PIN: "1234", Amount: &wrong}, api.ParameterInvalid},
		"no PIN":         {qrcode.PayParams{Wallet: wallet, Amount: &amount}, api.ParameterMissing},
		"no code":        {qrcode.PayParams{Wallet: wallet, PIN: "1234", Amount: &amount}, api.ResourceMissing},
		"no PIN is set":  {qrcode.PayParams{Wallet: wallet, PIN: "1234", Amount: &amount}, api.PINInvalid},
		"nobody":         {qrcode.PayParams{PIN: "1234", Amount: &amount}, api.AccountNotFound},
	} {
		code := own
		if name == "no code" {
			code = "qr_1"
		}
		if _, err := s.QRCodes.Pay(ctx, s.caller, code, test.p); api.CodeOf(err) != test.want {
			t.Errorf("%s: got %v, want %s", name, err, test.want)
		}
	}
}
