package command

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/rankwright/rankwright/pkg/detect"
	"github.com/rankwright/rankwright/pkg/detect/host"
)

func newRecordCommand(stdout io.Writer) *cobra.Command {
	var f flags
	var keepIdentifiers bool
	command := &cobra.Command{
		Use:   "record",
		Short: "Write a recording of this node to standard output",
		Long: `Detects this node once, as an agent with the same flags does, and writes all that was read and run to standard output. That is
what kubectl rankwright record node/NAME runs in the agent's pod, for a report and for the plugin's detect command, which replays it.`,
		Args: noArguments("record"),
		RunE: func(c *cobra.Command, _ []string) error {
			if err := f.complete(c.Flags()); err != nil {
				return usageError{err}
			}
			spareMemory()
			return f.record(c.Context(), stdout, keepIdentifiers)
		},
	}
	f.register(command.Flags())
	command.Flags().BoolVar(&keepIdentifiers, "keep-identifiers", false, "leave serial numbers, UUIDs, addresses and names in the recording as they are")
	return command
}

// hostName is where a kernel says what its host is called. In a container it tells the container's name.
const hostName = "/proc/sys/kernel/hostname"

// record writes what one detection reads and runs.
func (f *flags) record(ctx context.Context, stdout io.Writer, keepIdentifiers bool) error {
	h, err := f.openHost()
	if err != nil {
		return err
	}
	h, recording := host.Record(h)
	detect.Detect(ctx, h, detect.Options{Deadline: f.agent.BackendTimeout})
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("detection was cut off: %w", err)
	}
	// The name is replaced in everything that was recorded where it is known.
	if err := recording.AddFile(hostName, f.agent.NodeName+"\n"); err != nil {
		return err
	}
	if !keepIdentifiers {
		if recording, err = anonymous(recording); err != nil {
			return err
		}
	}
	_, err = recording.WriteTo(stdout)
	return err
}

// anonymous is a recording without what tells its host from others.
func anonymous(recording *host.Recording) (*host.Recording, error) {
	replaced, _, err := detect.Anonymize(recording)
	if err != nil {
		return nil, fmt.Errorf("%w; --keep-identifiers writes them as they are", err)
	}
	return replaced, nil
}
