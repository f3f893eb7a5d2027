package payment

import "io"

// ExportParams select the payments of an export.
type ExportParams struct {
	ListParams
	// Writer receives the CSV.
	Writer io.Writer
	// Progress, unless it is nil, is called after each page with the number of payments written,
	// in the goroutine of Export.
	Progress func(written int)
}
