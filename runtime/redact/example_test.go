package redact_test

import (
	"fmt"
	"log/slog"
	"os"
	"regexp"

	"github.com/mcpgen/mcpgen/runtime/redact"
)

// Secrets are found by their names and by their forms.
func ExampleText() {
	for _, text := range []string{
		"postgres://mcp:hunter22@db.example/shop",
		"API_KEY=4f6c1b9d password: s3cr3t",
		"max_tokens: 4096",
	} {
		fmt.Println(redact.Text(text))
	}
	// Output:
	// postgres://mcp:***MASKED***@db.example/shop
	// API_KEY=***MASKED*** password: ***MASKED***
	// max_tokens: 4096
}

// A masker for secrets that this package cannot know. Set it as runtime.Options.Observe.Masker.
func ExampleMasker() {
	masker := redact.Masker{
		Names:  []string{"BADGE"},
		Values: []*regexp.Regexp{regexp.MustCompile(`\bacme-[0-9a-f]{8}\b`)},
	}
	fmt.Println(masker.Value("staff_badge", "1337"))
	fmt.Println(masker.Text("the key is acme-0123abcd"))
	// Output:
	// ***MASKED***
	// the key is ***MASKED***
}

// A logger whose records are masked.
func ExampleHandler() {
	log := slog.New(redact.Handler(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		}})))
	log.Info("connected", "password", "hunter22", "host", "db.example")
	// Output:
	// level=INFO msg=connected password=***MASKED*** host=db.example
}
