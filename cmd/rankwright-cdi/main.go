//go:build linux && cgo

// rankwright-cdi finds what containers need of NVIDIA's driver on a node: libraries, tools, firmware, sockets and the hooks
// that make them known. It is a program of its own because it loads the driver's management library, which can hang or crash
// its caller, and because NVIDIA's package for it needs cgo.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rankwright/rankwright/internal/version"
	"github.com/rankwright/rankwright/pkg/nodeagent/injection"
)

func main() {
	command := newCommand(os.Stdout, os.Stderr)
	if err := command.Execute(); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "rankwright-cdi:", strings.ReplaceAll(err.Error(), "\n", "; "))
		if _, none := errors.AsType[noDriverError](err); none {
			os.Exit(injection.ExitNoDriver)
		}
		os.Exit(1)
	}
}

func newCommand(stdout, stderr io.Writer) *cobra.Command {
	command := &cobra.Command{
		Use:           "rankwright-cdi",
		Short:         "Find what containers need of NVIDIA's driver on a node",
		Version:       version.String(),
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	command.SetOut(stdout)
	command.SetErr(stderr)
	command.CompletionOptions.DisableDefaultCmd = true
	command.AddCommand(newGenerateCommand(stdout, stderr), newInstallCommand())
	return command
}

func newGenerateCommand(stdout, stderr io.Writer) *cobra.Command {
	var o generation
	var channels string
	makeNodes := false
	command := &cobra.Command{
		Use:   "generate",
		Short: "Print a CDI specification of what all of the node's GPUs need, with the node's paths",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			numbers, err := parseChannels(channels)
			if err != nil {
				return err
			}
			if makeNodes {
				nodes := nodeMaker{proc: path.Join(o.host, "proc"), dev: "/dev", mknod: makeNode}
				if err := nodes.make(numbers); err != nil {
					_, _ = fmt.Fprintln(stderr, "device nodes:", err) // what is missing is told by whoever needs it
				}
			}
			text, err := o.run(stderr)
			if err != nil {
				return err
			}
			_, err = stdout.Write(text)
			return err
		},
	}
	set := command.Flags()
	set.StringVar(&o.host, "host", "/", "`folder` where the node's file tree is")
	set.StringVar(&o.driverRoot, "driver-root", "", "`folder` of the node below which its driver is; default where one is found")
	set.StringVar(&o.hook, "hook", "", "`path` on the node of the program that its container runtime is to run; default where one is found")
	set.BoolVar(&makeNodes, "make-nodes", false, "make the device nodes of loaded drivers that /dev lacks")
	set.StringVar(&channels, "imex-channels", "", "`numbers` of the IMEX channels whose nodes are made, too, by commas")
	return command
}

func parseChannels(text string) ([]int, error) {
	var numbers []int
	for part := range strings.SplitSeq(text, ",") {
		if part == "" {
			continue
		}
		number, err := strconv.ParseUint(part, 10, 16)
		if err != nil {
			return nil, fmt.Errorf("--imex-channels: %q is no number of a channel: take numbers from 0, by commas", part)
		}
		numbers = append(numbers, int(number))
	}
	return numbers, nil
}

func newInstallCommand() *cobra.Command {
	var to, program string
	command := &cobra.Command{
		Use:   "install",
		Short: "Copy the program that container runtimes run for NVIDIA's devices into a folder of the node",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if to == "" {
				return errors.New("--to: name the folder")
			}
			return install(program, to)
		},
	}
	command.Flags().StringVar(&to, "to", "", "`folder`, which has to exist")
	command.Flags().StringVar(&program, "program", "/usr/local/bin/"+hookName, "`path` of the program")
	return command
}
