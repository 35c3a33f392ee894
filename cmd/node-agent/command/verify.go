package command

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/rankwright/rankwright/pkg/mesh/verification"
	"github.com/rankwright/rankwright/pkg/mesh/verification/devicelib"
)

// verifyFlags are the command line of verify-mesh. Defaults are what the webhook gives a pod.
type verifyFlags struct {
	folder   string
	key      string
	index    string
	copied   string
	plan     string
	message  string
	devices  string
	patience time.Duration
}

// errUnverified says that a mesh which has to be verified is not.
var errUnverified = errors.New("the mesh is not verified: see the findings above and the status of the DeviceMesh")

func newVerifyCommand(stdout, stderr io.Writer) *cobra.Command {
	var f verifyFlags
	command := &cobra.Command{
		Use:   "verify-mesh",
		Short: "Verify a mesh over the network, together with its other pods",
		Long: `Runs in the pods of a placement before their other containers: meets the other pods, does the collectives of every
process group with checked results, measures groups and links, and writes what it found as the container's termination
message. Where every pod has devices and their library (NCCL or RCCL), the links between these are measured, too. It fails where
something is wrong and the placement requires verification.`,
		Args: noArguments("verify-mesh"),
		RunE: func(c *cobra.Command, _ []string) error { return f.run(c.Context(), stdout, stderr) },
	}
	set := command.Flags()
	set.StringVar(&f.folder, "mesh-dir", cmp.Or(os.Getenv("RANKWRIGHT_MESH_DIR"), "/etc/rankwright/mesh"), "`folder` of the mesh's files")
	set.StringVar(&f.key, "key-file", filepath.Join(verification.KeyFolder, verification.KeyFile), "`file` with the mesh's key")
	set.StringVar(&f.index, "index", os.Getenv("RANKWRIGHT_INDEX"), "`number` of the pod; default $RANKWRIGHT_INDEX")
	set.StringVar(&f.copied, "copy", os.Getenv("RANKWRIGHT_REPLICA"), "`number` of its copy; default $RANKWRIGHT_REPLICA")
	set.StringVar(&f.plan, "plan", os.Getenv("RANKWRIGHT_PLAN"), "`name` of the plan that the files must be of; default $RANKWRIGHT_PLAN")
	set.StringVar(&f.message, "termination-message", "/dev/termination-log", "`file` for the report")
	set.StringVar(&f.devices, "device-program", besideOwn(devicelib.Program), "`program` that has NCCL or RCCL measure between devices; "+
		"default the one beside this, else the pods' network alone is tried")
	set.DurationVar(&f.patience, "files-timeout", 3*time.Minute, "time to wait for the files of the plan, which the kubelet may have still to bring")
	command.AddCommand(newInstallCommand())
	return command
}

// run verifies, prints the report and writes it down.
func (f *verifyFlags) run(ctx context.Context, stdout, stderr io.Writer) error {
	index, err := f.number("--index", f.index)
	if err != nil {
		return usageError{err}
	}
	copied, err := f.number("--copy", f.copied)
	if err != nil {
		return usageError{err}
	}
	task, err := f.awaitTask(ctx, int(copied))
	if err != nil {
		return errors.Join(err, f.write(verification.Trouble(f.plan, copied, index, err)))
	}
	report, err := f.verify(ctx, task, index, stderr)
	if err != nil {
		report = verification.Trouble(task.Plan, task.Copy, index, err)
	}
	_, _ = fmt.Fprint(stdout, report.Text(task)) // the message says the same
	if err := errors.Join(err, f.write(report)); err != nil {
		return err
	}
	if report.Outcome == verification.Failed && task.Require {
		return errUnverified
	}
	return nil
}

func (f *verifyFlags) number(flag, text string) (int32, error) {
	number, err := strconv.ParseUint(text, 10, 31)
	if err != nil {
		return 0, fmt.Errorf("%s: %q is no number: the webhook sets it where it binds the pod", flag, text)
	}
	return int32(number), nil
}

// awaitTask reads the task of a copy, when it is there and of the pod's plan.
func (f *verifyFlags) awaitTask(ctx context.Context, copied int) (task *verification.Task, err error) {
	const period = time.Second
	waited := wait.PollUntilContextTimeout(ctx, period, f.patience, true, func(context.Context) (bool, error) {
		task, err = f.readTask(copied)
		return err == nil, nil
	})
	if waited != nil {
		return nil, fmt.Errorf("after %v: %w", f.patience, err)
	}
	return task, nil
}

func (f *verifyFlags) readTask(copied int) (*verification.Task, error) {
	data, err := os.ReadFile(filepath.Join(f.folder, verification.File(copied)))
	if err != nil {
		return nil, fmt.Errorf("read the task: %w", err)
	}
	task, err := verification.ParseTask(data)
	if err == nil && f.plan != "" && task.Plan != f.plan {
		return nil, fmt.Errorf("the files are of plan %s, and the pod is of %s", task.Plan, f.plan)
	}
	return task, err
}

func (f *verifyFlags) verify(ctx context.Context, task *verification.Task, index int32, stderr io.Writer) (*verification.Report, error) {
	place, err := task.Place(index)
	if err != nil {
		return nil, err
	}
	key, err := os.ReadFile(f.key)
	if err != nil {
		return nil, fmt.Errorf("read the mesh's key: %w", err)
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", net.JoinHostPort("", strconv.Itoa(int(task.Pods[place].Port))))
	if err != nil {
		return nil, err
	}
	config := verification.Config{Task: task, Place: place, Key: key, Listener: listener, Log: newLogger(stderr, slog.LevelInfo)}
	if f.devices == "" {
		config.WithoutDevices = devicelib.Program + " is not beside this program"
	} else if program, err := devicelib.Start(ctx, f.devices); err != nil {
		config.WithoutDevices = err.Error()
	} else {
		defer program.Close()
		config.Devices = program
	}
	return verification.Verify(ctx, config)
}

// besideOwn is the path of a program in the folder of this one; empty where there is none.
func besideOwn(name string) string {
	own, err := os.Executable()
	if err != nil {
		return ""
	}
	path := filepath.Join(filepath.Dir(own), name)
	if _, err := os.Stat(path); err != nil {
		return ""
	}
	return path
}

// write writes the termination message. The kubelet has made the file.
func (f *verifyFlags) write(report *verification.Report) error {
	message, err := report.Message()
	if err != nil {
		return err
	}
	const readable = 0o644
	if err := os.WriteFile(f.message, bytes.TrimSpace(message), readable); err != nil {
		return fmt.Errorf("write the termination message: %w", err)
	}
	return nil
}
