// Package parts sells parts.
//
//mcp:server name=parts client=client
package parts

import "context"

// Receipt is a receipt.
type Receipt struct {
	Total int `json:"total"`
}

// Order orders pieces of an article.
//
//mcp:tool minrole=Member
//mcp:param pieces minimum=1
func Order(ctx context.Context, article string, pieces int) (Receipt, error) {
	return Receipt{Total: 2 * pieces}, nil
}
