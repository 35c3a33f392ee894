package command

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/rankwright/rankwright/pkg/detect/host"
	"github.com/rankwright/rankwright/pkg/nodeagent/helper"
	"github.com/rankwright/rankwright/pkg/survey"
)

func newSurveyViewCommand() *cobra.Command {
	var root, output, toolsSocket string
	var noExec bool
	command := &cobra.Command{
		Use:   "view",
		Short: "Take one view of a host, for verify to join with others",
		Long: `Writes one view of a host to a file, identifiers and all, for a later "verify --view" or "verify --host" on the same host,
which replaces them in all views alike.`,
		Args: noArguments("verify view"),
		RunE: func(c *cobra.Command, _ []string) error {
			var commands host.Commands
			switch {
			case noExec && toolsSocket != "":
				return usageError{errors.New("--no-exec and --tools-socket: with it no tool is run: remove one of the two")}
			case toolsSocket != "":
				commands = helper.Dial(toolsSocket)
			case !noExec:
				commands = toolsOf(root)
			}
			recording, err := takeView(c.Context(), root, commands)
			if err != nil {
				return err
			}
			return writeRecording(output, recording)
		},
	}
	set := command.Flags()
	set.StringVar(&root, "root", "/", "`folder` where the host's file tree is mounted; its tools run there, which needs a privileged container")
	set.StringVarP(&output, "output", "o", "view.tar.gz", "`file` to write")
	set.StringVar(&toolsSocket, "tools-socket", "", "`socket` of a node-helper that runs the host's tools")
	set.BoolVar(&noExec, "no-exec", false, "run none of the host's tools; read files only")
	return command
}

// takeView takes a view of the host whose file tree is at root.
func takeView(ctx context.Context, root string, commands host.Commands) (*host.Recording, error) {
	h, err := host.LiveHost(root, commands)
	if err != nil {
		return nil, err
	}
	return survey.Take(ctx, h, survey.Options{Now: time.Now, Peaks: peaks})
}

// toolsOf runs the tools of the host whose file tree is at root, in that tree.
func toolsOf(root string) host.Commands {
	if root = filepath.Clean(root); root != "/" {
		return host.CommandsIn(root)
	}
	return host.LiveCommands()
}

// lineLength is the number of base64 characters on a line (RFC 2045).
const lineLength = 76

func newSurveyPrintCommand(stdout io.Writer) *cobra.Command {
	var asBase64 bool
	command := &cobra.Command{
		Use:   "print FILE",
		Short: "Print the report in a file of verify, or the file itself",
		Args:  oneArgument("verify print", "the file of a verification"),
		RunE: func(c *cobra.Command, args []string) error {
			if asBase64 {
				return printBase64(stdout, args[0])
			}
			recording, err := readRecording(args[0])
			if err != nil {
				return err
			}
			found, err := survey.Of(c.Context(), recording)
			if err != nil {
				return err
			}
			return found.Write(stdout)
		},
	}
	command.Flags().BoolVar(&asBase64, "base64", false, "print the file itself in base64, as kubectl logs can bring it")
	return command
}

func printBase64(w io.Writer, name string) error {
	data, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	for line := range slices.Chunk(base64.StdEncoding.AppendEncode(nil, data), lineLength) {
		if _, err := fmt.Fprintf(w, "%s\n", line); err != nil {
			return err
		}
	}
	return nil
}
