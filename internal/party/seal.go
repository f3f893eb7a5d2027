package party

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/seed-7082ffec/payments/storage"
)

// A worker seals ledger entries some time after their booking, so that booking costs no more.
// Each account has a chain of segments. The seal of a segment is an HMAC over the seal before it
// and the digests of its entries. To change, remove or reorder sealed entries, an attacker would
// have to remake all later seals of the account, which takes the server's key.

const (
	// segmentEntries is the number of entries under one seal.
	segmentEntries = 128
	// markBytes is the number of bytes that a seal keeps of each entry's digest. The marks show
	// which entry disagrees with the seal.
	markBytes = 8
)

// sealHead is the number of the last sealed entry of an account, and its record's id is the
// account's name.
type sealHead struct {
	Entries int64 `json:"entries"`
}

// seal covers one segment of an account's entries.
type seal struct {
	Marks []byte `json:"marks"` // of each entry
	MAC   []byte `json:"mac"`
}

var (
	sealHeads = storage.NewCollection[sealHead]("sealed_accounts", nil)
	seals     = storage.NewCollection[seal]("seals", nil)
)

func sealID(account string, number int64) string { return fmt.Sprintf("%s#%012d", account, number) }

// lastSeals returns the seal of the segment before the one with this number, and that segment's own seal.
// A missing seal is nil. A seal that cannot be decoded is an error.
func lastSeals(tx storage.ReadTx, account string, number int64) (before, is *storage.Object[seal], err error) {
	page, err := tx.List(seals.Kind(), storage.Query{After: sealID(account, number+1), Limit: 2, Bare: true})
	if err != nil {
		return nil, nil, err
	}
	for _, r := range page {
		switch r.ID {
		case sealID(account, number):
			is, err = decodeSeal(r)
		case sealID(account, number-1):
			before, err = decodeSeal(r)
		}
		if err != nil {
			return nil, nil, err
		}
	}
	return before, is, nil
}

// unreadable is the error for a sealer record that the sealer cannot have written.
type unreadable struct {
	id    string
	cause error
}

func (u *unreadable) Error() string { return fmt.Sprintf("the seal %s cannot be read", u.id) }
func (u *unreadable) Unwrap() error { return u.cause }

func decodeSeal(r storage.Record) (*storage.Object[seal], error) {
	o, err := seals.Decode(r)
	if err != nil {
		return nil, &unreadable{r.ID, err}
	}
	return o, nil
}

// segmentOf reads the entries of a segment up to one, in ascending order. problem names the
// missing entry; "" for none.
func segmentOf(tx storage.ReadTx, account string, number, last int64) (entries []storage.Entry, problem string, err error) {
	first := number*segmentEntries + 1
	entries, err = tx.Entries(account, last+1, int(last-first+1))
	if err != nil {
		return nil, "", err
	}
	slices.Reverse(entries)
	entries, problem = checkComplete(account, first, last, entries)
	return entries, problem, nil
}

// checkComplete names the entry that is missing between the first and the last; "" for none.
func checkComplete(account string, first, last int64, entries []storage.Entry) (_ []storage.Entry, problem string) {
	for i := range last - first + 1 {
		if i >= int64(len(entries)) || entries[i].Number != first+i {
			return entries, fmt.Sprintf("account %s: entry %d is not the one that was sealed", account, first+i)
		}
	}
	return entries, ""
}

// deriveSealKeys derives the keys of seals from the server's keys.
func deriveSealKeys(keys [][]byte) [][]byte {
	derived := make([][]byte, len(keys))
	for i, key := range keys {
		h := hmac.New(sha256.New, key)
		h.Write([]byte("ledger seals"))
		derived[i] = h.Sum(nil)
	}
	return derived
}

// entryDigests returns the concatenated digests of entries, and their marks.
func entryDigests(entries []storage.Entry) (all, marks []byte) {
	for i := range entries {
		sum := entryDigest(&entries[i])
		all = append(all, sum[:]...)
		marks = append(marks, sum[:markBytes]...)
	}
	return all, marks
}

// sealMAC computes the seal of a segment with these entry digests.
func sealMAC(key []byte, account string, all, before []byte) []byte {
	h := hmac.New(sha256.New, key)
	writeField(h, []byte(account))
	writeField(h, before)
	h.Write(all)
	return h.Sum(nil)
}

// newSeal computes the seal of a segment under the present key.
func (s *Service) newSeal(account string, entries []storage.Entry, before []byte) seal {
	var key []byte
	if len(s.sealKeys) > 0 {
		key = s.sealKeys[0]
	}
	all, marks := entryDigests(entries)
	return seal{Marks: marks, MAC: sealMAC(key, account, all, before)}
}

// writeField writes a text after its length, so that different lists of texts never give the same
// bytes.
func writeField(h interface{ Write([]byte) (int, error) }, text []byte) {
	var length [8]byte
	binary.BigEndian.PutUint64(length[:], uint64(len(text)))
	_, _ = h.Write(length[:]) // a hash never fails
	_, _ = h.Write(text)
}

// entryDigest covers every field of an entry.
func entryDigest(e *storage.Entry) [sha256.Size]byte {
	var b bytes.Buffer
	for _, text := range []string{e.Account, e.Posting, e.Type, e.Ref} {
		writeField(&b, []byte(text))
	}
	for _, n := range []int64{e.Number, e.Amount, e.Balance, e.At.UnixMilli()} {
		_ = binary.Write(&b, binary.BigEndian, n) // into memory
	}
	return sha256.Sum256(b.Bytes())
}

// checkSeal compares the seal of a segment with its entries, and returns the seal's MAC. Otherwise problem says
// that the seal is missing, which entry disagrees with its mark, or that none of the server's keys gives the MAC.
func (s *Service) checkSeal(account string, number int64, entries []storage.Entry, before []byte, kept *storage.Object[seal]) (mac []byte, problem string) {
	all, marks := entryDigests(entries)
	first := number*segmentEntries + 1
	last := first + int64(len(entries)) - 1
	if kept == nil {
		return nil, fmt.Sprintf("account %s: the seal of entries %d to %d is missing", account, first, last)
	}
	for i := range entries {
		from, to := i*markBytes, (i+1)*markBytes
		if to > len(kept.Value.Marks) || !bytes.Equal(marks[from:to], kept.Value.Marks[from:to]) {
			return nil, fmt.Sprintf("account %s: entry %d is not the one that was sealed", account, entries[i].Number)
		}
	}
	for _, key := range s.sealKeys {
		if mac := sealMAC(key, account, all, before); hmac.Equal(mac, kept.Value.MAC) {
			return mac, ""
		}
	}
	return nil, fmt.Sprintf("account %s: the seal of entries %d to %d is not this server's; was Config.Key changed without FallbackKeys?", account, first, last)
}
