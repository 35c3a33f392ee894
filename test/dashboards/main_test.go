// Package dashboards runs every query of the chart's dashboards, recording rules and alerts on what operators and agents really serve, while
// what the queries ask for happens: a placement is refused, pods are evicted, devices fail, an engine is slow.
package dashboards

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/rankwright/rankwright/controllers/operator"
	"github.com/rankwright/rankwright/controllers/repair"
	"github.com/rankwright/rankwright/test/controlplane"
	"github.com/rankwright/rankwright/test/operation"
)

var cluster *controlplane.ControlPlane

// childEnv has the settings of an operator in the environment of its process, which is this program once more: operators of one process
// would share their metrics.
const childEnv = "RANKWRIGHT_DASHBOARDS_OPERATOR"

// repairs are the operators' settings of repairs: one attempt, of which it shows soon that it did not help.
const repairs = operation.RepairJob + "afterSeconds: 1\nmaxAttempts: 1\ncheckSeconds: 1\ncheckTimeoutSeconds: 1\n"

// child are the settings of an operator.
type child struct {
	Kubeconfig, Metrics string
	// WebhookPort is where it serves the webhook on the loopback; 0 serves none.
	WebhookPort int
}

func TestMain(m *testing.M) {
	text := os.Getenv(childEnv)
	if text == "" {
		controlplane.MainWith(m, controlplane.Options{Scheduler: true}, &cluster)
	}
	if err := run(text); err != nil {
		fmt.Fprintln(os.Stderr, "operator:", err)
		os.Exit(1)
	}
}

// run runs an operator until it is told to end.
func run(text string) error {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	var told child
	if err := json.Unmarshal([]byte(text), &told); err != nil {
		return err
	}
	log := logr.FromSlogHandler(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	ctrl.SetLogger(log)
	klog.SetLogger(log)
	config, err := clientcmd.BuildConfigFromFlags("", told.Kubeconfig)
	if err != nil {
		return err
	}
	settings, err := repair.ParseSettings([]byte(repairs))
	if err != nil {
		return err
	}
	options := operator.Options{
		Namespace: operation.Namespace, AgentNamespace: operation.AgentNamespace, LeaderElect: true, HealthAddress: "0", MetricsAddress: told.Metrics,
		VerifierImage: "example.com/node-agent:test", Repairs: settings, Observing: 100 * time.Millisecond, Log: log,
	}
	if told.WebhookPort > 0 {
		options.Webhook = &operator.Webhook{Address: "127.0.0.1", Port: told.WebhookPort, Hosts: []string{"127.0.0.1"}, Period: 200 * time.Millisecond}
	}
	mgr, err := operator.New(ctx, config, options)
	if err != nil {
		return err
	}
	return mgr.Start(ctx)
}
