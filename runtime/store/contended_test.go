package store_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpgen/mcpgen/internal/testdb"
	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/audit/chain"
	"github.com/mcpgen/mcpgen/runtime/grant"
	"github.com/mcpgen/mcpgen/runtime/store"
)

// TestChangeThatWaitsForAnotherHoldsUpNeitherEventsNorReaders has a process that hangs in a change,
// and more that wait for it than there are connections.
func TestChangeThatWaitsForAnotherHoldsUpNeitherEventsNorReaders(t *testing.T) {
	db := testdb.PostgreSQL(t)
	s := open(t, postgresURL(db, db.User))
	c := begin(t, s, "web-1")
	s.SealBy(c)
	hanging := must(db.Begin())
	defer hanging.Rollback()
	must(hanging.Exec(`UPDATE store_revision SET revision = revision`))
	const asking = 12
	// A machine under load may need longer for what is to happen meanwhile than a change waits:
	// then it is tried again.
	var errs chan error
	var cancel context.CancelFunc
	tries := 1
	for ; ; tries++ {
		var ctx context.Context
		ctx, cancel = context.WithCancel(t.Context())
		errs = make(chan error, asking)
		for i := range asking {
			go func() {
				_, err := s.RequestGrant(ctx, grant.Request{Permission: readA,
					Client: fmt.Sprint("c", i), Reason: "r"}, 20, ada)
				errs <- err
			}()
		}
		for column(t, db.DB, `SELECT count(*) FROM pg_locks WHERE NOT granted`)[0] == "0" {
			runtime.Gosched()
		}
		keep(t, c, audit.Event{Time: time.Now(), RequestID: "meanwhile"})
		must(s.GrantsOf(t.Context(), "", "x"))
		must(s.Revision(t.Context()))
		if len(errs) == 0 {
			break
		}
		if tries == 10 {
			t.Fatalf("what was recorded meanwhile has waited for a change: %v", <-errs)
		}
		cancel()
		for range asking {
			<-errs
		}
	}
	// One who waits for long gives up, and says why.
	if err := <-errs; err == nil || !strings.HasPrefix(err.Error(),
		"store: request permission: another change to the database has been running for 3s: try again") {
		t.Error(err)
	}
	cancel()
	for range asking - 1 {
		if err := <-errs; err == nil {
			t.Error("a change was made past another")
		}
	}
	if err := hanging.Rollback(); err != nil {
		t.Error(err)
	}
	must(s.RequestGrant(t.Context(), grant.Request{Permission: readA, Client: "x"}, 20, ada))
	if _, report := exported(t, s, chain.VerifyOptions{}); !report.Sound() ||
		int(report.Records) != tries+1 || report.Chains != 1 {
		t.Errorf("%+v", report)
	}
}

// TestChangesAndEventsOfReplicasDoNotWaitInARing has all at once what takes the chain's turn, the
// revision's row and a connection.
func TestChangesAndEventsOfReplicasDoNotWaitInARing(t *testing.T) {
	both(t, func(t *testing.T, url string) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		first := open(t, url)
		replicas := []*store.Store{first}
		if !isSQLite(url) {
			replicas = append(replicas, open(t, url))
		}
		var all sync.WaitGroup
		const each = 20
		for r, s := range replicas {
			c := begin(t, s, fmt.Sprint("web-", r))
			s.SealBy(c)
			for i := range each {
				all.Go(func() {
					if _, err := s.CreateOrg(ctx, fmt.Sprint(r, " ", i), ada); err != nil {
						t.Error(err)
					}
				})
				all.Go(func() {
					_, err := s.RequestGrant(ctx, grant.Request{Permission: readA,
						Client: fmt.Sprint(r, i)}, 20, ada)
					if err != nil {
						t.Error(err)
					}
				})
				all.Go(func() {
					if err := c.Record(ctx, audit.Event{Time: time.Now()}); err != nil {
						t.Error(err)
					}
					if _, err := s.GrantsOf(ctx, "", "x"); err != nil &&
						!errors.Is(err, context.Canceled) {
						t.Error(err)
					}
				})
			}
		}
		all.Wait()
		if _, report := exported(t, first, chain.VerifyOptions{}); !report.Sound() ||
			report.Chains != len(replicas) || int(report.Records) != 3*each*len(replicas) {
			t.Errorf("%+v", report)
		}
	})
}
