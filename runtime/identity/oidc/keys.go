package oidc

import (
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-jose/go-jose/v4"
)

const (
	// maxKeys bounds a key set: a token without a key id is tried with each.
	maxKeys = 64
	// maxUnknown bounds the requests of one issuer that wait for an unknown key.
	maxUnknown = 64
	// RFC 7518, section 3.3 requires 2048 bits; the time of a check grows with their square.
	minRSABits, maxRSABits = 2048, 8192
)

// key is a public key that can verify tokens.
type key struct {
	id     string
	alg    string // the only algorithm that it is for; "" for all of its type
	public any    // *rsa.PublicKey, *ecdsa.PublicKey or ed25519.PublicKey
}

// suits reports whether a token with this header may be verified with the key. The type of the
// key decides which algorithms are possible, never the header.
func (k key) suits(h header) bool {
	if k.alg != "" && k.alg != h.alg || h.kid != "" && k.id != h.kid {
		return false
	}
	switch public := k.public.(type) {
	case *rsa.PublicKey:
		return strings.HasPrefix(h.alg, "RS") || strings.HasPrefix(h.alg, "PS")
	case *ecdsa.PublicKey: // RFC 7518, section 3.4: one curve each
		algs := map[int]string{256: "ES256", 384: "ES384", 521: "ES512"}
		return h.alg == algs[public.Curve.Params().BitSize]
	case ed25519.PublicKey:
		return h.alg == "EdDSA"
	}
	return false
}

// fetchKeys reads an issuer's key set (RFC 7517, section 5).
func (i *issuer) fetchKeys(ctx context.Context) ([]key, error) {
	from := i.settings.KeysURL
	if from == "" {
		m, err := i.metadata.get(ctx)
		if err != nil {
			return nil, err
		}
		if from = m.value.keys; from == "" {
			return nil, errors.New("its metadata has no keys (jwks_uri): set KeysURL")
		}
	}
	_, body, err := i.web.get(ctx, from)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", from, err)
	}
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(body, &set); err != nil || set.Keys == nil {
		return nil, fmt.Errorf("%s: returned a body that is no key set", from)
	}
	if len(set.Keys) > maxKeys {
		return nil, fmt.Errorf("%s: has %d keys, more than %d", from, len(set.Keys), maxKeys)
	}
	var keys []key
	for _, raw := range set.Keys {
		if k, ok := readKey(raw); ok {
			keys = append(keys, k)
		}
	}
	if len(keys) == 0 {
		return nil, fmt.Errorf("%s: has no key for verifying a token", from)
	}
	return keys, nil
}

// readKey reads one key. A key that is not for signatures, is too weak, or has an unknown type is
// left out (RFC 7517, section 5), and so is a private or a shared one, which its issuer should not
// have published.
func readKey(raw []byte) (key, bool) {
	var k jose.JSONWebKey
	if err := k.UnmarshalJSON(raw); err != nil || !k.Valid() || !k.IsPublic() ||
		k.Use != "" && k.Use != "sig" {
		return key{}, false
	}
	var more struct {
		Operations []string `json:"key_ops"` // RFC 7517, section 4.3; go-jose does not read it
	}
	if err := json.Unmarshal(raw, &more); err != nil ||
		more.Operations != nil && !slices.Contains(more.Operations, "verify") {
		return key{}, false
	}
	switch public := k.Key.(type) {
	case *rsa.PublicKey:
		if bits := public.N.BitLen(); bits < minRSABits || bits > maxRSABits {
			return key{}, false
		}
	case *ecdsa.PublicKey, ed25519.PublicKey:
	default:
		return key{}, false
	}
	return key{id: k.KeyID, alg: k.Algorithm, public: k.Key}, true
}
