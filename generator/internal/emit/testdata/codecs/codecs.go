// Package codecs has arguments of every kind that generated code decodes.
//
//mcp:server name=codecs
//mcp:default public
package codecs

import (
	"context"
	"encoding/json"
	"math/big"
	"net/netip"
	"time"
)

// Octet is a byte of its own type.
type Octet byte

// Color is an enum.
type Color string

// The colors.
const (
	Red  Color = "red"
	Blue Color = "blue"
)

// Base is embedded by pointer.
type Base struct {
	ID int64 `json:"id" jsonschema:"minimum=1,maximum=4094"`
}

// Whole holds itself.
type Whole struct {
	*Base
	Name   string              `json:"name" jsonschema:"minLength=1,maxLength=8,pattern=^[a-z]+$"`
	Color  Color               `json:"color"`
	Mail   string              `json:"mail,omitempty" jsonschema:"format=email"`
	On     bool                `json:"on" jsonschema:"default=true"`
	Small  uint8               `json:"small"`
	Share  float64             `json:"share" jsonschema:"exclusiveMinimum=0,multipleOf=0.5"`
	Number json.Number         `json:"number"`
	Big    *big.Int            `json:"big"`
	At     time.Time           `json:"at" jsonschema:"default=2026-01-31T15:04:05Z"`
	Addr   netip.Addr          `json:"addr"`
	Blob   []byte              `json:"blob"`
	Octets []Octet             `json:"octets"`
	Sides  [3]int              `json:"sides"`
	Names  []string            `json:"names" jsonschema:"minItems=1,uniqueItems=true,default=a,default=b"`
	Keyed  map[string]Whole    `json:"keyed"`
	Shades map[Color]*int      `json:"shades"`
	Counts map[int8]bool       `json:"counts"`
	Sizes  map[uint16]bool     `json:"sizes"`
	Hosts  map[netip.Addr]bool `json:"hosts"`
	Any    any                 `json:"any"`
	Either any                 `json:"either" jsonschema:"oneof_type=string;integer"`
	Raw    json.RawMessage     `json:"raw"`
	Quoted int16               `json:"quoted,string" jsonschema:"default=7"`
	Ratio  float32             `json:"ratio,string"`
	Count  uint                `json:"count,string"`
	Sure   bool                `json:"sure,string"`
	Maybe  *string             `json:"maybe" jsonschema:"nullable,default=x"`
	Next   **Whole             `json:"next,omitempty"`
	Text   string              `json:"text,omitempty" jsonschema:"oneof_required=text"`
	File   string              `json:"file,omitempty" jsonschema:"oneof_required=file"`
}

// Take takes it.
//
//mcp:tool
func Take(ctx context.Context, in Whole) error { return nil }
