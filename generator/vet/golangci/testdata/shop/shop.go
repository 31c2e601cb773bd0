// Package shop sells.
package shop

import "context"

// Buy buys.
//
//mcp:tool minrole=Meber
func Buy(ctx context.Context) error { return nil }

// Sell sells.
func Sell(ctx context.Context) error { return nil }
