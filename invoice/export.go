package invoice

import "io"

// ExportParams selects the invoices of an export.
type ExportParams struct {
	ListParams
	// Writer receives the CSV.
	Writer io.Writer
	// Progress, unless it is nil, is called after each page with the number of invoices written, in
	// the goroutine of Export.
	Progress func(written int)
}
