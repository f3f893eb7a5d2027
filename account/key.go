package account

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

// Key is an API key of a merchant. The store keeps only a hash of the secret.
type Key struct {
	ID     string `json:"id"`     // key_…
	Object string `json:"object"` // always "api_key"
	Name   string `json:"name"`
	// Secret is set only on the key that CreateKey and RollKey return.
	Secret string `json:"secret,omitempty"`
	// Hint is the beginning and the end of the secret, so that people recognise the key.
	Hint     string `json:"hint"`
	Livemode bool   `json:"livemode"`
	// ReadOnly keys cannot change anything.
	ReadOnly bool `json:"read_only"`
	// Resources limits the key to some of [api.Resources], such as "qr_codes". Nil allows all, an
	// empty list nothing.
	Resources []string  `json:"resources,omitzero"`
	CreatedAt api.Time  `json:"created_at"`
	LastUsed  *api.Time `json:"last_used,omitempty"` // exact to the hour
	// ExpiresAt is the time when the key ends, by a revocation or at the end of a roll's overlap.
	ExpiresAt *api.Time `json:"expires_at,omitempty"`
}

type keyRecord struct {
	Key
	Hash string `json:"hash"` // SHA-256 of the secret, hexadecimal
	// Revoked ends the key whatever the clock says, which may be behind in another process.
	Revoked bool `json:"revoked,omitempty"`
}

// ended reports whether the key is no longer valid.
func (k *keyRecord) ended(now time.Time) bool {
	return k.Revoked || k.ExpiresAt != nil && !now.Before(k.ExpiresAt.Time)
}

var apiKeys = storage.NewCollection("api_keys", []storage.Field[keyRecord]{
	storage.TextColumn("hash", func(k *keyRecord) string { return k.Hash }),
}, storage.UniqueGlobally("hash", "hash"))

// CreateKeyParams describe a new key. The zero value makes a key without limits.
type CreateKeyParams struct {
	Name     string
	ReadOnly bool
	// Resources limits the key to some of [api.Resources]. Nil allows all, an empty list nothing.
	Resources []string
}

// Access holds the rights of a valid key.
type Access struct {
	Merchant  string
	Live      bool
	ReadOnly  bool
	Resources []string
}

// Allows reports whether the key may read, or change, a resource such as "qr_codes".
func (a Access) Allows(resource string, write bool) bool {
	if write && a.ReadOnly {
		return false
	}
	return a.Resources == nil || slices.Contains(a.Resources, resource)
}

// CreateKey makes a key for the caller's merchant and mode. Only this answer has the secret; it
// cannot be read again. This and the other methods of keys do not check who calls: let only the operator
// and the merchant's own people use them.
//
// With an idempotency key a replay makes no other key. It returns the same key without its Secret:
// the store keeps only a hash, so a stolen database reveals no key. A caller that lost the first
// answer revokes the key and creates another.
//
// Refusals: parameter_invalid (name, resources[0]), resource_missing.
func (s *Service) CreateKey(ctx context.Context, caller api.Caller, p CreateKeyParams) (*Key, error) {
	if err := check.Text("name", p.Name, api.MaxName); err != nil {
		return nil, err
	}
	for i, resource := range p.Resources {
		if !api.IsResource(resource) {
			return nil, api.Invalid(fmt.Sprintf("resources[%d]", i), "resources[%d] is no resource. It must be one of %s.", i, strings.Join(api.Resources(), ", "))
		}
	}
	return s.executeKey(ctx, caller, engine.Operation{Name: "api_key.create", Params: p}, func(tx *engine.Tx, secret string) (*Key, error) {
		if _, err := getMerchant(tx, caller.Merchant); err != nil {
			return nil, err
		}
		return s.createKey(tx, p, secret)
	})
}

// executeKey runs a call that makes a key with this secret. It returns the secret to the first
// call. The stored answer has none.
func (s *Service) executeKey(ctx context.Context, caller api.Caller, op engine.Operation, fn func(tx *engine.Tx, secret string) (*Key, error)) (*Key, error) {
	secret := newSecret(caller.Live)
	var made *Key
	key, err := engine.Execute(ctx, s.engine, caller, op, func(tx *engine.Tx) (*Key, error) {
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

func (s *Service) createKey(tx *engine.Tx, p CreateKeyParams, secret string) (*Key, error) {
	r := keyRecord{
		Key: Key{
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

// RollKeyParams describe the roll of a key.
type RollKeyParams struct {
	// Overlap is the time for which the old key still works; zero ends it at once.
	Overlap time.Duration `json:"overlap"`
}

// RollKey makes a new key with the old one's rights. The old key works until the overlap ends, so
// that the merchant has time to deploy the new one. In other processes an overlap under a second
// may last a second, see [Service.RevokeKey]. RollKey refuses an ended key with
// parameter_invalid. With an idempotency key, a replay answers as in CreateKey.
func (s *Service) RollKey(ctx context.Context, caller api.Caller, id string, p RollKeyParams) (*Key, error) {
	if p.Overlap < 0 {
		return nil, api.Invalid("overlap", "The overlap must not be negative.")
	}
	op := engine.Operation{Name: "api_key.roll", Params: struct {
		ID string `json:"id"`
		RollKeyParams
	}{id, p}}
	return s.executeKey(ctx, caller, op, func(tx *engine.Tx, secret string) (*Key, error) {
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
		return s.createKey(tx, CreateKeyParams{Name: o.Value.Name, ReadOnly: o.Value.ReadOnly, Resources: o.Value.Resources}, secret)
	})
}

// RevokeKey ends a key. When it returns, this process refuses the key. Other processes refuse it
// within a second. Inside a host's transaction, this counts from Wake; without Wake, all processes
// refuse the key within a second of the commit. Revoking a key again changes nothing. An unknown id
// is resource_missing.
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

// ListKeys returns the keys of the caller's merchant and mode, newest first.
func (s *Service) ListKeys(ctx context.Context, caller api.Caller, p api.Page) (*api.List[Key], error) {
	listing := engine.Listing[keyRecord, Key]{
		Collection: apiKeys, Noun: "API key", Show: func(r *keyRecord) Key { return r.Key },
	}
	return listing.List(ctx, s.engine, storage.Query{Scope: engine.Scope(caller)}, p)
}

var errKey = api.Errorf(api.APIKeyInvalid, "", "The API key is not valid. Send a current secret key as Authorization: Bearer sk_….")

// Authenticate returns the rights of a valid key. It refuses any key that is not valid with
// api_key_invalid, whatever the reason. It reads a valid key from the store at most once a second;
// see [Service.RevokeKey].
func (s *Service) Authenticate(ctx context.Context, secret string) (Access, error) {
	if !wellFormed(secret) {
		return Access{}, errKey
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
		return Access{}, errKey
	}
	if err != nil {
		return Access{}, fmt.Errorf("account: find key: %w", err)
	}
	now = s.engine.Clock()
	if o.Value.ended(now) {
		return Access{}, errKey
	}
	used := o.Value.LastUsed
	if used == nil || now.Sub(used.Time) >= lastUsedStep {
		s.noteUse(ctx, o, now)
		used = api.AtOrNil(now)
	}
	access := Access{
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
