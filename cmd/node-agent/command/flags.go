package command

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/rankwright/rankwright/pkg/detect"
	"github.com/rankwright/rankwright/pkg/detect/host"
	"github.com/rankwright/rankwright/pkg/nodeagent"
	"github.com/rankwright/rankwright/pkg/nodeagent/dra"
	"github.com/rankwright/rankwright/pkg/nodeagent/serving"
)

// Bounds of the durations. A rescan reads some thousand files and may run a driver's tool, which more often than each
// few seconds would be felt by the work on the node; a backend needs time to run one tool.
const (
	minRescanInterval = 5 * time.Second
	minBackendTimeout = 100 * time.Millisecond
)

// defaultCDI is where container runtimes look for CDI specifications that are made at run time (CDI specification, 0.6).
const defaultCDI = "/var/run/cdi"

// flags are the command line.
type flags struct {
	// agent and serving are what flags set of the agent's options; start sets the rest.
	agent   nodeagent.Options
	serving serving.Options

	kubeconfig    string
	replay        string
	root          string
	once          bool
	dryRun        bool
	noExec        bool
	toolsSocket   string
	hotPlug       bool
	logLevel      string
	config        string
	hookInstalled bool

	metricsAuthentication bool

	level slog.Level
	// tools run the host's tools; nil where none may be run.
	tools host.Tools
}

func (f *flags) register(set *pflag.FlagSet) {
	set.StringVar(&f.kubeconfig, "kubeconfig", "", "kubeconfig `file`; default $KUBECONFIG, else the pod's service account")
	set.StringVar(&f.agent.NodeName, "node-name", "", "metadata.name of the Node; default $NODE_NAME, else the host name")
	set.StringVar(&f.replay, "replay", "", "detect a recorded host (tar or tar.gz `file`) instead of this one")
	set.StringVar(&f.root, "root", "/", "`folder` where the host's file tree is; /host in a pod that mounts it there")
	set.BoolVar(&f.once, "once", false, "detect and publish once, then exit 0, or 1 where that failed")
	set.BoolVar(&f.dryRun, "dry-run", false, "print what would be applied as YAML and exit, without asking an API server")
	set.BoolVar(&f.noExec, "no-exec", false, "run none of the host's tools; read files only")
	set.StringVar(&f.toolsSocket, "tools-socket", "", "`socket` of a node-helper that runs the host's tools; default none: they run here where --root is /")
	set.BoolVar(&f.hotPlug, "hot-plug", true, "detect also when the kernel tells, or /dev shows, that devices come and go")
	set.DurationVar(&f.agent.RescanInterval, "rescan-interval", nodeagent.DefaultRescanInterval, "time between detections")
	set.DurationVar(&f.agent.BackendTimeout, "backend-timeout", detect.DefaultDeadline, "time that each detection backend may take")
	set.StringVar(&f.agent.LeaseNamespace, "lease-namespace", nodeagent.DefaultLeaseNamespace, "`namespace` of the heartbeats")
	set.StringVar(&f.agent.HealthAddress, "health-address", ":8081", "`host:port` of /healthz and /readyz; 0 disables them")
	set.StringVar(&f.agent.MetricsAddress, "metrics-address", ":8080", "`host:port` of /metrics; 0 disables it")
	set.BoolVar(&f.metricsAuthentication, "metrics-authentication", true, "serve /metrics by HTTPS to those whom RBAC lets get it; false: by HTTP to everybody")
	set.StringVar(&f.config, "config", "", "YAML `file` that says which vendors' devices to serve to the kubelet; none without it")
	set.StringVar(&f.serving.Folder, "device-plugins", "", "`folder` where device plugins meet the kubelet; default "+
		serving.DefaultFolder+" below --root")
	set.StringVar(&f.agent.PodResourcesSocket, "pod-resources", "", "`socket` at which the kubelet says which pod holds which device; default "+
		serving.DefaultPodResources+" below --root, none with --replay")
	set.StringVar(&f.agent.DRA.Folder, "dra-folder", dra.DefaultFolder, "`folder` of the socket at which the kubelet calls the DRA driver; "+
		"its path has to be the same for both")
	set.StringVar(&f.agent.DRA.Registry, "dra-registry", dra.DefaultRegistry, "`folder` where the kubelet finds DRA drivers")
	set.StringVar(&f.serving.CDIFolder, "cdi", "", "`folder` where the container runtime reads CDI specifications; default "+
		defaultCDI+" below --root")
	set.StringVar(&f.serving.Hook, "cdi-hook", "", "`path` on the host of the nvidia-cdi-hook that its container runtime runs; default where one is found")
	set.BoolVar(&f.hookInstalled, "cdi-hook-installed", false, "what is at --cdi-hook was installed with the agents, and is removed when they are uninstalled")
	set.StringVarP(&f.logLevel, "log-level", "v", "info", "least severe messages to log: debug, info, warn or error")
}

// complete fills in the defaults that come from outside of the command line and checks all flags at once.
func (f *flags) complete(set *pflag.FlagSet) error {
	name, _ := os.Hostname() // without one, checkNames says what to set; the kubelet names its Node in lower case
	f.agent.NodeName = cmp.Or(f.agent.NodeName, os.Getenv("NODE_NAME"), strings.ToLower(name))
	f.serving.Folder = cmp.Or(f.serving.Folder, filepath.Join(f.root, serving.DefaultFolder))
	f.serving.CDIFolder = cmp.Or(f.serving.CDIFolder, filepath.Join(f.root, defaultCDI))
	if f.replay == "" {
		f.agent.PodResourcesSocket = cmp.Or(f.agent.PodResourcesSocket, filepath.Join(f.root, serving.DefaultPodResources))
	}
	f.serving.PodResources = f.agent.PodResourcesSocket
	f.agent.MetricsOpen = !f.metricsAuthentication
	f.tools = f.newTools()
	return errors.Join(
		f.checkNames(),
		f.checkHost(set),
		atLeast("--rescan-interval", f.agent.RescanInterval, minRescanInterval),
		atLeast("--backend-timeout", f.agent.BackendTimeout, minBackendTimeout),
		checkAddress("--health-address", f.agent.HealthAddress),
		checkAddress("--metrics-address", f.agent.MetricsAddress),
		f.checkLevel(),
		f.readConfig(),
	)
}

func (f *flags) checkNames() error {
	var errs []error
	if problems := validation.IsDNS1123Subdomain(f.agent.NodeName); len(problems) > 0 {
		errs = append(errs, fmt.Errorf("--node-name: %q cannot be a Node's name (%s): set it, or $NODE_NAME, to the Node's metadata.name",
			f.agent.NodeName, problems[0]))
	}
	if problems := validation.IsDNS1123Label(f.agent.LeaseNamespace); len(problems) > 0 {
		errs = append(errs, fmt.Errorf("--lease-namespace: %q cannot be a namespace (%s): name the one that the agent runs in",
			f.agent.LeaseNamespace, problems[0]))
	}
	return errors.Join(errs...)
}

func (f *flags) checkHost(set *pflag.FlagSet) error {
	var errs []error
	if f.replay != "" && set.Changed("root") {
		errs = append(errs, errors.New("--replay and --root: a recording brings its own file tree: remove one of the two"))
	}
	for _, other := range []struct {
		flag string
		set  bool
	}{{"--replay", f.replay != ""}, {"--no-exec", f.noExec}} {
		if other.set && f.toolsSocket != "" {
			errs = append(errs, fmt.Errorf("--tools-socket and %s: with it no tool is run: remove one of the two", other.flag))
		}
	}
	name := cmp.Or(f.replay, f.root)
	info, err := os.Stat(name)
	switch {
	case err != nil && f.replay != "":
		errs = append(errs, fmt.Errorf("--replay: cannot open the recording: %w", err))
	case err != nil:
		errs = append(errs, fmt.Errorf("--root: cannot open the host's file tree: %w: mount it there or name another folder", err))
	case f.replay != "" && info.IsDir():
		errs = append(errs, fmt.Errorf("--replay: %q is a folder: name a tar or tar.gz file", name))
	case f.replay == "" && !info.IsDir():
		errs = append(errs, fmt.Errorf("--root: %q is not a folder: name the folder where the host's file tree is mounted", name))
	}
	return errors.Join(errs...)
}

// readConfig reads the file of --config.
func (f *flags) readConfig() error {
	if f.config == "" {
		return nil
	}
	text, err := os.ReadFile(f.config)
	if err != nil {
		return fmt.Errorf("--config: %w: name a file that the agent can read", err)
	}
	if f.serving.Config, err = serving.ParseConfig(text); err != nil {
		return fmt.Errorf("--config %s: %w", f.config, err)
	}
	if f.serving.Config.NeedsDriver() && f.tools == nil {
		return fmt.Errorf("--config %s: vendors.nvidia.injection: CDI without cdiKind gives containers what rankwright-cdi finds of the driver, and no program may be run: "+
			"name a node-helper by --tools-socket (agent.nvml.enabled of the chart), or set cdiKind to the kind of the host's own specification (nvidia.com/gpu)", f.config)
	}
	return nil
}

func (f *flags) checkLevel() error {
	if err := f.level.UnmarshalText([]byte(f.logLevel)); err != nil {
		return fmt.Errorf("--log-level: %q is no level: take debug, info, warn or error", f.logLevel)
	}
	return nil
}

func atLeast(flag string, value, least time.Duration) error {
	if value < least {
		return fmt.Errorf("%s: %s is too short: take at least %s", flag, value, least)
	}
	return nil
}

func checkAddress(flag, address string) error {
	if address == nodeagent.Disabled {
		return nil
	}
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("%s: %q is no address: take host:port (:8080), or 0 to disable it", flag, address)
	}
	if _, err := net.LookupPort("tcp", port); err != nil {
		return fmt.Errorf("%s: %q has no valid port: take 1 to 65535, or port 0 to let the system choose", flag, address)
	}
	return nil
}
