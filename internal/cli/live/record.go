package live

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/rankwright/rankwright/internal/cli/cluster"
	"github.com/rankwright/rankwright/internal/cli/term"
	"github.com/rankwright/rankwright/pkg/detect/host"
)

// recordOptions are the flags of record.
type recordOptions struct {
	cluster         cluster.Flags
	output          string
	keepIdentifiers bool
}

// NewRecord returns the command `kubectl rankwright record`.
func NewRecord(streams term.Streams) *cobra.Command {
	var o recordOptions
	command := &cobra.Command{
		Use:   "record node/NAME",
		Short: "Record what a node's agent reads of its host, for a bug report",
		Long: `Record a node by its agent: what one detection reads of the host, and what the drivers' tools print where the agent may
run them. Serial numbers, UUIDs, addresses and the names of hosts and users are replaced before anything leaves the
node. detect --replay looks at the recording anywhere; detect --record makes one without a cluster.

It runs node-agent record in the agent's pod, which takes the rights to list pods and to create pods/exec in the
namespace of the agents. A right that is missing is named, with the command that would give it.`,
		Example: `  kubectl rankwright record node/node-1
  kubectl rankwright detect --replay node-1.tar.gz -o wide`,
		Args: cluster.OneTarget("record node/NAME"),
		RunE: func(command *cobra.Command, args []string) error { return o.run(command.Context(), streams, args[0]) },
	}
	flags := command.Flags()
	flags.StringVarP(&o.output, "output", "o", "", "file to write (default NAME.tar.gz), - for standard output")
	_ = command.MarkFlagFilename("output", "gz", "tgz")
	flags.BoolVar(&o.keepIdentifiers, "keep-identifiers", false, "leave serial numbers, UUIDs, addresses and names in the recording as they are")
	o.cluster.Add(command)
	o.cluster.Complete(command, cluster.ANode)
	return command
}

func (o *recordOptions) run(ctx context.Context, streams term.Streams, text string) error {
	target, err := cluster.ParseTarget(text, cluster.ANode)
	if err != nil {
		return err
	}
	of, err := o.cluster.Connect(streams)
	if err != nil {
		return err
	}
	agent, err := of.Agent(ctx, target.Name)
	if err != nil {
		return err
	}
	var flags []string
	if o.keepIdentifiers {
		flags = append(flags, "--keep-identifiers")
	}
	var recording bytes.Buffer
	work := func() error { return agent.Run(ctx, &recording, "record", flags...) }
	if err := streams.Progress().While(work, fmt.Sprintf("pod %s records node %s", agent.Name, target.Name)); err != nil {
		return err
	}
	if _, err := host.ReadRecording(bytes.NewReader(recording.Bytes())); err != nil {
		return fmt.Errorf("what pod %s sent of node %s is of no use: %w", agent.Name, target.Name, err)
	}
	return write(streams, recording.Bytes(), target.Name, cmp.Or(o.output, target.Name+".tar.gz"))
}

// write writes a recording to a file, and says what to do with it, or to standard output.
func write(streams term.Streams, recording []byte, node, file string) error {
	if file == term.StdinName {
		_, err := streams.Out.Write(recording)
		return err
	}
	const private = 0o600
	if err := os.WriteFile(file, recording, private); err != nil {
		return fmt.Errorf("--output: %w", err)
	}
	_, err := fmt.Fprintf(streams.Out, "node/%s recorded: kubectl rankwright detect --replay %s\n", node, file)
	return err
}
