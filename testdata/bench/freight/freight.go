// Package freight is what the benchmarks call: one tool with five constrained fields.
//
//mcp:server name=freight version=1.0.0
package freight

import "context"

//go:generate go tool mcpgen

// Speed is how a parcel travels.
type Speed string

// The speeds.
const (
	Slow    Speed = "slow"
	Fast    Speed = "fast"
	Express Speed = "express"
)

// Booking is a parcel to be sent.
type Booking struct {
	// Parcel is its number.
	Parcel string `json:"parcel" jsonschema:"minLength=3,maxLength=32,pattern=^[A-Z]+-[0-9]+$"`
	// Depot is where it stands.
	Depot int `json:"depot" jsonschema:"minimum=1,maximum=4094"`
	// Weight is in kilogrammes.
	Weight float64 `json:"weight" jsonschema:"minimum=0,maximum=1000"`
	// Speed is how fast it goes.
	Speed Speed `json:"speed"`
	// Labels are stuck on it.
	Labels []string `json:"labels" jsonschema:"minItems=1,maxItems=8,uniqueItems=true"`
}

// Receipt says what was booked.
type Receipt struct {
	Number string   `json:"number"`
	Depot  int      `json:"depot"`
	Labels []string `json:"labels"`
}

// Book books a parcel.
//
//mcp:tool minrole=Member
func Book(ctx context.Context, in Booking) (Receipt, error) {
	return Receipt{Number: "R-" + in.Parcel, Depot: in.Depot, Labels: in.Labels}, nil
}
