// Command gen writes the fonts that package document embeds, into the working
// directory: DejaVu Sans Condensed, regular and bold, with the common letters alone.
package main

import (
	"log"
	"os"

	"github.com/go-fonts/dejavu/dejavusanscondensed"
	"github.com/go-fonts/dejavu/dejavusanscondensedbold"

	"github.com/seed-7082ffec/payments/internal/document"
)

// sources are the whole fonts, by the name of the file that gets the subset.
var sources = map[string][]byte{
	"regular.ttf": dejavusanscondensed.TTF,
	"bold.ttf":    dejavusanscondensedbold.TTF,
}

func main() {
	for name, font := range sources {
		small, err := subset(font, document.Common)
		if err != nil {
			log.Fatalf("%s: %v", name, err)
		}
		if err := os.WriteFile(name, small, 0o644); err != nil {
			log.Fatal(err)
		}
	}
}
