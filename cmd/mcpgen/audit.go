package main

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"os"

	"github.com/spf13/cobra"

	"github.com/mcpgen/mcpgen/generator/extension"
	"github.com/mcpgen/mcpgen/internal/escape"
	"github.com/mcpgen/mcpgen/runtime/audit/chain"
)

func newAudit() *cobra.Command {
	command := &cobra.Command{
		Use:   "audit",
		Short: "Verify the audit trail of a server",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return errors.New("missing subcommand: write mcpgen audit verify")
		},
	}
	command.AddCommand(newAuditVerify())
	return command
}

// keyVariable is the environment variable with the key, used without --key-file.
const keyVariable = "MCPGEN_AUDIT_KEY"

func newAuditVerify() *cobra.Command {
	var keyFile string
	var checkpoints, since []string
	var unchained bool
	var findings extension.Reporter
	command := &cobra.Command{
		Use:   "verify FILE...",
		Short: "Find missing, altered and reordered records of an audit trail",
		Long: `verify reads an audit trail that package runtime/audit/chain wrote: files of JSON lines,
rotated ones included, in any order and from any number of replicas. - is the standard input.
For each finding it prints a line with the position, the record, the problem and the cure.

Checkpoints show whether the end of a trail was cut off. Store them outside the server, and name
their files with --checkpoint. If you delete old files, name the last checkpoint before them with
--since: verify then ignores missing records up to it.

verify also counts calls with an intent and without an outcome. The trail is still sound: the
server was killed, its sink failed, or the call is still running.

The key is the server's key, from a file or from $` + keyVariable + `. Export the trail of a store first,
with Store.ExportEvents; this command opens no database. A trail without records is not sound.

Exit codes: 0 the trail is sound; 1 findings; 2 usage error or failure.`,
		Example: `  mcpgen audit verify --key-file audit.key audit*.jsonl
  mcpgen audit verify --key-file audit.key --checkpoint /mnt/worm/checkpoints.jsonl audit*.jsonl

  # the trail of a store, by the admin API; pipefail, so that a failed export is an error
  set -o pipefail
  curl -fsS -H "Authorization: Bearer $TOKEN" https://mcp.example/api/v1/admin/audit/export |
    mcpgen audit verify --key-file audit.key -`,
		Args: func(_ *cobra.Command, files []string) error {
			if len(files) == 0 {
				return errors.New("write the files of a trail, or - for the standard input")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, files []string) (err error) {
			defer func() { err = findings.Close(cmd, err) }()
			text := findings.Text(cmd)
			options := chain.VerifyOptions{Unchained: unchained}
			if options.Key, err = auditKey(keyFile); err != nil {
				return err
			}
			if options.Checkpoints, err = readCheckpoints(checkpoints); err != nil {
				return err
			}
			if options.Since, err = readCheckpoints(since); err != nil {
				return err
			}
			trail, err := chain.Verify(linesOf(files, cmd.InOrStdin()), options)
			for _, f := range trail.Findings {
				findings.Add(auditFinding(f))
				if text {
					fmt.Fprintln(cmd.ErrOrStderr(), escape.Text(f.String()))
				}
			}
			if trail.More > 0 {
				fmt.Fprintf(cmd.ErrOrStderr(), "and %d more findings\n", trail.More)
			}
			if err != nil {
				return err
			}
			if trail.NoOutcome > 0 {
				fmt.Fprintf(cmd.OutOrStdout(), "%d calls have an intent and no outcome\n", trail.NoOutcome)
			}
			fmt.Fprintf(cmd.OutOrStdout(), "records verified: %d; chains: %d\n",
				trail.Records, trail.Chains)
			if !trail.Sound() {
				return extension.ErrFindings
			}
			return nil
		},
	}
	command.Flags().StringVar(&keyFile, "key-file", "",
		"file with the server's key (default: the value of $"+keyVariable+")")
	command.Flags().StringArrayVar(&checkpoints, "checkpoint", nil,
		"file of checkpoints: all records up to them must exist (may be repeated)")
	command.Flags().StringArrayVar(&since, "since", nil,
		"file of checkpoints: records up to them may be missing (may be repeated)")
	findings.Flag(command)
	command.Flags().BoolVar(&unchained, "unchained", false,
		"accept records without a chain, for example older ones")
	return command
}

// auditFinding is a finding of a trail for a extension. What has another cause than tampering is a
// note.
func auditFinding(f chain.Finding) extension.Finding {
	level := extension.Note
	if f.Tampering() {
		level = extension.Error
	}
	bare := f
	bare.Source, bare.Cure = "", ""
	return extension.Finding{Code: string(f.Kind), Level: level, Message: bare.String(),
		Cure: f.Cure, File: f.Source, Line: f.Line}
}

func auditKey(file string) ([]byte, error) {
	if file != "" {
		return chain.ReadKey(file)
	}
	if key := os.Getenv(keyVariable); key != "" {
		return []byte(key), nil
	}
	return nil, errors.New("no key: name the file of the server's key with --key-file, or set $" +
		keyVariable)
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
