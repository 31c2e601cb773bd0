package store

import (
	"slices"
	"testing"

	"github.com/mcpgen/mcpgen/runtime/internal/storechange"
)

// TestLossIsReportedOnceAndEvenIfItIsOver has a follower that takes nothing while connections are
// lost and made anew.
func TestLossIsReportedOnceAndEvenIfItIsOver(t *testing.T) {
	box := &mailbox{signal: make(chan struct{}, 1)}
	box.everything(1)
	for at := int64(2); at < 5; at++ {
		box.put(storechange.Change{Kind: storechange.Org, Revision: at}, at)
		box.lost()
		box.lost()
		box.everything(at)
		box.put(storechange.Change{Kind: storechange.Org, Revision: at}, at) // which that covers
	}
	box.put(storechange.Change{Kind: storechange.Org, Revision: 5}, 5)
	var told []storechange.Change
	for c, ok := box.take(); ok; c, ok = box.take() {
		told = append(told, c)
	}
	if want := []storechange.Change{{Kind: storechange.Deaf}, {Kind: storechange.Everything, Revision: 5}}; !slices.Equal(told, want) {
		t.Errorf("%+v, want %+v", told, want)
	}
	box.lost()
	if c, ok := box.take(); !ok || c.Kind != storechange.Deaf {
		t.Errorf("%+v, %v", c, ok)
	}
	box.lost()
	if c, ok := box.take(); ok {
		t.Errorf("%+v is delivered twice", c)
	}
}
