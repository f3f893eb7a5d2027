package inspector

import (
	"net/http"

	"github.com/seed-7082ffec/payments/api"
)

// file is an image, a document, an e-mail or an export.
type file struct {
	contentType string
	data        []byte
	// name is the file name of a document.
	name string
	// policy replaces the pages' Content-Security-Policy.
	policy string
	// saved says that the browser keeps the file and does not show it.
	saved bool
	// framed says that the inspector's pages show it in a frame.
	framed bool
}

// pdfFile returns a PDF document.
func pdfFile(name string, data []byte) *file {
	return &file{contentType: "application/pdf", data: data, name: name, policy: "frame-ancestors 'none'"}
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
	h.Set("Content-Type", f.contentType)
	if f.policy != "" {
		h.Set("Content-Security-Policy", f.policy)
	}
	if f.framed {
		h.Set("X-Frame-Options", "SAMEORIGIN")
	}
	if f.name != "" {
		disposition := "inline"
		if f.saved {
			disposition = "attachment"
		}
		h.Set("Content-Disposition", disposition+`; filename="`+f.name+`"`)
	}
	_, _ = w.Write(f.data) // an error means that the client has gone
	return nil
}
