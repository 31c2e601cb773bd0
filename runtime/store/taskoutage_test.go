package store_test

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"net/url"
	"path"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/task"
	"github.com/mcpgen/mcpgen/runtime/toolset"
)

// outage returns functions that make a database of PostgreSQL unreachable, and reachable again.
func outage(t *testing.T, database string) (begin, end func()) {
	t.Helper()
	at := must(url.Parse(database))
	name := path.Base(at.Path)
	at.Path = "/postgres"
	query := func(text string) {
		db := must(sql.Open("pgx", at.String()))
		defer db.Close()
		_, err := db.Exec(text)
		do(t, err)
	}
	return func() {
			query("ALTER DATABASE " + name + " ALLOW_CONNECTIONS false")
			query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '" + name +
				"'")
		}, func() {
			query("ALTER DATABASE " + name + " ALLOW_CONNECTIONS true")
		}
}

// Time is that of a bubble, in which databases answer at once.
func TestTasksOutliveAnOutageOfTheirDatabase(t *testing.T) {
	url := engines["postgresql"](t)
	synctest.Test(t, func(t *testing.T) {
		release := map[string]chan struct{}{}
		tools := func() (made []toolset.Tool) {
			for _, name := range []string{"during", "after"} {
				release[name] = make(chan struct{})
				made = append(made, toolset.Tool{Name: name, Task: toolset.TaskOptional,
					Timeout: time.Hour,
					Call: func(ctx context.Context, _ toolset.Call) (toolset.Result, error) {
						select {
						case <-ctx.Done():
							return toolset.Result{}, ctx.Err()
						case <-release[name]:
							return toolset.Structured(map[string]bool{"done": true}, nil)
						}
					}})
			}
			return made
		}
		sink, w := counted{make(chan audit.Event, 100)}, make(watch, 1)
		b := replicaOf(t, w, url, tools(), sink)
		a := replicaOf(t, w, url, tools(), sink)
		during, after := startTask(t, a, "during"), startTask(t, a, "after")
		lost := startTask(t, a, "after")
		sum := sha256.Sum256([]byte(lost))
		kept := open(t, url).Tasks()
		must(kept.Change(t.Context(), task.Owner{Subject: "bob", Client: "ide"},
			hex.EncodeToString(sum[:]), func(r *task.Record) error { r.Run = "dead"; return nil }))
		read := func(url, id string) string {
			return sendTask(t, url, "bob", "tasks/get", id, `"taskId":"`+id+`"`)
		}
		begin, end := outage(t, url)
		begin()
		close(release["during"])
		time.Sleep(90 * time.Second) // three leases
		for _, url := range []string{a, b} {
			for _, id := range []string{during, after, lost} {
				if got := read(url, id); !strings.Contains(got, "try again") {
					t.Error(got)
				}
			}
		}
		end()
		time.Sleep(2 * time.Minute)
		close(release["after"])
		time.Sleep(time.Second)
		for _, url := range []string{a, b} {
			for _, id := range []string{during, after} {
				if got := read(url, id); !strings.Contains(got, `"done":true`) {
					t.Error(got)
				}
			}
			if got := read(url, lost); !strings.Contains(got, "ended without a result") {
				t.Error(got)
			}
		}
		if n := len(sink.ended); n != 3 {
			t.Errorf("%d records of the ends of 3 tasks", n)
		}
	})
}
