package httpapi_test

import (
	"bytes"
	"image"
	_ "image/png"
	"testing"

	"github.com/seed-7082ffec/payments/httpapi/paymentstest"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
	"github.com/seed-7082ffec/payments/qrcode"
)

// A picture has the type and the size that were asked for. That it scans is proven with
// package qrcode.
func TestPictures(t *testing.T) {
	s := paymentstest.New(t)
	id := newCode(t, s, `{}`)
	path := "/v1/qr_codes/" + id + "/download"
	for address, size := range map[string]int{path: qrcode.DefaultSize, path + "?format=png&size=777": 777, "/pay/" + id + ".png": qrcode.DefaultSize} {
		response, data := s.Do("GET", address, nil)
		is, kind, err := image.DecodeConfig(bytes.NewReader(data))
		must.True(t, err == nil, "%s: %s of %dx%d, %v, %v", address, kind, is.Width, is.Height, err, response.Header)
		expect.Equal(t, kind, "png", "%s: kind", address)
		expect.Equal(t, is.Width, size, "%s: width", address)
		expect.Equal(t, is.Height, size, "%s: height", address)
		expect.Equal(t, response.Header.Get("Content-Type"), "image/png", "%s: Content-Type", address)
	}
	response, data := s.Do("GET", path+"?format=svg&size=300", nil)
	expect.Equal(t, response.Header.Get("Content-Type"), "image/svg+xml", "SVG: Content-Type")
	expect.True(t, bytes.Contains(data, []byte(`width="300"`)), "SVG: %v %.80s", response.Header, data)
	for query, param := range map[string]string{"size=2049": "size", "format=gif": "format"} {
		response, data := s.Do("GET", path+"?"+query, nil)
		wants(t, query, response, data, 400, "parameter_invalid", param)
	}
}
