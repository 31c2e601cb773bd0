package oidc

import "time"

// SetRefreshInterval lets a test with a real network go on without waiting. No token may have come yet.
func (s *Source) SetRefreshInterval(d time.Duration) {
	for _, i := range s.issuers {
		i.keys.interval, i.metadata.interval = d, d
	}
}
