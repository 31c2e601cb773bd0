package store

import (
	"slices"
	"testing"
)

// TestLossIsReportedOnceAndEvenIfItIsOver has a follower that takes nothing while connections are
// lost and made anew.
func TestLossIsReportedOnceAndEvenIfItIsOver(t *testing.T) {
	box := &mailbox{signal: make(chan struct{}, 1)}
	box.everything(1)
	for at := int64(2); at < 5; at++ {
		box.put(Change{Kind: ChangedOrg, Revision: at}, at)
		box.lost()
		box.lost()
		box.everything(at)
		box.put(Change{Kind: ChangedOrg, Revision: at}, at) // which that covers
	}
	box.put(Change{Kind: ChangedOrg, Revision: 5}, 5)
	var told []Change
	for c, ok := box.take(); ok; c, ok = box.take() {
		told = append(told, c)
	}
	if want := []Change{{Kind: Deaf}, {Kind: Everything, Revision: 5}}; !slices.Equal(told, want) {
		t.Errorf("%+v, want %+v", told, want)
	}
	box.lost()
	if c, ok := box.take(); !ok || c.Kind != Deaf {
		t.Errorf("%+v, %v", c, ok)
	}
	box.lost()
	if c, ok := box.take(); ok {
		t.Errorf("%+v is delivered twice", c)
	}
}
