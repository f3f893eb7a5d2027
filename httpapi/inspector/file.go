package inspector

import (
	"net/http"

	"github.com/seed-7082ffec/payments/api"
)

// file is a picture, a document or an e-mail.
type file struct {
	kind string
	data []byte
	// name is what a document is called when it is kept.
	name string
	// policy takes the place of the pages' Content-Security-Policy.
	policy string
	// framed says that a page of ours shows it inside itself.
	framed bool
}

// pdfFile is a document, which a browser shows by means of its own.
func pdfFile(name string, data []byte) *file {
	return &file{kind: "application/pdf", data: data, name: name, policy: "frame-ancestors 'none'"}
}

func (v *visit) serveFile(w http.ResponseWriter, read func(*visit) (*file, error)) error {
	if v.Method != http.MethodGet && v.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		return api.Errorf(api.MethodNotAllowed, "", "This is only to be read.")
	}
	f, err := read(v)
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", f.kind)
	if f.policy != "" {
		h.Set("Content-Security-Policy", f.policy)
	}
	if f.framed {
		h.Set("X-Frame-Options", "SAMEORIGIN")
	}
	if f.name != "" {
		h.Set("Content-Disposition", `inline; filename="`+f.name+`"`)
	}
	_, _ = w.Write(f.data) // an error means that nobody reads it
	return nil
}
