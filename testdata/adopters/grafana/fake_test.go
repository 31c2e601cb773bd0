package grafana_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
)

// upstream plays Grafana, and keeps what it is requested.
type upstream struct {
	*httptest.Server
	mu       sync.Mutex
	requests []string
}

// take returns the requests since the last call, sorted.
func (u *upstream) take() []string {
	u.mu.Lock()
	defer u.mu.Unlock()
	requests := u.requests
	u.requests = nil
	slices.Sort(requests)
	return requests
}

func newUpstream(t *testing.T) *upstream {
	u := &upstream{}
	u.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		// Both servers keep the settings for the life of the process.
		if r.URL.Path != "/api/frontend/settings" {
			u.mu.Lock()
			u.requests = append(u.requests, strings.Join([]string{r.Method, r.URL.RequestURI(),
				r.Header.Get("Authorization"), r.Header.Get("Content-Type"),
				strings.TrimSpace(string(body))}, " "))
			u.mu.Unlock()
		}
		w.Header().Set("Content-Type", "application/json")
		answer, ok := answers[r.Method+" "+r.URL.Path]
		if token := r.Header.Get("Authorization"); !ok || token != "Bearer "+serviceAccount {
			status := http.StatusNotFound
			if ok {
				status = http.StatusUnauthorized
			}
			w.WriteHeader(status)
			answer = `{"message":"` + http.StatusText(status) + `"}`
		}
		if !json.Valid([]byte(answer)) {
			t.Errorf("the answer to %s %s is no JSON", r.Method, r.URL.Path)
		}
		_, _ = io.WriteString(w, answer)
	}))
	t.Cleanup(u.Close)
	return u
}

// answers are what Grafana returns, by method and path. Others are not found.
var answers = map[string]string{
	"GET /api/frontend/settings": `{"appUrl":"https://grafana.example/","namespace":"default",
		"buildInfo":{"version":"12.1.0"}}`,
	"GET /api/user": `{"login":"ada","email":"ada@example.org","name":"Ada","orgId":1}`,
	"GET /api/org":  `{"id":1,"name":"Main"}`,
	"GET /api/user/orgs": `[{"orgId":1,"name":"Main","role":"Admin"},
		{"orgId":2,"name":"Lab","role":"Viewer"}]`,
	"GET /api/search": `[{"id":1,"uid":"cpu","title":"CPU <load> & \"heat\"","type":"dash-db",
		"url":"/d/cpu","tags":["prod"],"folderUid":"ops","folderTitle":"Ops"}]`,
	"POST /api/folders": `{"id":7,"uid":"lab","title":"Lab","version":1,
		"created":"2026-01-02T03:04:05Z"}`,
	"GET /api/teams/search": `{"totalCount":1,"page":1,"perPage":1000,"teams":[
		{"id":3,"uid":"t3","name":"Compilers","memberCount":2,"orgId":1}]}`,
	"GET /api/org/users": `[{"userId":1,"orgId":1,"login":"ada","email":"ada@example.org",
		"role":"Admin","lastSeenAt":"2026-01-02T03:04:05Z"}]`,
	"GET /api/access-control/roles": `[{"uid":"r1","name":"fixed:reader","version":1,
		"updated":"2026-01-02T03:04:05Z"}]`,
	"GET /api/access-control/roles/r1": `{"uid":"r1","name":"fixed:reader","version":1,
		"permissions":[{"action":"dashboards:read","scope":"dashboards:*"}]}`,
	"GET /api/access-control/roles/r1/assignments": `{"role_uid":"r1","users":[1],"teams":[3]}`,
	"POST /api/access-control/users/roles/search":  `{"1":[{"uid":"r1","name":"fixed:reader"}]}`,
	"POST /api/access-control/teams/roles/search":  `{"3":[{"uid":"r1","name":"fixed:reader"}]}`,
	"GET /api/access-control/dashboards/cpu": `[{"id":1,"permission":"Edit","userLogin":"ada",
		"actions":["dashboards:read","dashboards:write"]}]`,
	"GET /api/access-control/dashboards/description": `{"assignments":{"users":true,
		"teams":true},"permissions":["View","Edit","Admin"]}`,
	"GET /api/annotations":           `[{"id":9,"text":"deploy","time":1700000000000,"tags":["ci"]}]`,
	"POST /api/annotations":          `{"id":10,"message":"Annotation added"}`,
	"POST /api/annotations/graphite": `{"id":11,"message":"Graphite annotation added"}`,
	"PATCH /api/annotations/9":       `{"message":"Annotation patched"}`,
	"GET /api/annotations/tags":      `{"result":{"tags":[{"tag":"ci","count":4}]}}`,
	"GET /api/datasources": `[{"id":1,"uid":"prom","name":"prometheus-prod","type":"prometheus",
		"isDefault":true},{"id":2,"uid":"loki","name":"loki-prod","type":"loki"}]`,
	"GET /api/datasources/uid/prom": `{"id":1,"uid":"prom","name":"prometheus-prod",
		"type":"prometheus","url":"http://prometheus:9090","jsonData":{"httpMethod":"POST"}}`,
	"GET /api/dashboards/uid/cpu": `{"meta":{"slug":"cpu","folderUid":"ops","version":4},
		"dashboard":{"id":1,"uid":"cpu","title":"CPU","tags":["prod"],"refresh":"30s",
		"time":{"from":"now-1h","to":"now"},"templating":{"list":[{"name":"host","type":"query"}]},
		"panels":[{"id":1,"title":"Load","type":"timeseries",
		"datasource":{"uid":"prom","type":"prometheus"},
		"targets":[{"refId":"A","expr":"load1{host=\"$host\"}"}]}]}}`,
	"POST /api/dashboards/db": `{"id":1,"uid":"cpu","status":"success","version":5,
		"url":"/d/cpu","slug":"cpu"}`,
	"GET /api/dashboard/snapshots": `[{"id":5,"name":"before","key":"k5","orgId":1,"userId":1,
		"expires":"2050-01-01T00:00:00Z"}]`,
	"GET /api/snapshots/k5":    `{"meta":{"isSnapshot":true},"dashboard":{"title":"CPU"}}`,
	"POST /api/snapshots":      `{"id":6,"key":"k6","deleteKey":"d6","url":"/s/k6"}`,
	"DELETE /api/snapshots/k5": `{"id":5,"message":"Snapshot deleted"}`,
}
