package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"k8s.io/client-go/dynamic"

	"github.com/rankwright/rankwright/test/controlplane"
	"github.com/rankwright/rankwright/test/process"
)

const (
	agentNamespace    = "rankwright-node-agent"
	agentAccount      = "rankwright-node-agent"
	operatorNamespace = "rankwright-operator"
	operatorAccount   = "rankwright-operator"

	// waitLimit bounds each wait; each takes a few seconds on two cores.
	waitLimit = 2 * time.Minute
	stopGrace = 10 * time.Second
)

// demo is what is running.
type demo struct {
	root, assets, dir string
	progress          *progress

	cluster *controlplane.ControlPlane
	dynamic dynamic.Interface
	nodes   []simulatedNode
	// stopKubelets ends what plays the kubelets; nil before they are started.
	stopKubelets func()
	// programs are Rankwright's own processes, in the order of their start.
	programs []*process.Process
	// metrics are the addresses at which the operator and then the agents, in the order of their nodes, serve theirs.
	metrics []string
}

// run is the story of the demo, one step a line.
func (d *demo) run(interrupt context.Context, keep bool) error {
	ctx, fail := context.WithCancelCause(interrupt)
	defer fail(nil)
	for _, step := range []func(context.Context) error{
		d.startCluster,
		d.startNodes,
		d.chooseMetrics,
		func(context.Context) error { return d.startOperator(ctx, fail) },
		func(context.Context) error { return d.startAgents(ctx, fail) },
		d.awaitInventories,
		d.placeSamples,
		d.show,
	} {
		if err := step(ctx); err != nil {
			d.explain(ctx)
			return because(ctx, err)
		}
	}
	if !keep {
		return nil
	}
	if err := d.configurePrometheus(ctx); err != nil {
		return err
	}
	fmt.Printf("\nEverything is left running. In another terminal:\n\n  export KUBECONFIG=%s\n  export PATH=%s:%s:$PATH\n  kubectl rankwright top\n\n"+
		"Its metrics, where Prometheus is installed:\n\n  prometheus --config.file=%s\n\nCtrl-C stops it.\n",
		d.cluster.Kubeconfig(), d.assets, filepath.Join(d.root, "bin"), d.prometheusConfig())
	err := d.serve(ctx)
	switch {
	case interrupt.Err() != nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	default:
		return fmt.Errorf("the page ended by itself: %w", err)
	}
}

// serve serves the plugin's page, which prints its address, until the context ends.
func (d *demo) serve(ctx context.Context) error {
	return process.Run(ctx, process.Spec{
		Name: "the page",
		Path: filepath.Join(d.root, "bin", "kubectl-rankwright"),
		Args: []string{"ui", "--kubeconfig", d.cluster.Kubeconfig(), "--open=false"},
	}, time.Second)
}

// explain shows how far the placements came when a step failed; that it cannot be shown is no news then.
func (d *demo) explain(ctx context.Context) {
	if d.cluster != nil && ctx.Err() == nil {
		_ = d.kubectl(ctx, []string{"get", "modelplacements", "-o", "wide"})
	}
}

// because prefers the reason for which a context was ended (a program that crashed) to the bare fact that it was.
func because(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// startCluster starts the control plane and installs what an administrator installs.
func (d *demo) startCluster(ctx context.Context) error {
	d.progress.step("starting etcd, kube-apiserver, kube-scheduler and kube-controller-manager")
	stop := d.progress.waiting(func() string { return "the API server" })
	cluster, err := controlplane.Start(ctx, controlplane.Options{
		Dir: filepath.Join(d.dir, "logs"), BinDir: d.assets, Scheduler: true, ControllerManager: true,
	})
	stop()
	if err != nil {
		return err
	}
	d.cluster = cluster
	if d.dynamic, err = dynamic.NewForConfig(cluster.Config()); err != nil {
		return fmt.Errorf("client: %w", err)
	}
	d.progress.step("installing the kinds, RBAC and the admission policy from config/")
	config := filepath.Join(d.root, "config")
	if err := cluster.InstallCRDs(ctx, filepath.Join(config, "crd")); err != nil {
		return err
	}
	objects, err := controlplane.ReadManifests(filepath.Join(config, "namespace"), filepath.Join(config, "rbac"), filepath.Join(config, "admission"))
	if err != nil {
		return err
	}
	return controlplane.Apply(ctx, cluster.Config(), "", objects...)
}

// launch starts one of Rankwright's programs; should it end by itself, so does the demo, with the end of its log.
func (d *demo) launch(ctx context.Context, fail context.CancelCauseFunc, name, binary string, args ...string) error {
	p, err := process.Start(process.Spec{
		Name:    name,
		Path:    filepath.Join(d.root, "bin", binary),
		Args:    args,
		LogFile: filepath.Join(d.dir, "logs", name+".log"),
	})
	if err != nil {
		return err
	}
	d.programs = append(d.programs, p)
	go func() {
		select {
		case <-p.Done():
			fail(p.Exit())
		case <-ctx.Done():
		}
	}()
	return nil
}

// stop ends everything, the last started first. A program of Rankwright's that does not end well is an error.
func (d *demo) stop() error {
	d.progress.step("stopping everything")
	var errs []error
	for _, p := range slices.Backward(d.programs) {
		running := p.Exit() == nil
		p.Stop(stopGrace)
		if running && !p.Succeeded() {
			errs = append(errs, fmt.Errorf("asked to stop, %w", p.Exit()))
		}
	}
	if d.stopKubelets != nil {
		d.stopKubelets()
	}
	if d.cluster != nil {
		d.cluster.Stop()
	}
	return errors.Join(errs...)
}
