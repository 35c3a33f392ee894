// Scale measures the operator on a large, busy cluster: see the package above.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/rankwright/rankwright/internal/repository"
	"github.com/rankwright/rankwright/test/controlplane"
	"github.com/rankwright/rankwright/test/scale"
	"github.com/rankwright/rankwright/test/scale/peers"
)

func main() {
	scale.Child()
	ctrl.SetLogger(logr.Discard())
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx)
	cancel()
	if err != nil {
		fmt.Fprintln(os.Stderr, "scale:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	flags := flag.NewFlagSet("scale", flag.ContinueOnError)
	o := scale.Options{Log: os.Stderr}
	flags.IntVar(&o.Nodes, "nodes", 5000, "nodes of eight devices")
	flags.IntVar(&o.Placements, "placements", 1000, "placements that arrive at once")
	flags.IntVar(&o.Unplaceable, "unplaceable", 100, "placements that cannot be placed")
	flags.IntVar(&o.Pods, "pods", 8000, "pods that hold devices")
	flags.IntVar(&o.Leases, "leases", 83, "Leases of agents that are renewed a second")
	flags.IntVar(&o.Inventories, "inventories", 20, "inventories that are written a second")
	flags.IntVar(&o.Bare, "bare", 200, "placements whose objects a bare client writes (0: none)")
	flags.IntVar(&o.Single, "single", 100, "placements, and refusals, that are measured one after the other")
	flags.IntVar(&o.Webhook, "webhook", 400, "pods of placements, and as many of none, that are made")
	flags.IntVar(&o.NotReady, "not-ready", 100, "nodes that are not ready at once")
	flags.DurationVar(&o.Rest, "rest", time.Minute, "time for which the operator's calls are counted while nothing is asked for")
	flags.DurationVar(&o.Settle, "settle", 20*time.Minute, "longest time that a phase may take")
	flags.StringVar(&o.Operator.WebhookHost, "webhook-host", "", "address at which the API server of -kubeconfig reaches the webhook on this machine (none: it is not measured)")
	flags.StringVar(&o.Operator.Profiles, "profiles", "", "folder to write profiles of the operator's processor time and memory to, two a phase")
	flags.StringVar(&o.Operator.Memory, "memory", "", "what the operator's container may take, such as 450Mi (none: no limit)")
	kubeconfig := flags.String("kubeconfig", "", "cluster with Rankwright's kinds and without its operator, in place of an API server of its own")
	beside := flags.Bool("peers", false, "measure Kueue and kube-scheduler beside the operator, with -nodes and -placements, and nothing else")
	if err := flags.Parse(os.Args[1:]); err != nil {
		return err
	}
	if *beside {
		return runPeers(ctx, peers.Options{Nodes: o.Nodes, Count: o.Placements, Log: o.Log, Patience: o.Settle})
	}
	config, stop, err := cluster(ctx, *kubeconfig)
	if err != nil {
		return err
	}
	defer stop()
	if *kubeconfig == "" {
		o.Operator.WebhookHost = "127.0.0.1"
	}
	ports, err := controlplane.FreePorts(1)
	if err != nil {
		return err
	}
	o.Operator.WebhookPort = ports[0]
	report, err := scale.Measure(ctx, config, o)
	if report != nil {
		if printed := report.Print(os.Stdout); err == nil {
			err = printed
		}
	}
	return err
}

// runPeers measures on a control plane of its own.
func runPeers(ctx context.Context, o peers.Options) error {
	c, err := start(ctx)
	if err != nil {
		return err
	}
	defer c.Stop()
	return peers.Measure(ctx, c, o, os.Stdout)
}

// cluster is the one of a kubeconfig, or a control plane that is started.
func cluster(ctx context.Context, kubeconfig string) (*rest.Config, func(), error) {
	if kubeconfig != "" {
		config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
		if err != nil {
			return nil, nil, fmt.Errorf("kubeconfig: %w", err)
		}
		return config, func() {}, nil
	}
	c, err := start(ctx)
	if err != nil {
		return nil, nil, err
	}
	return c.Config(), c.Stop, nil
}

// start starts a control plane that serves Rankwright's kinds.
func start(ctx context.Context) (*controlplane.ControlPlane, error) {
	root, err := repository.Root()
	if err != nil {
		return nil, err
	}
	c, err := controlplane.Start(ctx, controlplane.Options{Log: os.Stderr})
	if err != nil {
		return nil, err
	}
	if err := c.InstallCRDs(ctx, filepath.Join(root, "config", "crd")); err != nil {
		c.Stop()
		return nil, err
	}
	return c, nil
}
