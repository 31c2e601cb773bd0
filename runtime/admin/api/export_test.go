package api

import "time"

// Hurry has a body come within d.
func (a *API) Hurry(d time.Duration) { a.patience = d }
