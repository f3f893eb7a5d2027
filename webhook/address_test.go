package webhook

import (
	"strings"
	"testing"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/expect"
)

func TestUnsafeURLsAreRefused(t *testing.T) {
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
			err := checkURL(url, mode == "live")
			taken := strings.Contains(modes, mode)
			expect.True(t, (err == nil) == taken && (err == nil || api.CodeOf(err) == api.WebhookURLInvalid), "%s in %s mode: %v", url[:min(len(url), 60)], mode, err)
		}
	}
	for _, host := range []string{
		"127.0.1", "017700000001", "127.0.0.1.", "localhost.", "0", "[0:0:0:0:0:0:0:1]", "[::127.0.0.1]", "172.16.0.1", "0xa9fea9fe", "[::ffff:a9fe:a9fe]", "printer.local",
		"224.0.0.1", "255.255.255.255", "198.18.0.1", "192.0.2.1", "１２７.0.0.1", "127。0。0。1", "127.0.0.1:22", "user@127.0.0.1", "example.com@127.0.0.1", "127.0.0.1\\@example.com",
		"%31%32%37.0.0.1", "127.0.0.1%2eexample.com", "[::1", " 127.0.0.1", "example.com#@127.0.0.1",
	} {
		expect.Equal(t, api.CodeOf(checkURL("https://"+host+"/h", true)), api.WebhookURLInvalid, "%s in live mode", host)
	}
	for _, scheme := range []string{"file", "gopher", "data", "unix", "HTTPS+x"} {
		expect.Equal(t, api.CodeOf(checkURL(scheme+"://example.com/h", false)), api.WebhookURLInvalid, "%s", scheme)
	}
}
