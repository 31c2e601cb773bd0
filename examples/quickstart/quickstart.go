// Command quickstart serves two tools over stdio: one for everybody, one for Members.
//
//mcp:server name=quickstart version=0.1.0
package main

//go:generate go tool mcpgen

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// NowInput says whose time is asked for.
type NowInput struct {
	// Zone is an IANA time zone, such as Europe/Vienna.
	Zone string `json:"zone,omitempty" jsonschema:"default=UTC"`
}

// Moment is a point in time as people read it.
type Moment struct {
	Time    time.Time `json:"time"`
	Weekday string    `json:"weekday"`
}

// Now tells the time in a time zone.
//
//mcp:tool public readonly
func Now(ctx context.Context, in NowInput) (Moment, error) {
	zone, err := time.LoadLocation(in.Zone)
	if err != nil {
		return Moment{}, fmt.Errorf("zone: %w", err)
	}
	now := time.Now().In(zone)
	return Moment{Time: now, Weekday: now.Weekday().String()}, nil
}

// CountWords counts the words of a text.
//
//mcp:tool minrole=Member readonly
//mcp:param text description="The text to count." maxLength=100000
func CountWords(ctx context.Context, text string) (int, error) {
	return len(strings.Fields(text)), nil
}
