// Package command is the command line of the operator.
package command

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"os"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/rankwright/rankwright/controllers/operator"
	"github.com/rankwright/rankwright/controllers/placement"
	"github.com/rankwright/rankwright/controllers/repair"
)

// New is the command with its flags, and the command below it.
func New() *cobra.Command {
	var kubeconfig, level, memory, tenants, repairs, webhookAddress, webhookService string
	var authenticated bool
	options := operator.Options{
		Namespace:      cmp.Or(os.Getenv("POD_NAMESPACE"), "rankwright-operator"),
		AgentNamespace: "rankwright-node-agent",
		LeaderElect:    true,
		HealthAddress:  ":8081",
		MetricsAddress: ":8080",
	}
	cmd := &cobra.Command{
		Use:           "operator",
		Short:         "Place models on the accelerators of a cluster",
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			log, err := newLogger(level)
			if err != nil {
				return err
			}
			options.Log, options.MetricsOpen = log, !authenticated
			if err := operator.LimitMemory(memory); err != nil {
				return fmt.Errorf("--memory-limit: %w", err)
			}
			options.Webhook, err = operator.WebhookAt(webhookAddress, webhookService, options.Namespace)
			if err != nil {
				return fmt.Errorf("--webhook-address: %w", err)
			}
			if options.Tenants, err = placement.ReadTenants(tenants); err != nil {
				return fmt.Errorf("--tenants: %w", err)
			}
			if options.Repairs, err = repair.ReadSettings(repairs); err != nil {
				return fmt.Errorf("--repairs: %w", err)
			}
			return run(cmd.Context(), kubeconfig, options)
		},
	}
	cmd.CompletionOptions.DisableDefaultCmd = true
	cmd.AddCommand(checkCommand())
	flags := cmd.Flags()
	flags.StringVar(&kubeconfig, "kubeconfig", "", "kubeconfig `file`; without it $KUBECONFIG, the pod's service account or ~/.kube/config")
	flags.StringVar(&options.Namespace, "namespace", options.Namespace, "`namespace` of the ledger and the leader election; by default $POD_NAMESPACE")
	flags.StringVar(&options.AgentNamespace, "agent-namespace", options.AgentNamespace, "`namespace` of the node agents' heartbeat Leases")
	flags.BoolVar(&options.LeaderElect, "leader-elect", options.LeaderElect, "let one of several operators work")
	flags.StringVar(&options.HealthAddress, "health-address", options.HealthAddress, "`address` of /healthz and /readyz; 0 serves neither")
	flags.StringVar(&options.MetricsAddress, "metrics-address", options.MetricsAddress, "`address` of /metrics; 0 does not serve it")
	flags.BoolVar(&authenticated, "metrics-authentication", true, "serve /metrics by HTTPS to those whom RBAC lets get it; false: by HTTP to everybody")
	flags.StringVar(&tenants, "tenants", "", "`file` that says how many devices and which priority classes namespaces may have; without it everything")
	flags.StringVar(&repairs, "repairs", "", "`file` that says what becomes of devices with a fault; without it they are left alone")
	flags.StringVar(&webhookAddress, "webhook-address", "0", "`address` of the webhook that binds pods; 0 serves none")
	flags.StringVar(&webhookService, "webhook-service", "rankwright-webhook", "`Service` of the webhook in the operator's namespace; its certificates are for it")
	flags.StringVar(&options.VerifierImage, "verifier-image", "", "`image` of the init container that verifies meshes, which is the node agent's; without it pods verify none")
	flags.DurationVar(&options.Observing, "engine-metrics", 0, "`time` between two readings of the metrics of the pods' engines, which are compared with estimates; 0: never")
	flags.StringVar(&options.Traces, "traces", "", "`URL` of a collector that takes OpenTelemetry's spans by OTLP over gRPC, such as http://collector.monitoring:4317; without it none are made")
	flags.StringVar(&memory, "memory-limit", "", "`quantity` of memory that the container may take; near to it garbage is collected more often. Without it there is no limit")
	flags.StringVar(&level, "log-level", "info", "least `level` that is logged: debug, info, warn or error")
	return cmd
}

func newLogger(level string) (logr.Logger, error) {
	var least slog.Level
	if err := least.UnmarshalText([]byte(level)); err != nil {
		return logr.Logger{}, fmt.Errorf("--log-level %q: use debug, info, warn or error", level)
	}
	log := logr.FromSlogHandler(slog.NewJSONHandler(os.Stderr, &slog.HandlerOptions{Level: least}))
	ctrl.SetLogger(log)
	klog.SetLogger(log)
	return log, nil
}

func run(ctx context.Context, kubeconfig string, options operator.Options) error {
	cfg, err := loadConfig(kubeconfig)
	if err != nil {
		return fmt.Errorf("configuration of the client: %w", err)
	}
	// The API server's priority and fairness sets the pace, not client-go's default of 5 requests a second.
	cfg.QPS = -1
	mgr, err := operator.New(ctx, cfg, options)
	if err != nil {
		return err
	}
	return mgr.Start(ctx)
}

func loadConfig(kubeconfig string) (*rest.Config, error) {
	if kubeconfig != "" {
		return clientcmd.BuildConfigFromFlags("", kubeconfig)
	}
	return ctrl.GetConfig()
}
