package spreadsheet

import (
	"bufio"
	"encoding/csv"
	"io"
	"strings"
	"unicode"
)

// Mark begins a file of UTF-8 for spreadsheets, which otherwise take the letters of names for those of
// another alphabet.
const Mark = "\ufeff"

// maxHead is how many bytes of the first line a Reader looks at.
const maxHead = 4096

// Reader reads CSV that people have saved from a spreadsheet. It leaves out [Mark] at the beginning. Lines
// end with LF, CRLF or CR, as the first line does. The slice that Read returns is valid until the next.
type Reader struct {
	*csv.Reader
	text *lines
}

// NewReader returns a Reader of r. It reads nothing yet.
func NewReader(r io.Reader) *Reader {
	text := &lines{text: bufio.NewReader(r)}
	c := &Reader{csv.NewReader(text), text}
	c.ReuseRecord = true
	return c
}

// Separator returns what stands between the names of the first line if that is no comma, such as a
// semicolon or a tab. It returns 0 for a comma, and if there is one name. It is called after a Read.
func (r *Reader) Separator() rune {
	head := string(r.text.head)
	if strings.ContainsRune(head, ',') {
		return 0
	}
	for _, c := range strings.TrimSpace(head) {
		if !unicode.IsLetter(c) && !unicode.IsDigit(c) && !strings.ContainsRune(` _-."'()`, c) {
			return c
		}
	}
	return 0
}

// lines is a text whose lines end with LF.
type lines struct {
	text  *bufio.Reader
	begun bool
	head  []byte // the first line, as far as it was read
	end   byte   // of a line: LF, or CR alone; 0 until one was read
}

func (l *lines) Read(p []byte) (int, error) {
	if !l.begun {
		l.begun = true
		if mark, err := l.text.Peek(len(Mark)); err == nil && string(mark) == Mark {
			_, _ = l.text.Discard(len(Mark))
		}
	}
	n, err := l.text.Read(p)
	for i := range n {
		if l.end == 0 {
			l.begin(p[i:n])
		}
		if l.end == '\r' && p[i] == '\r' {
			p[i] = '\n'
		}
	}
	return n, err
}

// begin takes the next byte of the first line, which may end there.
func (l *lines) begin(next []byte) {
	switch {
	case next[0] == '\n':
		l.end = '\n'
	case next[0] == '\r':
		l.end = '\r'
		following := next[1:]
		if len(following) == 0 {
			following, _ = l.text.Peek(1)
		}
		if len(following) > 0 && following[0] == '\n' {
			l.end = '\n'
		}
	case len(l.head) < maxHead:
		l.head = append(l.head, next[0])
	}
}
