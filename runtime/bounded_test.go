package runtime

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
)

func TestBoundedContextEndsAtItsTime(t *testing.T) {
	for name, look := range map[string]func(*bounded) error{
		"asked afterwards": func(c *bounded) error { time.Sleep(time.Second); return c.Err() },
		"waited for":       func(c *bounded) error { <-c.Done(); return c.Err() },
		"by a derived context": func(c *bounded) error {
			derived, cancel := context.WithCancel(c)
			defer cancel()
			<-derived.Done()
			return derived.Err()
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := &bounded{values: t.Context(), deadline: time.Now().Add(time.Second)}
				if err := c.Err(); err != nil {
					t.Fatal(err)
				}
				begun := time.Now()
				if err := look(c); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("ended with %v", err)
				}
				if took := time.Since(begun); took != time.Second {
					t.Errorf("ended after %s", took)
				}
				<-c.Done()
			})
		})
	}
}

func TestBoundedContextEndsOnce(t *testing.T) {
	c := &bounded{values: t.Context(), deadline: time.Now().Add(time.Hour)}
	ran := make(chan struct{})
	stopped := context.AfterFunc(c, func() { t.Error("ran although it was stopped") })
	context.AfterFunc(c, func() { close(ran) })
	if !stopped() || stopped() {
		t.Error("a function is stopped once")
	}
	c.end(context.Canceled)
	c.end(context.DeadlineExceeded)
	<-ran
	<-c.Done()
	if c.Err() != context.Canceled {
		t.Errorf("ended with %v", c.Err())
	}
	late := make(chan struct{})
	stop := context.AfterFunc(c, func() { close(late) })
	<-late
	if stop() {
		t.Error("what has run was stopped")
	}
}

func TestBoundedContextHidesTheToken(t *testing.T) {
	type key struct{}
	rec := &record{}
	parent := context.WithValue(context.WithValue(t.Context(), key{}, "kept"), recordKey{}, &auth.TokenInfo{})
	c := &bounded{values: parent, record: rec}
	if c.Value(key{}) != "kept" || c.Value(recordKey{}) != rec {
		t.Error("values are lost")
	}
	if v := (&bounded{values: parent}).Value(recordKey{}); v != nil {
		t.Errorf("a token shows: %v", v)
	}
}
