package command

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/rankwright/rankwright/pkg/mesh/verification/devicelib"
)

func newInstallCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "install FOLDER",
		Short: "Copy the programs of a verification into a folder",
		Long: `Copies this program, and the one beside it that loads NCCL or RCCL, into a folder, from which a container runs them whose
image has those libraries.`,
		Args: oneArgument("verify-mesh install", "a folder"),
		RunE: func(_ *cobra.Command, args []string) error {
			own, err := os.Executable()
			if err != nil {
				return err
			}
			if err := installProgram(own, filepath.Join(args[0], "node-agent")); err != nil {
				return err
			}
			beside := besideOwn(devicelib.Program)
			if beside == "" {
				return nil // the verification says that it is not there
			}
			return installProgram(beside, filepath.Join(args[0], devicelib.Program))
		},
	}
}

func installProgram(from, to string) error {
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = source.Close() }()
	const executable = 0o755
	target, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, executable)
	if err != nil {
		return fmt.Errorf("install %s: %w: mount a volume there that this user may write to", filepath.Base(to), err)
	}
	if _, err := io.Copy(target, source); err != nil {
		_ = target.Close()
		return fmt.Errorf("install %s: %w", filepath.Base(to), err)
	}
	return target.Close()
}
