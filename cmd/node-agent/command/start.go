package command

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime/debug"
	"syscall"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"

	"github.com/rankwright/rankwright/internal/version"
	"github.com/rankwright/rankwright/pkg/detect"
	"github.com/rankwright/rankwright/pkg/detect/host"
	"github.com/rankwright/rankwright/pkg/nodeagent"
	"github.com/rankwright/rankwright/pkg/nodeagent/helper"
	"github.com/rankwright/rankwright/pkg/nodeagent/podresources"
)

// start does what the flags ask for.
func start(ctx context.Context, f flags, stdout, stderr io.Writer, hangups <-chan os.Signal) error {
	if f.dryRun {
		return dryRun(ctx, f, stdout)
	}
	spareMemory()
	log := newClientLogger(stderr, f.level)
	config, err := loadConfig(f.kubeconfig)
	if err != nil {
		return err
	}
	agent, err := nodeagent.New(config, f.options(log))
	if err != nil {
		return err
	}
	if f.once {
		return agent.Once(ctx)
	}
	log.Info("starting", "node", f.agent.NodeName, "version", version.String(), "server", config.Host,
		"replay", f.replay, "root", f.root, "rescanInterval", f.agent.RescanInterval.String())
	defer forward(ctx, hangups, agent.Rescan)()
	return agent.Run(ctx)
}

// spareMemory has garbage collected at a quarter more than is in use, not at twice as much: an agent takes memory on every
// node, and at rest makes hardly any garbage. GOGC says otherwise.
func spareMemory() {
	const percent = 25
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(percent)
	}
}

func dryRun(ctx context.Context, f flags, stdout io.Writer) error {
	h, err := f.openHost()
	if err != nil {
		return err
	}
	status := detect.Detect(ctx, h, detect.Options{Deadline: f.agent.BackendTimeout}).Status
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("detection was cut off: %w", err)
	}
	out, err := nodeagent.DryRun(f.agent.NodeName, version.String(), status)
	if err != nil {
		return err
	}
	_, err = stdout.Write(out)
	return err
}

// openHost opens the host to detect: a recording, read anew each time, or a live file tree.
func (f *flags) openHost() (*host.Host, error) {
	if f.replay == "" {
		return host.LiveHost(f.root, f.tools)
	}
	recording, err := readRecording(f.replay)
	if err != nil {
		return nil, fmt.Errorf("read the recording %w", err)
	}
	h := recording.Host()
	if f.noExec {
		h.Commands = nil
	}
	return h, nil
}

// options returns the options of the agent: what flags set, and what follows from them.
func (f *flags) options(log *slog.Logger) nodeagent.Options {
	o := f.agent
	o.Host, o.GPUErrors = f.openHost, f.tools
	o.NVIDIADriver = filepath.Join(f.root, nodeagent.DefaultNVIDIADriver)
	if f.hotPlug && f.replay == "" { // a recording has no events
		o.Uevents, o.DevFolder = true, filepath.Join(f.root, "dev")
	}
	o.Pod, o.Version, o.Log = ownPod(), version.String(), log
	o.Serving = &f.serving
	o.Serving.Host, o.Serving.Group, o.Serving.Commands = f.openHost, f.group, f.tools
	if f.hookInstalled && f.serving.Hook != "" {
		o.Serving.Installed = []string{filepath.Join(f.root, f.serving.Hook)}
	}
	return o
}

// group returns the id of the group that owns a file of the host.
func (f *flags) group(name string) (uint32, error) {
	info, err := os.Lstat(filepath.Join(f.root, name))
	if err != nil {
		return 0, err
	}
	stat, known := info.Sys().(*syscall.Stat_t)
	if !known {
		return 0, fmt.Errorf("%s: its owner is not known", name)
	}
	return stat.Gid, nil
}

// ownPod is the agent's pod, where its manifest tells by POD_NAMESPACE and POD_NAME.
func ownPod() podresources.Pod {
	pod := podresources.Pod{Namespace: os.Getenv("POD_NAMESPACE"), Name: os.Getenv("POD_NAME")}
	if pod.Namespace == "" || pod.Name == "" {
		return podresources.Pod{}
	}
	return pod
}

func loadConfig(kubeconfig string) (*rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = kubeconfig
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("no API server to talk to: %w; set --kubeconfig, or --dry-run to see what would be published", err)
	}
	config.UserAgent = "rankwright-node-agent/" + version.String()
	return config, nil
}

// newLogger logs JSON lines.
func newLogger(w io.Writer, level slog.Level) *slog.Logger {
	return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: level}))
}

// newClientLogger is newLogger for what talks to the API server: the client library logs there too, as all of the process.
func newClientLogger(w io.Writer, level slog.Level) *slog.Logger {
	log := newLogger(w, level)
	klog.SetSlogLogger(log)
	return log
}

// forward calls f for every signal until the context ends or the returned function is called.
func forward(ctx context.Context, signals <-chan os.Signal, f func()) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-ctx.Done():
				return
			case <-signals:
				f()
			}
		}
	}()
	return func() { cancel(); <-done }
}

// newTools returns what runs the host's tools: the helper at --tools-socket, else this process where --root is its own root;
// nil where none may or can be run.
func (f *flags) newTools() host.Tools {
	switch {
	case f.noExec || f.replay != "":
		return nil
	case f.toolsSocket != "":
		return helper.Dial(f.toolsSocket)
	case filepath.Clean(f.root) == "/":
		return host.LiveCommands()
	default:
		return nil
	}
}
