package engine

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/pii"
	"github.com/seed-7082ffec/payments/internal/plainjson"
	"github.com/seed-7082ffec/payments/internal/work"
	"github.com/seed-7082ffec/payments/storage"
)

// IdempotencyKeyLife is the shortest time for which the engine keeps an idempotency key, as the
// API promises.
const IdempotencyKeyLife = 30 * 24 * time.Hour

// clockApart is the lead of a test clock above which an idempotency key expires by that clock and is removed
// by the real one.
const clockApart = time.Minute

// maxIdempotencyKey is the longest idempotency key, in characters.
const maxIdempotencyKey = 255

// idempotencyRecord holds the first request of an idempotency key, and its stored answer. Its id is the
// key.
type idempotencyRecord struct {
	Fingerprint string          `json:"fingerprint"`
	Answer      json.RawMessage `json:"answer"`
	Expires     api.Time        `json:"expires"`
	// Person is the customer whose data the answer holds; see package pii.
	Person string `json:"person,omitempty"`
	// Forget is the removal time of the record by the real clock; nil stands for its expiry.
	Forget *api.Time `json:"forget,omitempty"`
}

// An idempotency key is due at its removal time, by the real clock, even if it expires by a test
// clock. An expired key has no effect, and a new call overwrites it. So all keys are one queue,
// which saves an index.
var idempotencyKeys = storage.NewCollection("idempotency_keys", []storage.Field[idempotencyRecord]{
	storage.NullTimeColumn("expires", func(k *idempotencyRecord) *api.Time { return cmp.Or(k.Forget, &k.Expires) }),
	storage.TextColumn("person", func(k *idempotencyRecord) string { return k.Person }).Nullable().Indexed(),
}, storage.OneQueueBy("expires")).Verbatim(func(k *idempotencyRecord) *json.RawMessage { return &k.Answer })

// fingerprint returns a digest of the request, or "" if it has no idempotency key.
func fingerprint(key string, op Operation) (string, error) {
	if key == "" {
		return "", nil
	}
	if err := CheckIdempotencyKey(key); err != nil {
		return "", err
	}
	params, err := json.Marshal(op.Params)
	if err != nil {
		return "", fmt.Errorf("engine: fingerprint of %s: %w", op.Name, err)
	}
	h := sha256.New()
	h.Write([]byte(op.Name))
	h.Write([]byte{0})
	h.Write(params)
	return base64.RawStdEncoding.EncodeToString(h.Sum(nil)), nil
}

// CheckIdempotencyKey refuses text that cannot be an idempotency key, with idempotency_key_invalid.
func CheckIdempotencyKey(key string) error {
	if key == "" || len(key) > maxIdempotencyKey {
		return api.Errorf(api.IdempotencyKeyInvalid, "", "An idempotency key has at most %d characters.", maxIdempotencyKey)
	}
	for i := range len(key) {
		if key[i] < ' ' || key[i] > '~' {
			return api.Errorf(api.IdempotencyKeyInvalid, "", "An idempotency key has printable ASCII characters only.")
		}
	}
	return nil
}

// storedAnswer returns the answer stored under the caller's idempotency key, or nil.
func storedAnswer[T any](tx storage.ReadTx, caller api.Caller, now time.Time, digest string) (*T, error) {
	if digest == "" {
		return nil, nil
	}
	o, err := OrNil(idempotencyKeys.Get(tx, Scope(caller), caller.IdempotencyKey))
	if o == nil || err != nil {
		return nil, err
	}
	if !now.Before(o.Value.Expires.Time) {
		return nil, nil
	}
	if o.Value.Fingerprint != digest {
		return nil, api.Errorf(api.IdempotencyKeyReused, "", "This idempotency key was used with another request. Use a new key for a new request, and the same key only to repeat one.")
	}
	answer := new(T)
	if err := json.Unmarshal(o.Value.Answer, answer); err != nil {
		return nil, fmt.Errorf("engine: decode stored answer: %w", err)
	}
	return answer, nil
}

// storeAnswer stores an answer under an idempotency key of the caller's. It fails with ErrExists
// if the key already has an answer.
func storeAnswer(tx *Tx, key, digest string, answer any) error {
	if digest == "" {
		return nil
	}
	data, err := plainjson.Marshal(answer)
	if err != nil {
		return fmt.Errorf("engine: encode answer: %w", err)
	}
	scope := Scope(tx.Caller)
	data, person, err := pii.ForStorage(tx, scope, answer, data)
	if err != nil {
		return fmt.Errorf("engine: store answer: %w", err)
	}
	life := max(IdempotencyKeyLife, tx.engine.IdempotencyRetention)
	record := idempotencyRecord{Fingerprint: digest, Answer: data, Expires: api.At(tx.Now.Add(life)), Person: person}
	if at := api.At(tx.engine.Clock().Add(life)); at.Add(clockApart).Before(record.Expires.Time) {
		record.Forget = &at
	}
	_, err = idempotencyKeys.Insert(tx, scope, key, record)
	if errors.Is(err, storage.ErrExists) {
		old, getErr := idempotencyKeys.Get(tx, scope, key)
		switch {
		case getErr != nil:
			err = getErr
		case !tx.Now.Before(old.Value.Expires.Time): // expired, but not yet removed
			old.Value = record
			err = idempotencyKeys.Replace(tx, old)
		}
	}
	if err != nil {
		return fmt.Errorf("engine: store idempotency key: %w", err)
	}
	return nil
}

// StoreAnswer stores the answer of an earlier call under the idempotency key of that call, in the
// transaction that found the answer. If another request has taken the key meanwhile, its answer
// stays.
func StoreAnswer(tx *Tx, key string, op Operation, answer any) error {
	digest, err := fingerprint(key, op)
	if err == nil {
		err = storeAnswer(tx, key, digest, answer)
	}
	if errors.Is(err, storage.ErrExists) {
		return nil
	}
	return err
}

// Erase removes the personal data of a customer from stored answers. Their keys keep protecting
// their requests.
func (e *Engine) Erase(ctx context.Context, caller api.Caller, customer string) error {
	q := storage.Query{Scope: Scope(caller), Where: Where(nil, "person", customer), Limit: api.MaxLimit}
	return e.UpdateWhile(ctx, caller, func(tx *Tx) (bool, error) {
		page, more, err := idempotencyKeys.List(tx, q)
		if err != nil {
			return false, fmt.Errorf("engine: list answers: %w", err)
		}
		for _, o := range page {
			if o.Value.Answer, err = pii.Redact(o.Value.Answer); err != nil {
				return false, err
			}
			o.Value.Person = ""
			if err := idempotencyKeys.Replace(tx, o); err != nil {
				return false, fmt.Errorf("engine: redact answer: %w", err)
			}
		}
		return more, nil
	})
}

// EraseObjects removes the personal data of objects from stored answers.
func (e *Engine) EraseObjects(ctx context.Context, in Within, ids map[string]bool) error {
	return Rewrite(ctx, e, idempotencyKeys, in, func(o *storage.Object[idempotencyRecord]) (bool, error) {
		redacted, is, err := pii.RedactObject(o.Value.Answer, ids)
		if err != nil || !is {
			return false, err
		}
		changed := !bytes.Equal(redacted, o.Value.Answer)
		o.Value.Answer = redacted
		return changed, nil
	})
}

// ForgetIdempotencyKeys returns the job that removes expired idempotency keys.
func (e *Engine) ForgetIdempotencyKeys() work.Job { return e.DeleteDue(idempotencyKeys.Kind()) }

// DeleteDue is a job that deletes the records of a kind when they are due.
func (e *Engine) DeleteDue(kind *storage.Kind) work.Job {
	return work.Job{
		Kind: kind, Timeout: time.Minute, Batch: 500,
		RunBatch: func(ctx context.Context, records []storage.Record) error {
			work.SetReport(ctx, work.Report{Name: "forgotten", Level: slog.LevelDebug})
			return e.Store.Update(ctx, func(tx storage.Tx) error {
				for _, r := range records {
					err := tx.Delete(kind, r.Scope, r.ID, r.Version)
					if err != nil && !errors.Is(err, storage.ErrConflict) && !errors.Is(err, storage.ErrNotFound) {
						return fmt.Errorf("engine: delete due %s: %w", kind.Name, err)
					}
				}
				return nil
			})
		},
	}
}
