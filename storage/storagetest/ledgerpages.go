package storagetest

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/seed-7082ffec/payments/storage"
)

var ledgerPageTests = tests{
	"balances, entries and postings page": ledgerPages,
	"a page may be empty":                 emptyPages,
	"first entries of many accounts":      firstEntries,
}

func ledgerPages(t *testing.T, s storage.Store) {
	for _, i := range []int{3, 1, 6, 0, 5, 2, 4} {
		post(t, s, posting(fmt.Sprint("p", i), move("open/a", 1), move(fmt.Sprint("open/b", i), -1)))
	}
	view(t, s, func(tx storage.ReadTx) error {
		var accounts, postings []string
		var numbers []int64
		after, before := "", int64(0)
		eachPage(t, func() ([]storage.Balance, error) { return tx.Balances(after, 3) }, func(page []storage.Balance) {
			for _, b := range page {
				accounts, after = append(accounts, b.Account), b.Account
			}
		})
		after = ""
		eachPage(t, func() ([]storage.Booked, error) { return tx.Postings(after, 3) }, func(page []storage.Booked) {
			for _, p := range page {
				equal(t, "entries of "+p.ID, len(p.Entries), 2)
				postings, after = append(postings, p.ID), p.ID
			}
		})
		eachPage(t, func() ([]storage.Entry, error) { return tx.Entries("open/a", before, 3) }, func(page []storage.Entry) {
			for _, e := range page {
				numbers, before = append(numbers, e.Number), e.Number
			}
		})
		equal(t, "Balances", accounts, []string{"open/a", "open/b0", "open/b1", "open/b2", "open/b3", "open/b4", "open/b5", "open/b6"})
		equal(t, "Postings", postings, []string{"p0", "p1", "p2", "p3", "p4", "p5", "p6"})
		equal(t, "Entries", numbers, []int64{7, 6, 5, 4, 3, 2, 1})

		// Cursors need not exist.
		page, err := tx.Balances("open/b2x", 1)
		if err != nil {
			return err
		}
		equal(t, "Balances after nobody", single(t, "Balances", page).Account, "open/b3")
		booked, err := tx.Postings("p2x", 1)
		if err != nil {
			return err
		}
		equal(t, "Postings after none", single(t, "Postings", booked).ID, "p3")
		entries, err := tx.Entries("open/a", 100, 1)
		if err != nil {
			return err
		}
		equal(t, "Entries before none", single(t, "Entries", entries).Number, int64(7))
		return nil
	})
}

// emptyPages asks for pages without entries.
func emptyPages(t *testing.T, s storage.Store) {
	post(t, s, posting("p1", move("open/a", 1), move("open/b", -1)))
	view(t, s, func(tx storage.ReadTx) error {
		for _, limit := range []int{0, -1} {
			all, err := tx.Balances("", limit)
			want(t, "Balances", err, nil)
			entries, err := tx.Entries("open/a", 0, limit)
			want(t, "Entries", err, nil)
			booked, err := tx.Postings("", limit)
			want(t, "Postings", err, nil)
			equal(t, fmt.Sprint("with limit ", limit), []int{len(all), len(entries), len(booked)}, []int{0, 0, 0})
		}
		all, err := tx.Balances("open/b", 9)
		want(t, "Balances", err, nil)
		entries, err := tx.Entries("open/a", 1, 9)
		want(t, "Entries", err, nil)
		nobody, err := tx.Entries("open/c", 0, 9)
		want(t, "Entries", err, nil)
		booked, err := tx.Postings("p1", 9)
		want(t, "Postings", err, nil)
		equal(t, "beyond the last", []int{len(all), len(entries), len(nobody), len(booked)}, []int{0, 0, 0, 0})
		return nil
	})
}

// firstEntries compares the reading of many accounts with the reading of each. It covers stores
// that read one at a time.
func firstEntries(t *testing.T, s storage.Store) {
	var names []string
	for n := range 150 {
		names = append(names, fmt.Sprintf("open/%03d", (n*77)%150), fmt.Sprintf("none/%03d", n))
	}
	update(t, s, func(tx storage.Tx) error {
		for n := range 300 {
			err := tx.Post(posting(fmt.Sprintf("p%03d", n), move(fmt.Sprintf("open/%03d", n*n%150), 1), move("open/all", -1)))
			if err != nil {
				return err
			}
		}
		return nil
	})
	names = append(names, "open/all", "open/all", "")
	read := func(tx storage.ReadTx) error {
		found, err := storage.FirstEntries(tx, names, 3)
		want(t, "FirstEntries", err, nil)
		n := 0
		for _, name := range names {
			entries, err := tx.Entries(name, 4, 3)
			want(t, "Entries", err, nil)
			slices.Reverse(entries)
			if len(entries)+len(found[name]) > 0 {
				equal(t, "the first entries of "+name, found[name], entries)
			}
			n += len(entries)
		}
		if n < 100 {
			t.Errorf("there are %d entries", n)
		}
		none, err := storage.FirstEntries(tx, nil, 3)
		equal(t, "of no account", len(none), 0)
		return err
	}
	view(t, s, read)
	update(t, s, func(tx storage.Tx) error {
		err := tx.Post(posting("own", move("open/new", 1), move("open/all", -1)))
		if err != nil {
			return err
		}
		found, err := storage.FirstEntries(tx, []string{"open/new"}, 3)
		equal(t, "its own", len(found["open/new"]), 1)
		return errors.Join(err, read(tx))
	})
}
