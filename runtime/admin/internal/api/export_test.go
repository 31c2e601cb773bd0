package api

import "time"

// Exporting is how many exports are under way.
func (a *API) Exporting() int { return a.exports.UnderWay() }

// Hurry has a body come within d.
func (a *API) Hurry(d time.Duration) { a.patience = d }
