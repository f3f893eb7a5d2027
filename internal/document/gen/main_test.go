package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/seed-7082ffec/payments/internal/document"
	"github.com/seed-7082ffec/payments/internal/test/expect"
	"github.com/seed-7082ffec/payments/internal/test/must"
)

func TestEmbeddedFontsAreUpToDate(t *testing.T) {
	for name, font := range sources {
		want, err := subset(font, document.Common)
		if err != nil {
			t.Fatal(name, err)
		}
		got := must.Get(os.ReadFile(filepath.Join("..", name)))(t)
		expect.True(t, bytes.Equal(got, want), "%s differs from what the generator makes: run go generate in internal/document", name)
	}
}
