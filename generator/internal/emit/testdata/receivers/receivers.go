// Package receivers has receivers of every kind and its roles in a const block.
//
//mcp:server name=receivers prefix=shop_
//mcp:default authenticated
package receivers

import (
	"context"
	"net/netip"
	"net/url"
)

// Role says what somebody may do.
type Role int

// The roles of the shop.
//
//mcp:roles
const (
	Visitor Role = iota * 10
	Seller
	Owner
)

// Till is an interface, so that a generic instance can answer.
type Till interface {
	// Pay takes money.
	//
	//mcp:tool minrole=Seller
	Pay(ctx context.Context, in Payment) (Receipt, error)
	// Close closes the till.
	//
	//mcp:tool minrole=Owner
	Close(ctx context.Context) error
}

// Shelf answers by value.
type Shelf struct{ Size int }

// Pay puts something back and shares its name with the till's.
//
//mcp:tool
func (s Shelf) Pay(ctx context.Context, in Payment, _ ShelfPayAnnotated) (Receipt, error) {
	return Receipt{}, nil
}

// Payment is what is paid.
type Payment struct {
	Cents int64 `json:"cents"`
	Level Level `json:"level"`
}

// Level is a number whose values stand apart.
type Level int

// Receipt is what is given back.
type Receipt struct {
	Page url.URL    `json:"page"`
	From netip.Addr `json:"from"`
	Sign Sign       `json:"sign"`
}

// Sign is a number that writes itself.
type Sign int

// MarshalJSON writes a sign.
func (s Sign) MarshalJSON() ([]byte, error) { return []byte(`"+"`), nil }
