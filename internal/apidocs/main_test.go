package main

import (
	"bytes"
	"os"
	"testing"
)

func TestPublishedFilesAreUpToDate(t *testing.T) {
	t.Chdir("../../httpapi")
	files, err := generate()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range files {
		got, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("httpapi/%s differs from what is made of %s: run go generate ./httpapi", name, source)
		}
	}
}
