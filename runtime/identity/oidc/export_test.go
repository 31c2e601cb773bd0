package oidc

import "time"

// SetRefreshInterval lets a test with a real network go on without waiting. No token may have come
// yet.
func (s *Source) SetRefreshInterval(d time.Duration) {
	for _, i := range s.issuers {
		i.keys.interval, i.metadata.interval = d, d
	}
}

// Remembered is how many responses about opaque tokens are kept.
func (s *Source) Remembered() int {
	n, _ := s.issuers[0].introspector.cache.Len()
	return n
}

// Questions is how many queries about opaque tokens run or wait for their turn.
func (s *Source) Questions() int { return s.issuers[0].introspector.cache.Loading() }

// MaxUnknown is how many requests with unknown keys wait at most.
const MaxUnknown = maxUnknown

// Limits of fetches and of the cache.
const (
	DefaultKeyPeriod   = defaultKeyPeriod
	DefaultStalePeriod = defaultStalePeriod
	MaxCache           = maxCache
	RefreshInterval    = refreshInterval
	RetryInterval      = retryInterval
)
