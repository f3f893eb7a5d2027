package qrcode

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/qrbits"
)

// Sizes of pictures, in pixels along one side.
const (
	MinSize     = 64
	DefaultSize = 512
	MaxSize     = 2048
)

// Format is the format of a picture.
type Format string

// The formats of pictures.
const (
	PNG Format = "png"
	SVG Format = "svg"
)

// Image returns the picture of a code of the caller's. size is 0 for the
// default; an SVG scales and only carries it as its natural size.
func (s *Service) Image(ctx context.Context, caller api.Caller, id string, format Format, size int) ([]byte, error) {
	if size == 0 {
		size = DefaultSize
	}
	if size < MinSize || size > MaxSize {
		return nil, api.Invalid("size", "size must be an integer from %d to %d.", MinSize, MaxSize)
	}
	if format != PNG && format != SVG {
		return nil, api.Invalid("format", "format must be png or svg.")
	}
	c, err := s.Get(ctx, caller, id)
	if err != nil {
		return nil, err
	}
	return c.Image(format, size)
}

// Image draws the code's data with error correction M and the quiet zone that
// scanners need.
func (c *QRCode) Image(format Format, size int) ([]byte, error) {
	return Draw(c.Data, format, size)
}

// Draw makes a picture of any text, as Image does of a code's data. Pictures are
// kept for a while, since one is mostly asked for again.
func Draw(text string, format Format, size int) ([]byte, error) {
	key := pictureKey{text, format, size}
	if picture, ok := pictures.get(key); ok {
		return slices.Clone(picture), nil
	}
	picture, err := draw(text, format, size)
	if err == nil {
		pictures.keep(key, slices.Clone(picture))
	}
	return picture, err
}

func draw(text string, format Format, size int) ([]byte, error) {
	modules, err := matrix(text)
	if err != nil {
		return nil, err
	}
	if format == SVG {
		return drawSVG(modules, size), nil
	}
	return drawPNG(modules, size)
}

// Terminal draws a text's QR code with block characters, two modules a
// character, for a terminal with a dark background.
func Terminal(text string) (string, error) {
	modules, err := matrix(text)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for y := 0; y < len(modules); y += 2 {
		for x := range modules[y] {
			upper := !modules[y][x]
			lower := y+1 < len(modules) && !modules[y+1][x]
			switch {
			case upper && lower:
				b.WriteRune('█')
			case upper:
				b.WriteRune('▀')
			case lower:
				b.WriteRune('▄')
			default:
				b.WriteByte(' ')
			}
		}
		b.WriteByte('\n')
	}
	return b.String(), nil
}

// matrix returns the modules of the code, true for dark ones, with a quiet zone
// of four on each side.
func matrix(text string) ([][]bool, error) {
	modules, err := qrbits.Encode(text)
	if err != nil {
		return nil, fmt.Errorf("qrcode: encode: %w", err)
	}
	return modules, nil
}

func drawSVG(modules [][]bool, size int) []byte {
	n := len(modules)
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" shape-rendering="crispEdges">`, size, size, n, n)
	fmt.Fprintf(&b, `<path fill="#fff" d="M0 0h%dv%dH0z"/><path d="`, n, n)
	for y, line := range modules {
		for x := 0; x < n; x++ {
			if !line[x] {
				continue
			}
			run := 1
			for x+run < n && line[x+run] {
				run++
			}
			fmt.Fprintf(&b, "M%d %dh%dv1h-%dz", x, y, run, run)
			x += run
		}
	}
	b.WriteString(`"/></svg>` + "\n")
	return b.Bytes()
}
