package peers

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/test/controlplane"
	"github.com/rankwright/rankwright/test/process"
	"github.com/rankwright/rankwright/test/scale"
)

// grace is how long a contestant may take to end.
const grace = 30 * time.Second

// operator measures Rankwright's. The program has to begin with scale.Child.
func (f *field) operator(ctx context.Context) ([]time.Time, error) {
	running, err := f.StartOperator(ctx, scale.OperatorOptions{})
	if err != nil {
		return nil, err
	}
	defer running.End()
	if err := running.AwaitReady(ctx); err != nil {
		return nil, err
	}
	moments, err := f.all(ctx, &v1alpha1.ModelPlacementList{}, func(i int) client.Object { return scale.Placement("peer", i) }, func(o client.Object) bool {
		p, is := o.(*v1alpha1.ModelPlacement)
		return is && p.Status.Mesh != "" && meta.IsStatusConditionTrue(p.Status.Conditions, v1alpha1.ConditionPlaced)
	})
	if err != nil {
		return nil, err
	}
	return moments, f.delete(ctx, &v1alpha1.ModelPlacement{}, &v1alpha1.ShardingPlan{}, &v1alpha1.DeviceMesh{})
}

// scheduler measures kube-scheduler with its default configuration.
func (f *field) scheduler(ctx context.Context) ([]time.Time, error) {
	ended, err := f.start("kube-scheduler", "system:kube-scheduler", func(dir, kubeconfig string) ([]string, error) {
		return []string{"--kubeconfig=" + kubeconfig, "--authentication-kubeconfig=" + kubeconfig, "--authorization-kubeconfig=" + kubeconfig, "--leader-elect=false", "--secure-port=0"}, nil
	})
	if err != nil {
		return nil, err
	}
	defer ended()
	moments, err := f.all(ctx, &corev1.PodList{}, func(i int) client.Object { return pod(i) }, func(o client.Object) bool {
		p, is := o.(*corev1.Pod)
		return is && p.Spec.NodeName != ""
	})
	if err != nil {
		return nil, err
	}
	return moments, f.delete(ctx, &corev1.Pod{})
}

// start runs a program with the rights of a user, and returns what ends it.
func (f *field) start(program, user string, args func(dir, kubeconfig string) ([]string, error), groups ...string) (func(), error) {
	assets, err := controlplane.FindAssets()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "rankwright-"+program+"-")
	if err != nil {
		return nil, fmt.Errorf("folder of %s: %w", program, err)
	}
	config, err := f.plane.ConfigForUser(user, groups...)
	if err != nil {
		return nil, err
	}
	kubeconfig := filepath.Join(dir, "kubeconfig")
	if err := controlplane.WriteKubeconfig(kubeconfig, config); err != nil {
		return nil, err
	}
	with, err := args(dir, kubeconfig)
	if err != nil {
		return nil, err
	}
	running, err := process.Start(process.Spec{Name: program, Path: filepath.Join(assets, program), Args: with, LogFile: filepath.Join(dir, "log")})
	if err != nil {
		return nil, err
	}
	return func() {
		running.Stop(grace)
		_ = os.RemoveAll(dir)
	}, nil
}
