package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rankwright/rankwright/pkg/detect/host"
	"github.com/rankwright/rankwright/pkg/nodeagent/verifypods"
	"github.com/rankwright/rankwright/pkg/survey"
)

// surveyFlags are the command line of verify.
type surveyFlags struct {
	root            string
	output          string
	host            string
	views           []string
	pods            string
	kubeconfig      string
	patience        time.Duration
	keepIdentifiers bool
}

func newSurveyCommand(stdout, stderr io.Writer) *cobra.Command {
	var f surveyFlags
	command := &cobra.Command{
		Use:   "verify",
		Short: "Check on this host that its hardware is seen as it is, and write one file for a report",
		Long: `Detects this host with the tools of its vendors and without, reads what decides what is seen and what containers get,
prints the differences with a sheet of expected answers, and writes everything to one file without identifiers, which
detect --replay of the plugin reads. In a cluster, the Job of examples/verify does that from within pods, too.`,
		Args: noArguments("verify"),
		RunE: func(c *cobra.Command, _ []string) error { return f.run(c.Context(), stdout, stderr) },
	}
	set := command.Flags()
	set.StringVar(&f.root, "root", "/", "`folder` where the host's file tree is mounted; its tools run there, which needs a privileged container")
	set.StringVarP(&f.output, "output", "o", "rankwright-verify.tar.gz", "`file` to write")
	set.StringVar(&f.host, "host", "", "`file` of `verify view` to take for the view of the host, in place of looking at it")
	set.StringArrayVar(&f.views, "view", nil, "`NAME=FILE` of `verify view`, taken elsewhere on the same host (may be repeated)")
	set.StringVar(&f.pods, "pods", "", "`namespace` of Jobs labelled "+verifypods.Label+", whose pods' output belongs to the report")
	set.StringVar(&f.kubeconfig, "kubeconfig", "", "kubeconfig `file` for --pods; default $KUBECONFIG, else the pod's service account")
	set.DurationVar(&f.patience, "pods-timeout", 10*time.Minute, "time to wait for the pods, whose images may have to be pulled")
	set.BoolVar(&f.keepIdentifiers, "keep-identifiers", false, "leave serial numbers, UUIDs, addresses and names in the file as they are")
	command.AddCommand(newSurveyViewCommand(), newSurveyPrintCommand(stdout))
	return command
}

func noArguments(name string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) > 0 {
			return usageError{fmt.Errorf("unexpected argument %q: %s takes flags only", args[0], name)}
		}
		return nil
	}
}

// oneArgument accepts exactly one argument. name is the command and what the argument, for the message.
func oneArgument(name, what string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) != 1 {
			return usageError{fmt.Errorf("%d arguments: %s takes %s", len(args), name, what)}
		}
		return nil
	}
}

// run takes what was not taken yet, joins it, and writes the file and the report.
func (f *surveyFlags) run(ctx context.Context, stdout, stderr io.Writer) error {
	views, err := f.readViews()
	if err != nil {
		return err
	}
	recording, err := f.hostView(ctx)
	if err != nil {
		return err
	}
	pods, err := f.collect(ctx)
	if err != nil {
		return err
	}
	if err := survey.Join(recording, views, pods); err != nil {
		return err
	}
	if !f.keepIdentifiers {
		if recording, err = anonymous(recording); err != nil {
			return err
		}
	}
	if err := writeRecording(f.output, recording); err != nil {
		return err
	}
	// The report is drawn from what was written, so that it says no more than the file.
	found, err := survey.Of(ctx, recording)
	if err != nil {
		return err
	}
	if err := found.Write(stdout); err != nil {
		return err
	}
	_, err = fmt.Fprintf(stderr, "All of this, and what it was drawn from, is in %s. Look at it before you send it: it is text.\n", f.output)
	return err
}

// readViews reads what was taken elsewhere.
func (f *surveyFlags) readViews() (map[string]*host.Recording, error) {
	views := map[string]*host.Recording{}
	for _, view := range f.views {
		name, file, ok := strings.Cut(view, "=")
		if !ok || name == "" || file == "" {
			return nil, usageError{fmt.Errorf("--view %q: give NAME=FILE, such as %s=view.tar.gz", view, survey.InPod)}
		}
		if _, twice := views[name]; twice {
			return nil, usageError{fmt.Errorf("--view %s: is given twice: a view has one file", name)}
		}
		recording, err := readRecording(file)
		if err != nil {
			return nil, fmt.Errorf("--view %s: %w", name, err)
		}
		views[name] = recording
	}
	return views, nil
}

func (f *surveyFlags) hostView(ctx context.Context) (*host.Recording, error) {
	if f.host != "" {
		recording, err := readRecording(f.host)
		if err != nil {
			return nil, fmt.Errorf("--host: %w", err)
		}
		return recording, nil
	}
	return takeView(ctx, f.root, toolsOf(f.root))
}

func (f *surveyFlags) collect(ctx context.Context) ([]survey.Pod, error) {
	if f.pods == "" {
		return nil, nil
	}
	config, err := loadConfig(f.kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("--pods: %w", err)
	}
	const grace, period = time.Minute, 2 * time.Second
	return verifypods.Collect(ctx, config, verifypods.Options{Namespace: f.pods, Patience: f.patience, Grace: grace, Period: period})
}

func readRecording(name string) (*host.Recording, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	recording, err := host.ReadRecording(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return recording, nil
}

func writeRecording(name string, recording *host.Recording) error {
	file, err := os.Create(name)
	if err != nil {
		return fmt.Errorf("--output: %w", err)
	}
	_, err = recording.WriteTo(file)
	if err := errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("--output %s: %w", name, err)
	}
	return nil
}
