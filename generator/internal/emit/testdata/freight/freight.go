// Package freight books parcels at the desk of a depot.
//
//mcp:server name=freight title="Freight desk" version=2.1.0 app=depot
//mcp:roles Guest < Clerk < DepotManager
//mcp:roles Auditor < DepotManager
//mcp:scopes freight:all > freight:read, freight:write
package freight

import (
	"context"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"example.com/freight/unit"
)

// Desk answers the calls.
type Desk struct {
	mu sync.Mutex
}

// Parcel is one thing to send.
type Parcel struct {
	ID     ID        `json:"id"`
	Status Status    `json:"status"`
	Weight unit.Mass `json:"weight,omitempty"`
	Stamps
	Labels  Labels `json:"labels"`
	Contact struct {
		Name string `json:"name" jsonschema:"description=who is called"`
	} `json:"contact"`
	Next *Parcel `json:"next,omitempty"`
	seen bool
}

// Stamps say when.
type Stamps struct {
	BookedAt time.Time `json:"booked_at"`
}

// ID names a parcel.
type ID string

// Labels are free words.
type Labels []string

// Status is where a parcel is.
type Status string

// The states of a parcel.
const (
	Booked  Status = "booked"
	Sent    Status = "sent"
	Arrived Status = "arrived"
)

// Page is a part of a list.
type Page[T any] struct {
	Items []T    `json:"items"`
	Next  string `json:"next,omitempty"`
}

// Note is an alias of a type of another package.
type Note = unit.Remark

// BookInput is what a booking needs.
type BookInput struct {
	Parcel Parcel `json:"parcel"`
	// Note is printed on the `label`.
	Note Note `json:"note"`
}

// BookParcel books a parcel.
//
// The desk answers with the parcel as booked: "<id>" & all.
//
//mcp:tool minrole=Clerk destructive=false denial=forbid scopes=freight:write,freight:read
//mcp:limit timeout=90s
func (d *Desk) BookParcel(ctx context.Context, in *BookInput) (Parcel, error) {
	return in.Parcel, nil
}

// Find lists parcels.
//
//mcp:tool minrole=Guest,Auditor readonly title="Find parcels"
//mcp:param limit minimum=1 maximum=100 default=10
func (d *Desk) Find(ctx context.Context, status Status, limit int, since *time.Time) (Page[Parcel], error) {
	return Page[Parcel]{}, nil
}

// Count counts parcels.
//
//mcp:tool public
func Count(ctx context.Context) (int, error) { return 0, nil }

// Purge forgets everything.
//
//mcp:tool minrole=DepotManager action=purge object=parcel destructive denial=conceal constrained
func (d *Desk) Purge(ctx context.Context) error { return nil }

// Inspect answers in go-sdk's own shape.
//
//mcp:tool action=none denial=challenge anyscope=freight:read,freight:look
func (d *Desk) Inspect(ctx context.Context, req *mcp.CallToolRequest, in BookInput) (*mcp.CallToolResult, Parcel, error) {
	return nil, in.Parcel, nil
}

// Sweep is for the scheduler.
//
//mcp:ignore reason="the scheduler calls it"
func (d *Desk) Sweep(ctx context.Context) error { return nil }
