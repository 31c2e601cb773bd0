package api_test

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"

	"github.com/mcpgen/mcpgen/runtime"
)

func TestPlaceThatIsFullIsAConflictWithThatReason(t *testing.T) {
	url := engines["sqlite"](t)
	w := newWorld(t, url, runtime.Options{})
	db := must(sql.Open("sqlite", strings.TrimPrefix(url, "sqlite:")))
	defer db.Close()
	must(db.Exec(fmt.Sprintf(`INSERT INTO teams (org_id, name, created_at, updated_at)
		WITH RECURSIVE n (i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < 1000) SELECT %d, 'team ' || i, 1, 1 FROM n`, w.acme.ID)))
	got := w.send("root", "POST", "/api/v1/admin/teams", fmt.Sprintf(`{"org_id":"%d","name":"one too many"}`, w.acme.ID))
	if want := fmt.Sprintf("organization %d has 1000 teams, which is the most: remove one first", w.acme.ID); got.status != 409 || !strings.Contains(got.body, want) {
		t.Errorf("%s", got)
	}
}
