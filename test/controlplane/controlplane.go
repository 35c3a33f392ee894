// Package controlplane runs a real Kubernetes control plane as child processes on the loopback: etcd and kube-apiserver,
// and kube-scheduler and kube-controller-manager where asked for. It needs neither root nor a container engine.
//
// A test binary starts one for all its tests:
//
//	var cluster *controlplane.ControlPlane
//
//	func TestMain(m *testing.M) { controlplane.Main(m, &cluster) }
package controlplane

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/keyutil"

	"github.com/rankwright/rankwright/test/process"
)

const (
	// startAttempts is how often a start is tried, since a port may be taken between being found and being used.
	startAttempts = 3
	// readyTimeout is far above the 3 s that a start takes alone on two cores, for machines that are busy.
	readyTimeout = 3 * time.Minute
	// stopGrace is what a component gets between SIGTERM and SIGKILL.
	stopGrace = 5 * time.Second
)

// Options say what to start. The zero value is an etcd and an API server in a temporary folder.
type Options struct {
	// Dir is the folder of keys, data and logs; empty means a temporary one that Stop removes.
	Dir string
	// BinDir has the binaries; empty means FindAssets.
	BinDir string
	// Scheduler and ControllerManager start kube-scheduler and kube-controller-manager as well.
	Scheduler, ControllerManager bool
	// LeaveNodes keeps the controller manager from calling nodes unreachable, which it does a minute after it first saw a node of
	// that name without a kubelet.
	LeaveNodes bool
	// WithoutWatchCache has the API server read from etcd alone. Where definitions are made and removed again and again, its caches are
	// rarely ready, and the removal of a definition that fails for that is tried again after pauses of up to minutes.
	WithoutWatchCache bool
	// WithoutKinds leaves the installation of Rankwright's kinds to the tests; Start alone never installs them.
	WithoutKinds bool
	// FeatureGates turn features of the API server on or off that its version has otherwise.
	FeatureGates map[string]bool
	// APIs are versions of APIs that the API server does not serve otherwise (`resource.k8s.io/v1beta2`).
	APIs []string
	// Network opens the control plane to nodes; nil keeps it on the loopback.
	Network *Network
	// Log receives a line for each step; nil drops them.
	Log io.Writer
}

// Network is where nodes reach the control plane.
type Network struct {
	// Address of the API server, beside the loopback's.
	Address netip.Addr
	// Services is the range of Services; its first address is the API server's own.
	Services netip.Prefix
}

// ControlPlane is a running control plane.
type ControlPlane struct {
	options   Options
	dir       string
	temporary bool
	authority *authority
	url       string
	port      int
	etcdURL   string
	admin     *rest.Config
	processes []*process.Process
}

// Start starts a control plane and returns when every component is ready. The context bounds the start alone; the
// control plane runs until Stop. What was started is gone again where an error is returned.
func Start(ctx context.Context, options Options) (*ControlPlane, error) {
	c, err := prepare(options)
	if err != nil {
		return nil, err
	}
	for attempt := 1; ; attempt++ {
		err = c.start(ctx)
		if err == nil {
			return c, nil
		}
		c.stopProcesses()
		if ctx.Err() != nil || attempt == startAttempts {
			break
		}
		c.logf("control plane: attempt %d of %d failed, trying other ports: %v", attempt, startAttempts, err)
	}
	c.Stop()
	return nil, err
}

// prepare makes the folder with all keys and certificates.
func prepare(options Options) (*ControlPlane, error) {
	if options.Log == nil {
		options.Log = io.Discard
	}
	if options.BinDir == "" {
		dir, err := FindAssets()
		if err != nil {
			return nil, err
		}
		options.BinDir = dir
	}
	if err := requireBinaries(options.BinDir, options.binaries()); err != nil {
		return nil, err
	}
	c := &ControlPlane{options: options, dir: options.Dir}
	if c.dir == "" {
		dir, err := os.MkdirTemp("", "rankwright-")
		if err != nil {
			return nil, fmt.Errorf("folder of the control plane: %w", err)
		}
		c.dir, c.temporary = dir, true
	}
	if err := c.writeKeys(); err != nil {
		c.Stop()
		return nil, err
	}
	return c, nil
}

func (o Options) binaries() []string {
	names := []string{etcd, apiserver}
	if o.Scheduler {
		names = append(names, "kube-scheduler")
	}
	if o.ControllerManager {
		names = append(names, "kube-controller-manager")
	}
	return names
}

func (c *ControlPlane) writeKeys() error {
	authority, err := newAuthority()
	if err != nil {
		return err
	}
	c.authority = authority
	server, err := authority.server(c.options.addresses())
	if err != nil {
		return err
	}
	kubelet, err := authority.client("kube-apiserver-kubelet-client", []string{"system:masters"})
	if err != nil {
		return err
	}
	tokens, err := keyutil.MakeEllipticPrivateKeyPEM()
	if err != nil {
		return fmt.Errorf("key of service account tokens: %w", err)
	}
	if err := os.MkdirAll(c.dir, 0o700); err != nil {
		return fmt.Errorf("folder of the control plane: %w", err)
	}
	for name, content := range map[string][]byte{
		"audit.yaml":    []byte(auditPolicy),
		"ca.crt":        authority.pem,
		"apiserver.crt": server.certificate,
		"apiserver.key": server.key,
		"kubelet.crt":   kubelet.certificate,
		"kubelet.key":   kubelet.key,
		"sa.key":        tokens,
	} {
		if err := os.WriteFile(c.path(name), content, 0o600); err != nil {
			return fmt.Errorf("keys of the control plane: %w", err)
		}
	}
	return nil
}

// auditPolicy logs what service accounts write.
const auditPolicy = `{"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"], "rules": [
  {"level": "Metadata", "userGroups": ["system:serviceaccounts"], "verbs": ["create", "update", "patch", "delete", "deletecollection"]},
  {"level": "None"}]}`

// AuditLog is the path of the API server's log of what service accounts write, an audit.k8s.io/v1 Event a line. A control
// plane without a Network writes none.
func (c *ControlPlane) AuditLog() string { return c.path("audit.log") }

// start makes one attempt on ports of its own.
func (c *ControlPlane) start(ctx context.Context) error {
	ports, err := FreePorts(2)
	if err != nil {
		return err
	}
	if err := os.RemoveAll(c.path("etcd")); err != nil {
		return fmt.Errorf("data of etcd: %w", err)
	}
	etcdPort, port := ports[0], ports[1]
	if err := c.run(etcd, c.etcdArgs(etcdPort)); err != nil {
		return err
	}
	c.etcdURL = fmt.Sprintf("http://127.0.0.1:%d", etcdPort)
	if err := c.awaitEtcd(ctx); err != nil {
		return err
	}
	if err := c.run(apiserver, c.apiserverArgs(etcdPort, port)); err != nil {
		return err
	}
	if err := c.connect(ctx, port); err != nil {
		return err
	}
	return c.startControllers()
}

// connect makes the administrator's configuration and waits for the API server to be ready.
func (c *ControlPlane) connect(ctx context.Context, port int) error {
	c.url, c.port = fmt.Sprintf("https://127.0.0.1:%d", port), port
	admin, err := c.ConfigForUser("rankwright-admin", "system:masters")
	if err != nil {
		return err
	}
	c.admin = admin
	if err := c.awaitAPIServer(ctx); err != nil {
		return err
	}
	return WriteKubeconfig(c.Kubeconfig(), admin)
}

func (c *ControlPlane) awaitEtcd(ctx context.Context) error {
	return c.await(ctx, etcd, http.DefaultClient, c.etcdURL+"/readyz")
}

func (c *ControlPlane) awaitAPIServer(ctx context.Context) error {
	client, err := rest.HTTPClientFor(c.admin)
	if err != nil {
		return fmt.Errorf("client of the API server: %w", err)
	}
	defer client.CloseIdleConnections()
	return c.await(ctx, apiserver, client, c.url+"/readyz")
}

func (c *ControlPlane) startControllers() error {
	for _, controller := range []struct {
		enabled            bool
		name, binary, user string
		args               []string
	}{
		{c.options.Scheduler, "scheduler", "kube-scheduler", "system:kube-scheduler", c.schedulerArgs()},
		{c.options.ControllerManager, "controller-manager", "kube-controller-manager", "system:kube-controller-manager", c.controllerManagerArgs()},
	} {
		if !controller.enabled {
			continue
		}
		config, err := c.ConfigForUser(controller.user)
		if err != nil {
			return err
		}
		if err := WriteKubeconfig(c.path(controller.name+".kubeconfig"), config); err != nil {
			return err
		}
		if err := c.run(controller.binary, controller.args); err != nil {
			return err
		}
	}
	return nil
}

func (c *ControlPlane) run(binary string, args []string) error {
	p, err := process.Start(process.Spec{
		Name: binary,
		Path: filepath.Join(c.options.BinDir, binary),
		Args: args,
		// Components collect garbage less often than by default, which takes a tenth off their processor time.
		Env:     append(os.Environ(), "GOGC=400"),
		LogFile: c.path(binary + ".log"),
	})
	if err != nil {
		return err
	}
	c.processes = append(c.processes, p)
	c.logf("%s: started, process %d, log %s", binary, p.PID(), p.LogFile())
	return nil
}

// await returns when an address of a component, which is all that a process offers that has no API yet, answers 200. It fails where the
// component ends.
func (c *ControlPlane) await(ctx context.Context, name string, client *http.Client, url string) error {
	p, begin := c.processes[c.component(name)], time.Now()
	if err := p.Await(ctx, readyTimeout, func(ctx context.Context) error { return probe(ctx, client, url) }); err != nil {
		return err
	}
	c.logf("%s: ready after %.1f s", p.Name(), time.Since(begin).Seconds())
	return nil
}

func probe(ctx context.Context, client *http.Client, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("GET %s: %s", url, response.Status)
	}
	return nil
}

// Processes returns the components in the order of their start.
func (c *ControlPlane) Processes() []*process.Process { return slices.Clone(c.processes) }

// Dir returns the folder of keys, data and logs.
func (c *ControlPlane) Dir() string { return c.dir }

func (c *ControlPlane) path(name string) string { return filepath.Join(c.dir, name) }

// Stop ends every component, the last started first, and removes the folder where Start made it. It may be called more
// than once.
func (c *ControlPlane) Stop() {
	c.stopProcesses()
	if c.temporary {
		_ = os.RemoveAll(c.dir)
	}
}

func (c *ControlPlane) stopProcesses() {
	for _, p := range slices.Backward(c.processes) {
		p.Stop(stopGrace)
		c.logf("%s: stopped", p.Name())
	}
	c.processes = nil
}

func (c *ControlPlane) logf(format string, args ...any) {
	_, _ = fmt.Fprintf(c.options.Log, format+"\n", args...)
}
