package party

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"
	"time"

	"github.com/seed-7082ffec/payments/account"
	"github.com/seed-7082ffec/payments/api"
	"github.com/seed-7082ffec/payments/internal/check"
	"github.com/seed-7082ffec/payments/internal/engine"
	"github.com/seed-7082ffec/payments/internal/ids"
	"github.com/seed-7082ffec/payments/storage"
)

// An API key is sk_test_ or sk_live_, then 43 characters of base 62 (256 bits) and a checksum of
// 6. The checksum lets the service reject a mistyped key without a read of the store. Secret
// scanners use it to skip texts that only look like a key.
const (
	testPrefix    = "sk_test_"
	livePrefix    = "sk_live_"
	secretChars   = 43
	checksumChars = 6
)

// lastUsedStep is the precision of LastUsed. A note of each use would turn every read into a
// write.
const lastUsedStep = time.Hour

type keyRecord struct {
	account.Key
	Hash string `json:"hash"` // SHA-256 of the secret, hexadecimal
	// Revoked ends the key at once, even in a process whose clock is behind.
	Revoked bool `json:"revoked,omitempty"`
}

// ended reports whether the key is no longer valid.
func (k *keyRecord) ended(now time.Time) bool {
	return k.Revoked || k.ExpiresAt != nil && !now.Before(k.ExpiresAt.Time)
}

var apiKeys = storage.NewCollection("api_keys", []storage.Field[keyRecord]{
	storage.TextColumn("hash", func(k *keyRecord) string { return k.Hash }),
}, storage.UniqueGlobally("hash", "hash"))

func (s *Service) CreateKey(ctx context.Context, caller api.Caller, p account.CreateKeyParams) (*account.Key, error) {
	if err := check.Text("name", p.Name, api.MaxName); err != nil {
		return nil, err
	}
	for i, resource := range p.Resources {
		if !api.IsResource(resource) {
			return nil, api.Invalid(fmt.Sprintf("resources[%d]", i), "resources[%d] is no resource. It must be one of %s.", i, strings.Join(api.Resources(), ", "))
		}
	}
	return s.executeKey(ctx, caller, engine.Operation{Name: "api_key.create", Params: p}, func(tx *engine.Tx, secret string) (*account.Key, error) {
		if _, err := getMerchant(tx, caller.Merchant); err != nil {
			return nil, err
		}
		return s.createKey(tx, p, secret)
	})
}

// executeKey runs a call that makes a key with this secret. It returns the secret to the first
// call. The stored answer has none.
func (s *Service) executeKey(ctx context.Context, caller api.Caller, op engine.Operation, fn func(tx *engine.Tx, secret string) (*account.Key, error)) (*account.Key, error) {
	secret := newSecret(caller.Live)
	var made *account.Key
	key, err := engine.Execute(ctx, s.engine, caller, op, func(tx *engine.Tx) (*account.Key, error) {
		var err error
		made, err = fn(tx, secret)
		return made, err
	})
	if err != nil {
		return nil, err
	}
	if key == made { // else key is the stored answer of an earlier call
		key.Secret = secret
	}
	return key, nil
}

func (s *Service) createKey(tx *engine.Tx, p account.CreateKeyParams, secret string) (*account.Key, error) {
	r := keyRecord{
		Key: account.Key{
			ID: tx.NewID("key_"), Object: "api_key", Name: p.Name, Hint: secret[:12] + "…" + secret[len(secret)-4:],
			Livemode: tx.Caller.Live, ReadOnly: p.ReadOnly, Resources: p.Resources, CreatedAt: api.At(s.engine.Clock()),
		},
		Hash: hashSecret(secret),
	}
	if _, err := apiKeys.Insert(tx, engine.Scope(tx.Caller), r.ID, r); err != nil {
		return nil, fmt.Errorf("account: create key: %w", err)
	}
	return &r.Key, nil
}

func (s *Service) RollKey(ctx context.Context, caller api.Caller, id string, p account.RollKeyParams) (*account.Key, error) {
	if p.Overlap < 0 {
		return nil, api.Invalid("overlap", "The overlap must not be negative.")
	}
	op := engine.Operation{Name: "api_key.roll", Params: struct {
		ID string `json:"id"`
		account.RollKeyParams
	}{id, p}}
	return s.executeKey(ctx, caller, op, func(tx *engine.Tx, secret string) (*account.Key, error) {
		o, err := engine.GetTx(tx, apiKeys, engine.Scope(caller), id, "API key")
		if err != nil {
			return nil, err
		}
		if o.Value.ended(s.engine.Clock()) {
			return nil, api.Invalid("id", "This API key has ended. Create a new one.")
		}
		if err := s.expire(tx, o, p.Overlap); err != nil {
			return nil, err
		}
		return s.createKey(tx, account.CreateKeyParams{Name: o.Value.Name, ReadOnly: o.Value.ReadOnly, Resources: o.Value.Resources}, secret)
	})
}

func (s *Service) RevokeKey(ctx context.Context, caller api.Caller, id string) error {
	return s.engine.Update(ctx, caller, func(tx *engine.Tx) error {
		o, err := engine.GetTx(tx, apiKeys, engine.Scope(caller), id, "API key")
		if err != nil {
			return err
		}
		return s.expire(tx, o, 0)
	})
}

func (s *Service) expire(tx *engine.Tx, o *storage.Object[keyRecord], in time.Duration) error {
	tx.OnCommit(s.keyCache.forget) // another process may have ended the key, and this one may still cache it
	k, at := &o.Value, s.engine.Clock().Add(in)
	earlier, revokes := k.ExpiresAt == nil || at.Before(k.ExpiresAt.Time), in == 0 && !k.Revoked
	if !earlier && !revokes {
		return nil
	}
	if earlier {
		k.ExpiresAt = api.AtOrNil(at)
	}
	k.Revoked = k.Revoked || revokes
	return apiKeys.Replace(tx, o)
}

func (s *Service) ListKeys(ctx context.Context, caller api.Caller, p api.Page) (*api.List[account.Key], error) {
	listing := engine.Listing[keyRecord, account.Key]{
		Collection: apiKeys, Noun: "API key", Show: func(r *keyRecord) account.Key { return r.Key },
	}
	return listing.List(ctx, s.engine, storage.Query{Scope: engine.Scope(caller)}, p)
}

var errKey = api.Errorf(api.APIKeyInvalid, "", "The API key is not valid. Send a current secret key as Authorization: Bearer sk_….")

func (s *Service) Authenticate(ctx context.Context, secret string) (account.Access, error) {
	if !wellFormed(secret) {
		return account.Access{}, errKey
	}
	now, hash := s.engine.Clock(), keyHash(sha256.Sum256([]byte(secret)))
	inside := s.engine.Host != nil // the host may roll back, so the key may never come to exist
	if access, ok := s.keyCache.find(hash, now); ok && !inside && ctx.Err() == nil {
		access.Resources = slices.Clone(access.Resources)
		return access, nil
	}
	reading, began := s.keyCache.begin()
	o, err := apiKeys.FindOne(ctx, s.engine.Store, "hash", storage.Scope{}, hex.EncodeToString(hash[:]))
	if errors.Is(err, storage.ErrNotFound) {
		return account.Access{}, errKey
	}
	if err != nil {
		return account.Access{}, fmt.Errorf("account: find key: %w", err)
	}
	now = s.engine.Clock()
	if o.Value.ended(now) {
		return account.Access{}, errKey
	}
	used := o.Value.LastUsed
	if used == nil || now.Sub(used.Time) >= lastUsedStep {
		s.noteUse(ctx, o, now)
		used = api.AtOrNil(now)
	}
	access := account.Access{
		Merchant: o.Scope.Merchant, Live: o.Scope.Live,
		ReadOnly: o.Value.ReadOnly, Resources: o.Value.Resources,
	}
	if !inside {
		known := cachedKey{access: access, lastUsed: used.Time, ends: o.Value.ExpiresAt, until: began.Add(keyCacheTTL)}
		known.access.Resources = slices.Clone(access.Resources)
		s.keyCache.keep(reading, hash, known)
	}
	return access, nil
}

// noteUse stores the time of use. A call does not fail when this write fails.
func (s *Service) noteUse(ctx context.Context, o *storage.Object[keyRecord], now time.Time) {
	err := s.engine.Store.Update(ctx, func(tx storage.Tx) error {
		noted := *o
		noted.Value.LastUsed = api.AtOrNil(now)
		return apiKeys.Replace(tx, &noted)
	})
	if err != nil && !errors.Is(err, storage.ErrConflict) { // another request has stored it
		s.engine.Log.WarnContext(ctx, "the use of an API key could not be noted", "key", o.ID, "error", err)
	}
}

func newSecret(live bool) string {
	prefix := testPrefix
	if live {
		prefix = livePrefix
	}
	body := prefix + ids.Secret(rand.Reader, secretChars)
	return body + checksum(body)
}

func wellFormed(secret string) bool {
	if !strings.HasPrefix(secret, testPrefix) && !strings.HasPrefix(secret, livePrefix) {
		return false
	}
	if len(secret) != len(testPrefix)+secretChars+checksumChars || !ids.IsBase62(secret[len(testPrefix):]) {
		return false
	}
	body := secret[:len(secret)-checksumChars]
	return checksum(body) == secret[len(body):]
}

// checksum is CRC-32 in base 62, which takes exactly six characters.
func checksum(body string) string {
	return ids.Base62(int64(crc32.ChecksumIEEE([]byte(body))), checksumChars)
}

func hashSecret(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}
