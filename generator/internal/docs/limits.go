package main

import (
	"fmt"
	"go/types"
	"regexp"
	"strings"
)

// limit is one bound of the table: a constant, and what it bounds.
type limit struct {
	dir, name string
	about     string
	option    string // that sets it; empty for a fixed one
	bytes     bool
}

// bounds has the limits by topic. The values are read from the source.
var bounds = []struct {
	topic  string
	limits []limit
}{
	{"Requests and sessions", []limit{
		{"runtime", "defaultMaxBody",
			"body of a request; on stdio, a line", "HTTP.MaxBody", true},
		{"runtime/internal/transport", "maxHandshakeBytes",
			"client information in `initialize`", "", true},
		{"runtime/internal/transport", "BodyReadTimeout",
			"time to send a body, and to read 64 KiB of a response", "", false},
		{"runtime/internal/transport", "maxUnread",
			"responses that one user leaves unread for a second; then 429", "", true},
		{"runtime/internal/transport", "maxRefused",
			"refused bodies above 16 KiB of one caller or address at once; then they are not read, and " +
				"a caller gets 429", "", true},
		{"runtime/internal/transport", "refusedRate",
			"such bodies a second after that", "", true},
		{"runtime", "defaultSessionTimeout",
			"time without a request after which a session ends", "HTTP.SessionTimeout", false},
		{"runtime/internal/transport", "KeepAlive",
			"quiet time of an event stream after which it gets a comment", "HTTP.KeepAlive", false},
		{"runtime", "defaultMaxSessions",
			"open sessions of a handler; then 503", "HTTP.MaxSessions", false},
		{"runtime/internal/resume", "MaxBytes",
			"events of all sessions that are kept for `Last-Event-ID`", "", true},
		{"runtime/internal/resume", "MaxStreams", "streams of a session that are kept", "", false},
		{"runtime/internal/resume", "MaxStreamBytes", "events of one stream that are kept", "", true},
		{"runtime/internal/resume", "MaxStreamEvents",
			"number of events of one stream that are kept", "", false},
		{"runtime/internal/resume", "MaxAge",
			"time that the events of a stream are kept after its last one", "", false},
		{"runtime/internal/session", "minIdle",
			"time without a request after which a session of the same user may be replaced", "", false},
		{"runtime/internal/session", "maxQuestions",
			"questions to one session that wait for an answer", "", false},
		{"runtime/internal/wire", "maxID",
			"id or progress token of a message; longer ones are error -32600", "", true},
		{"runtime/internal/wire", "maxEcho",
			"text of a client that an error repeats; `…` shows a cut", "", true},
		{"runtime/internal/wire", "maxResponses",
			"answers to input requests in one message; more are error -32602", "", false},
		{"runtime/internal/upstream", "maxNotices",
			"notifications of one session that wait for an adopted server; more are dropped", "", false},
		{"runtime/internal/session", "maxWait",
			"time that such a question waits; then its call fails", "", false},
		{"runtime", "defaultPageSize", "entries of one page of a list", "Lists.PageSize", false},
		{"runtime/internal/invoke", "MinStateKey",
			"least length of the key that signs `requestState`", "Protocol.StateKey", true},
		{"internal/uritemplate", "MaxLength",
			"length of a URI that is matched with templates", "", true},
	}},
	{"Notifications", []limit{
		{"runtime/internal/discovery", "MaxSubscriptions",
			"resources that a session subscribes to, and URIs that are read of one " +
				"`subscriptions/listen` request", "", false},
		{"runtime", "maxUnpublished",
			"updates of resources that wait for the database; more are one update of all", "", false},
		{"runtime/store", "maxUpdates", "updates of resources that a store keeps", "", false},
	}},
	{"Identity", []limit{
		{"runtime/identity", "MaxTokenBytes", "a bearer token", "", true},
		{"runtime/identity", "maxResourceQuery",
			"catalogs in the resource that a client reads, as in its URL", "", true},
		{"runtime", "defaultIdentityTimeout",
			"one call of the identity source; then 503", "HTTP.IdentityTimeout", false},
		{"runtime/internal/principal", "freeFailures",
			"failed authentications of one address at once, before 429", "", false},
		{"runtime/internal/principal", "forgetFailure",
			"time after which an address has one failure less", "", false},
		{"runtime/internal/principal", "maxRetryAfter", "longest `Retry-After`", "", false},
		{"runtime/internal/principal", "maxAddresses",
			"addresses that are counted one by one", "", false},
		{"runtime/identity/oidc", "DefaultLeeway",
			"difference of clocks", "oidc.Options.Leeway", false},
		{"runtime/identity/oidc", "maxLeeway", "highest value of `Leeway`", "", false},
		{"runtime/identity/oidc", "defaultKeyPeriod",
			"time until keys are fetched again", "Issuer.KeyPeriod", false},
		{"runtime/identity/oidc", "defaultStalePeriod",
			"time that old keys serve longer while a provider is down", "Issuer.StalePeriod", false},
		{"runtime/identity/oidc", "retryInterval",
			"least time between two fetches of keys", "", false},
		{"runtime/identity/oidc", "refreshInterval",
			"longest time until a new key is found", "", false},
		{"runtime/identity/oidc", "maxCache", "highest value of `Introspection.Cache`", "", false},
		{"runtime/identity/oidc", "maxKeys", "keys of one issuer", "", false},
		{"runtime/identity/oidc", "maxUnknown",
			"tokens with unknown keys of one issuer that wait for a fetch; then 503", "", false},
		{"runtime/identity/oidc", "maxResponseBytes", "a response of a provider", "", true},
		{"runtime/identity/oidc", "maxQueries", "introspections at a time", "", false},
		{"runtime/identity/oidc", "maxCached", "introspections that are kept", "", false},
		{"runtime/identity/oidc", "maxExchanges", "token exchanges at a time", "", false},
		{"runtime/identity/oidc", "exchangeTimeout", "one token exchange", "", false},
		{"runtime/identity/oidc", "maxExchanged", "exchanged tokens that are kept", "", false},
	}},
	{"Permissions of a host", []limit{
		{"runtime", "defaultHostTimeout",
			"one query of the host", "Host.Timeout", false},
		{"runtime", "defaultRecheck",
			"time between two checks for clients that wait for notifications", "Host.Recheck", false},
		{"runtime", "maxHostUsers",
			"principals whose permissions are kept", "", false},
		{"runtime/internal/principal", "MaxBytes",
			"memory of the permissions that are kept; then the least recently used are removed",
			"", true},
		{"runtime/internal/principal", "maxQueries", "queries of the host at a time", "", false},
		{"internal/configfile", "MaxBytes", "a file of package capability/static or boundary/static", "",
			true},
	}},
	{"Calls", []limit{
		{"runtime/internal/invoke", "DefaultTimeout",
			"a handler without `timeout=` and without `nonblocking`", "`//mcp:limit timeout=`", false},
		{"runtime/internal/invoke", "quick",
			"a handler with `nonblocking`, before the log has a warning", "", false},
		{"runtime/internal/limit", "maxPairs",
			"pairs of a client and a tool whose calls are counted; then calls of others fail", "", false},
		{"runtime/internal/discovery", "maxNarrowed",
			"memory of kept tools that have only the values which their callers may send", "", true},
		{"runtime/internal/invoke", "maxCompletions", "values of one completion", "", false},
		{"runtime/internal/notify", "maxAdvice", "`runtime.Advise` of one call", "", false},
		{"runtime/internal/session", "maxRounds", "runs of one message whose handler asks, in versions " +
			"with sessions", "", false},
		{"runtime/internal/notify", "maxPending", "log messages that wait for a client", "", false},
		{"runtime/internal/notify", "maxPendingBytes",
			"log messages that wait for a client, together", "", true},
		{"runtime/internal/notify", "maxLogBytes", "one log message to a client", "", true},
		{"runtime/internal/notify", "progressBurst",
			"progress reports that are sent at once, and that wait for a client", "", false},
		{"runtime/internal/notify", "progressInterval",
			"time between two progress reports after these", "", false},
		{"runtime/internal/notify", "maxMessage", "the text of a progress report", "", true},
	}},
	{"Tasks", []limit{
		{"runtime", "defaultMaxTasks", "tasks that are kept", "Tasks.Max", false},
		{"runtime", "defaultTaskTTL",
			"time that a task is kept beyond the time limit of its handler", "Tasks.TTL", false},
		{"runtime/internal/tasks", "MaxBytes",
			"arguments, questions, answers and result of a task, together", "", true},
		{"runtime/task", "memoryBytes", "tasks that are kept in memory, together", "", true},
		{"runtime/task", "memoryUserBytes", "tasks of one user in memory, together", "", true},
		{"runtime/internal/tasks", "PollInterval",
			"`pollIntervalMs`: time between two reads of a task", "", false},
		{"runtime/internal/tasks", "lease",
			"time without a renewal after which a task of a dead replica fails", "", false},
	}},
	{"Arguments", []limit{
		{"runtime/decode", "DefaultBytes", "a document", "", true},
		{"runtime/decode", "DefaultDepth", "arrays and objects within each other", "", false},
		{"runtime/decode", "DefaultValues", "values in a document", "", false},
		{"runtime/decode", "DefaultLevels", "depths of all values, added up", "", false},
		{"runtime/decode", "DefaultDigits", "digits of a number", "", false},
		{"runtime/decode", "DefaultExponent", "exponent of a number", "", false},
		{"runtime/decode", "MaxProblems", "problems in one error", "", false},
		{"runtime/decode", "MaxShown", "characters of a name or value in an error", "", false},
	}},
	{"Catalogs and the store", []limit{
		{"runtime/internal/wire", "maxCatalogs", "catalogs of one request", "", false},
		{"runtime/internal/wire", "maxCatalogName",
			"name or id of a catalog in a request", "", true},
		{"runtime/store", "maxEntries", "tools in a catalog", "", false},
		{"runtime/store", "maxCatalogs", "catalogs of an organization or a team", "", false},
		{"runtime/store", "maxGlobalCatalogs", "global catalogs", "", false},
		{"runtime/store", "maxTeams", "teams of an organization", "", false},
		{"runtime/store", "maxMembers", "members of an organization or a team", "", false},
		{"runtime/store", "maxName", "a name", "", true},
		{"runtime/store", "maxDescription", "a description", "", true},
		{"runtime/store", "maxIdentity", "an issuer or a subject", "", true},
		{"runtime/store", "maxModule", "the module of a catalog", "", true},
		{"runtime/admin/internal/api/internal/input", "maxBody",
			"body of a request to the admin API", "", true},
		{"runtime/admin/internal/api/internal/input", "maxDepth", "depth of its JSON", "", false},
		{"runtime/admin/internal/front", "Patience", "time to send such a body", "", false},
		{"runtime/store", "searching",
			"index entries that a page of a search of the audit trail reads", "", false},
		{"runtime/admin/internal/front", "MaxExports", "exports of the audit trail at a time", "", false},
	}},
	{"Boundaries in a store", []limit{
		{"runtime/store", "maxBounds", "boundaries", "", false},
		{"runtime/store", "maxItems", "items of a boundary", "", false},
		{"runtime/store", "maxRoles", "roles of a boundary", "", false},
		{"runtime/store", "maxItem", "an item or a role", "", true},
		{"runtime/store", "maxBoundary", "a boundary as JSON", "", true},
		{"runtime/boundary/stored", "maxAge",
			"time that boundaries count without the database", "", false},
		{"runtime/boundary/stored", "looking", "time between two looks for changes", "", false},
		{"runtime/store", "maxClients", "seen clients that are kept", "", false},
		{"runtime/boundary/stored", "maxSeen", "seen clients of one write of a server", "", false},
		{"runtime/boundary/stored", "flushing", "time between two such writes", "", false},
	}},
	{"Grants", []limit{
		{"runtime/grant", "MaxGrants", "grants of a client, expired ones included", "", false},
		{"runtime/grant", "MaxOpen",
			"open requests of a client", "stored.Options.OpenRequests", false},
		{"runtime/store", "maxRequests", "open requests of all clients in a store", "", false},
		{"runtime/grant", "Waits", "time that a request stays open", "", false},
		{"runtime/grant", "MaxPage", "grants or requests of one page", "", false},
		{"internal/hiddentext", "MaxProse", "a reason or a note", "", true},
		{"runtime/grant", "MaxIdentity", "an issuer, client, principal, tool or granter", "", true},
		{"runtime/grant", "maxParameters", "parameters of a permission", "", false},
		{"runtime/grant", "maxLine", "a permission as text", "", true},
		{"internal/pattern", "MaxLength", "a pattern", "", true},
		{"runtime/grant", "maxLinks", "symbolic links on one path", "", false},
	}},
	{"Audit", []limit{
		{"runtime", "defaultAuditTimeout",
			"one record; then the request fails", "Audit.Timeout", false},
		{"runtime/internal/guard", "maxRecording", "records at a time", "", false},
		{"runtime/audit", "defaultMaxBytes",
			"a file of `audit.Rotating`", "RotateOptions.MaxBytes", true},
		{"runtime/audit", "mostTogether", "records that share one write", "", false},
		{"runtime/audit/chain", "MinKey", "least length of the key of a chain", "", true},
		{"runtime/audit/chain", "sending", "sending of one checkpoint", "", false},
		{"runtime/audit/chain", "maxLine", "a line that `mcpgen audit verify` reads", "", true},
	}},
}

// limits has a table for each topic.
func limits(r *repository) string {
	var b strings.Builder
	listed := map[string]bool{}
	for _, t := range bounds {
		fmt.Fprintf(&b, "## %s\n\n%s", t.topic, head("bound of", "value", "set by"))
		for _, l := range t.limits {
			listed[l.dir+"."+l.name] = true
			v, timed := r.read(l.dir).must(l.name)
			by := l.option
			if by != "" && !strings.Contains(by, "`") {
				by = code(by)
			}
			b.WriteString(row(l.about, shown(v, timed, l.bytes), by))
		}
		b.WriteString("\n")
	}
	for _, s := range r.public() {
		for _, name := range s.Types.Scope().Names() {
			_, constant := s.Types.Scope().Lookup(name).(*types.Const)
			if constant && limitName.MatchString(name) && !listed[s.dir+"."+name] {
				r.fault("%s.%s is a limit that no table has", s.dir, name)
			}
		}
	}
	return b.String()
}

var limitName = regexp.MustCompile(`^(Default|Max|Min)[A-Z]`)
