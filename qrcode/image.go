package qrcode

import (
	"bytes"
	"fmt"
	"slices"

	qr "github.com/skip2/go-qrcode"
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

// ImageParams describe a picture of a code.
type ImageParams struct {
	Format Format // required
	// Size is from MinSize to MaxSize; zero stands for DefaultSize. An SVG scales, and has Size as its
	// natural size.
	Size int
}

// Image draws the code's data; see [Draw].
func (c *QRCode) Image(format Format, size int) ([]byte, error) {
	return Draw(c.Data, format, size)
}

// Draw draws the QR code of a text, of at most 2,300 bytes, as a square of size pixels. The code has
// error correction M and the quiet zone that scanners need. As a PNG, a size too small for the text is
// refused with parameter_invalid. Service.Image checks the bounds of the size and the format; Draw and
// QRCode.Image do not.
//
// Draw caches pictures for a while, since most are requested again.
func Draw(text string, format Format, size int) ([]byte, error) {
	key := pictureKey{text, format, size}
	if picture, ok := pictures.get(key); ok {
		return slices.Clone(picture), nil
	}
	picture, err := draw(text, format, size)
	if err == nil {
		pictures.put(key, slices.Clone(picture))
	}
	return picture, err
}

func draw(text string, format Format, size int) ([]byte, error) {
	code, err := encode(text)
	if err != nil {
		return nil, err
	}
	modules := code.Bitmap() // true for dark ones, with a quiet zone of four on each side
	if format == SVG {
		return drawSVG(modules, size), nil
	}
	return drawPNG(modules, size)
}

// Terminal draws a text's QR code with block characters, two modules in a character, for a
// terminal with a dark background.
func Terminal(text string) (string, error) {
	code, err := encode(text)
	if err != nil {
		return "", err
	}
	return code.ToSmallString(false), nil
}

// encode makes the code of a text. It refuses an empty text, and one of more than some 2,300 bytes.
func encode(text string) (*qr.QRCode, error) {
	code, err := qr.New(text, qr.Medium)
	if err != nil {
		return nil, fmt.Errorf("qrcode: encode: %w", err)
	}
	return code, nil
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
