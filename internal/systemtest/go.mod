module github.com/mcpgen/mcpgen/internal/systemtest

go 1.26.0

replace (
	github.com/mcpgen/mcpgen => ../..
	github.com/mcpgen/mcpgen/examples/team => ../../examples/team
	github.com/mcpgen/mcpgen/runtime/admin => ../../runtime/admin
	github.com/mcpgen/mcpgen/runtime/boundary/stored => ../../runtime/boundary/stored
	github.com/mcpgen/mcpgen/runtime/catalog/stored => ../../runtime/catalog/stored
	github.com/mcpgen/mcpgen/runtime/grant/stored => ../../runtime/grant/stored
	github.com/mcpgen/mcpgen/runtime/identity/oidc => ../../runtime/identity/oidc
	github.com/mcpgen/mcpgen/runtime/sandbox => ../../runtime/sandbox
	github.com/mcpgen/mcpgen/runtime/store => ../../runtime/store
	github.com/mcpgen/mcpgen/runtime/telemetry => ../../runtime/telemetry
)

require (
	github.com/jackc/pgx/v5 v5.12.0
	github.com/mcpgen/mcpgen v0.0.0
	github.com/mcpgen/mcpgen/examples/team v0.0.0
	github.com/mcpgen/mcpgen/runtime/admin v0.0.0
	github.com/mcpgen/mcpgen/runtime/boundary/stored v0.0.0
	github.com/mcpgen/mcpgen/runtime/catalog/stored v0.0.0
	github.com/mcpgen/mcpgen/runtime/identity/oidc v0.0.0
	github.com/mcpgen/mcpgen/runtime/store v0.0.0
	github.com/mcpgen/mcpgen/runtime/telemetry v0.0.0
	github.com/modelcontextprotocol/go-sdk v1.8.0
	github.com/santhosh-tekuri/jsonschema/v6 v6.0.3
	github.com/yuin/goldmark v1.8.7
	go.opentelemetry.io/otel/sdk v1.47.0
	go.opentelemetry.io/otel/sdk/metric v1.47.0
	go.yaml.in/yaml/v4 v4.0.0
	modernc.org/sqlite v1.60.1
	pgregory.net/rapid v1.3.0
)

require (
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/danielgtaylor/huma/v2 v2.37.2 // indirect
	github.com/dustin/go-humanize v1.1.0 // indirect
	github.com/go-jose/go-jose/v4 v4.1.8 // indirect
	github.com/go-logr/logr v1.4.4 // indirect
	github.com/go-logr/stdr v1.2.2 // indirect
	github.com/google/jsonschema-go v0.4.3 // indirect
	github.com/google/uuid v1.6.0 // indirect
	github.com/jackc/pgpassfile v1.0.0 // indirect
	github.com/jackc/pgservicefile v0.0.0-20240606120523-5a60cdf6a761 // indirect
	github.com/jackc/puddle/v2 v2.2.3 // indirect
	github.com/mattn/go-isatty v0.0.24 // indirect
	github.com/mfridman/interpolate v0.0.2 // indirect
	github.com/ncruces/go-strftime v1.1.0 // indirect
	github.com/pressly/goose/v3 v3.29.0 // indirect
	github.com/remyoudompheng/bigfft v0.0.0-20230129092748-24d4a6f8daec // indirect
	github.com/segmentio/asm v1.2.1 // indirect
	github.com/segmentio/encoding v0.5.4 // indirect
	github.com/sethvargo/go-retry v0.5.0 // indirect
	github.com/yosida95/uritemplate/v3 v3.0.2 // indirect
	go.opentelemetry.io/auto/sdk v1.2.1 // indirect
	go.opentelemetry.io/otel v1.47.0 // indirect
	go.opentelemetry.io/otel/log v1.47.0 // indirect
	go.opentelemetry.io/otel/metric v1.47.0 // indirect
	go.opentelemetry.io/otel/trace v1.47.0 // indirect
	go.uber.org/multierr v1.11.0 // indirect
	golang.org/x/oauth2 v0.36.0 // indirect
	golang.org/x/sync v0.24.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
	golang.org/x/text v0.43.0 // indirect
	golang.org/x/time v0.15.0 // indirect
	modernc.org/libc v1.79.0 // indirect
	modernc.org/mathutil v1.7.1 // indirect
	modernc.org/memory v1.12.1 // indirect
)
