package main

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"os"

	"github.com/spf13/cobra"

	"github.com/mcpgen/mcpgen/runtime/audit/chain"
)

func newAudit() *cobra.Command {
	command := &cobra.Command{
		Use:   "audit",
		Short: "Look at the audit trail of a server",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return errors.New("say what to do: `mcpgen audit verify` is what there is")
		},
	}
	command.AddCommand(newAuditVerify())
	return command
}

// keyVariable names the key where no file does.
const keyVariable = "MCPGEN_AUDIT_KEY"

func newAuditVerify() *cobra.Command {
	var keyFile string
	var checkpoints, since []string
	var unchained bool
	command := &cobra.Command{
		Use:   "verify FILE...",
		Short: "Say which records of an audit trail are missing, altered or out of order",
		Long: `verify reads a trail that a chain (package runtime/audit/chain) has sealed: files of JSON
lines, the rotated ones included, in any order, of any number of replicas. - is the standard input.
It prints a line for each finding: where, which record, what, and what to do.

That the end of a trail was cut off shows by the checkpoints that the server has sent elsewhere:
name their files with --checkpoint. Where old files are deleted as configured, --since names
checkpoints up to which nothing is asked for.

A call with an intent and without an outcome is a finding of its own, and the trail is sound: the
server was killed, its sink failed, or the call still runs.

The key is that of the server, from a file or from $` + keyVariable + `. A store's trail is exported first,
with Store.ExportEvents; this command opens no database. A trail without a record is no sound one.

Exit codes: 0 the trail is sound; 1 findings; 2 usage, or the work could not be done.`,
		Example: `  mcpgen audit verify --key-file audit.key audit*.jsonl
  mcpgen audit verify --key-file audit.key --checkpoint /mnt/worm/checkpoints.jsonl audit*.jsonl

  # a store's, by the admin API: an export that fails must not count as one that is sound
  set -o pipefail
  curl -fsS -H "Authorization: Bearer $TOKEN" https://mcp.example/api/v1/admin/audit/export |
    mcpgen audit verify --key-file audit.key -`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, files []string) error {
			options := chain.VerifyOptions{Unchained: unchained}
			var err error
			if options.Key, err = auditKey(keyFile); err != nil {
				return err
			}
			if options.Checkpoints, err = readCheckpoints(checkpoints); err != nil {
				return err
			}
			if options.Since, err = readCheckpoints(since); err != nil {
				return err
			}
			report, err := chain.Verify(linesOf(files, cmd.InOrStdin()), options)
			for _, f := range report.Findings {
				fmt.Fprintln(cmd.ErrOrStderr(), f)
			}
			if report.More > 0 {
				fmt.Fprintf(cmd.ErrOrStderr(), "and %d findings more\n", report.More)
			}
			if err != nil {
				return err
			}
			if report.NoOutcome > 0 {
				fmt.Fprintf(cmd.OutOrStdout(), "%d calls have an intent and no outcome\n", report.NoOutcome)
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%d records of %d chains are as they were written\n", report.Records, report.Chains)
			if !report.Sound() {
				return errFindings
			}
			return nil
		},
	}
	command.Flags().StringVar(&keyFile, "key-file", "", "file with the server's key; without it, $"+keyVariable)
	command.Flags().StringArrayVar(&checkpoints, "checkpoint", nil, "file of checkpoints: all records up to them must be there (may be repeated)")
	command.Flags().StringArrayVar(&since, "since", nil, "file of checkpoints: records up to them may be gone (may be repeated)")
	command.Flags().BoolVar(&unchained, "unchained", false, "accept records that are in no chain, as from before there was one")
	return command
}

func auditKey(file string) ([]byte, error) {
	if file != "" {
		return chain.ReadKey(file)
	}
	if key := os.Getenv(keyVariable); key != "" {
		return []byte(key), nil
	}
	return nil, errors.New("there is no key: name the server's with --key-file, or in $" + keyVariable)
}

func readCheckpoints(files []string) (all []chain.Checkpoint, err error) {
	for _, name := range files {
		file, err := os.Open(name)
		if errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("%w: a server writes its first checkpoint a minute after "+
				"its start, or when chain.Close is called", err)
		} else if err != nil {
			return nil, err
		}
		some, err := chain.ReadCheckpoints(file)
		if err = errors.Join(err, file.Close()); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		all = append(all, some...)
	}
	return all, nil
}

// linesOf reads files one after the other.
func linesOf(files []string, stdin io.Reader) iter.Seq2[chain.Record, error] {
	return func(yield func(chain.Record, error) bool) {
		for _, name := range files {
			if !linesOfOne(name, stdin, yield) {
				return
			}
		}
	}
}

func linesOfOne(name string, stdin io.Reader, yield func(chain.Record, error) bool) bool {
	input := stdin
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return yield(chain.Record{}, err)
		}
		defer file.Close()
		input = file
	}
	for record, err := range chain.Lines(name, input) {
		if !yield(record, err) {
			return false
		}
	}
	return true
}
