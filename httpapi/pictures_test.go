package httpapi_test

import (
	"bytes"
	"image"
	_ "image/png"
	"net/http"
	"testing"

	"github.com/seed-7082ffec/payments/httpapi/paymentstest"
	"github.com/seed-7082ffec/payments/internal/expect"
	"github.com/seed-7082ffec/payments/internal/must"
	"github.com/seed-7082ffec/payments/qrcode"
)

// A picture has the type and the size that were asked for. That it scans is proven with
// package qrcode.
func TestPictures(t *testing.T) {
	s := paymentstest.New(t)
	id := newCode(t, s, `{}`)
	path := "/v1/qr_codes/" + id + "/download"
	png := func(what string, response *http.Response, data []byte, size int) {
		t.Helper()
		is, kind, err := image.DecodeConfig(bytes.NewReader(data))
		if err != nil || kind != "png" || is.Width != size || is.Height != size || response.Header.Get("Content-Type") != "image/png" {
			t.Errorf("%s: %s of %dx%d, %v, %v", what, kind, is.Width, is.Height, err, response.Header)
		}
	}
	response, data := s.Do("GET", path, nil)
	png("the default", response, data, qrcode.DefaultSize)
	response, data = s.Do("GET", path+"?format=png&size=777", nil)
	png("777 pixels", response, data, 777)
	public := must.Get(http.Get(s.Server.URL + "/pay/" + id + ".png"))(t)
	defer public.Body.Close()
	var b bytes.Buffer
	must.Get(b.ReadFrom(public.Body))(t)
	png("the public one", public, b.Bytes(), qrcode.DefaultSize)
	response, data = s.Do("GET", path+"?format=svg&size=300", nil)
	expect.True(t, response.Header.Get("Content-Type") == "image/svg+xml" && bytes.Contains(data, []byte(`width="300"`)), "SVG: %v %.80s", response.Header, data)
	for query, param := range map[string]string{"size=63": "size", "size=2049": "size", "size=big": "size", "format=gif": "format"} {
		response, data := s.Do("GET", path+"?"+query, nil)
		wants(t, query, response, data, 400, "parameter_invalid", param)
	}
}
