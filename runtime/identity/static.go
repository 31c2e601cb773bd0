package identity

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/mcpgen/mcpgen/runtime/access"
)

const hashPrefix = "sha256:"

// HashToken returns the hash of a token for [Static]: "sha256:" and 64 hexadecimal digits. A
// configuration file can contain the hash in place of the token. Tokens have to be long and random:
// a hash does not hide a token that can be guessed.
func HashToken(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hashPrefix + hex.EncodeToString(sum[:])
}

// Static is a source with a fixed set of bearer tokens, for tests, demos and services with few
// callers. The keys are hashes by [HashToken], and the values are the principals of the tokens. A
// principal whose Subject is its Client is that client itself ([OfClientItself]). Tokens never
// expire. runtime.New fails if a key is no hash or a principal has no Subject.
//
// The source compares hashes, so that the time of a response contains nothing about a token.
func Static(principals map[string]access.Principal) Source {
	s := static{maps.Clone(principals), map[[sha256.Size]byte]access.Principal{}}
	for key, p := range principals {
		digits, ok := strings.CutPrefix(key, hashPrefix)
		raw, err := hex.DecodeString(digits)
		if ok && err == nil && len(raw) == sha256.Size && digits == strings.ToLower(digits) {
			s.byHash[[sha256.Size]byte(raw)] = p // Check reports other keys
		}
	}
	return s
}

type static struct {
	principals map[string]access.Principal
	byHash     map[[sha256.Size]byte]access.Principal
}

// ReadsMemoryOnly implements [MemoryReader].
func (static) ReadsMemoryOnly() {}

func (s static) Check() error {
	var errs []error
	for _, key := range slices.Sorted(maps.Keys(s.principals)) {
		digits, ok := strings.CutPrefix(key, hashPrefix)
		raw, err := hex.DecodeString(digits)
		if !ok || err != nil || len(raw) != sha256.Size || digits != strings.ToLower(digits) {
			// The key is not shown: it may be the token itself.
			errs = append(errs, fmt.Errorf("identity.Static: the key of principal %q is not a "+
				"token hash: use identity.HashToken(token)", s.principals[key].Subject))
			continue
		}
		if s.principals[key].Anonymous() {
			errs = append(errs,
				fmt.Errorf("identity.Static: the principal of %s has no Subject: set it", key))
		}
	}
	return errors.Join(errs...)
}

// Principals are in the order of their tokens' hashes.
func (s static) Principals() []access.Principal {
	var all []access.Principal
	for _, key := range slices.Sorted(maps.Keys(s.principals)) {
		all = append(all, s.principals[key])
	}
	return all
}

func (s static) Identify(r *http.Request) (Identity, error) {
	token, err := bearerToken(r)
	if err != nil {
		return Identity{}, err
	}
	p, ok := s.byHash[sha256.Sum256([]byte(token))]
	if !ok {
		return Identity{}, ErrInvalidToken
	}
	return Identity{Principal: p, ClientItself: OfClientItself(p), Scheme: "Bearer"}, nil
}
