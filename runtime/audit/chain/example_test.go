package chain_test

import (
	"bytes"
	"context"
	"fmt"
	"log"

	"github.com/mcpgen/mcpgen/runtime/audit"
	"github.com/mcpgen/mcpgen/runtime/audit/chain"
)

// A chain shows what was done to the records afterwards.
func Example() {
	ctx := context.Background()
	key := bytes.Repeat([]byte{7}, chain.MinKey) // a server reads it with ReadKey
	var trail bytes.Buffer
	sealed, err := chain.New(audit.JSONLines(&trail), chain.Options{Key: key, Replica: "web-1"})
	if err != nil {
		log.Fatal(err)
	}
	for _, tool := range []string{"find_parts", "order_parts"} {
		if err := sealed.Record(ctx, audit.Event{Type: audit.ToolCalled, Tool: tool,
			Status: audit.Success}); err != nil {
			log.Fatal(err)
		}
	}
	if err := sealed.Close(ctx); err != nil { // writes the last checkpoint
		log.Fatal(err)
	}

	verify := func(trail []byte) {
		report, err := chain.Verify(chain.Lines("audit.jsonl", bytes.NewReader(trail)),
			chain.VerifyOptions{Key: key})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(report.Sound())
		for _, f := range report.Findings {
			fmt.Println(f.Kind, f.Source, f.Line)
		}
	}
	verify(trail.Bytes())
	verify(bytes.Replace(trail.Bytes(), []byte("find_parts"), []byte("read_parts"), 1))
	// Output:
	// true
	// false
	// altered audit.jsonl 1
}
