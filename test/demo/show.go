package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rankwright/rankwright/test/process"
)

// question is something to look at, and the command that answers it.
type question struct {
	about string
	args  []string
}

// questions are what the demo shows, in the order of the way from a device to a rank.
var questions = []question{
	{"What every node has", []string{"get", "acceleratorinventories"}},
	{"The same as labels for any scheduler", []string{"get", "nodes", "-L", strings.Join([]string{
		"rankwright.dev/vendors", "rankwright.dev/nvidia.product", "rankwright.dev/amd.count", "rankwright.dev/nvidia.link",
	}, ",")}},
	{"What was asked for and what became of it", []string{"get", "modelplacements,shardingplans,devicemeshes"}},
	{"Who has which devices, and what is free", []string{"rankwright", "top"}},
	{"Which ranks run on which devices, and how they are connected", []string{"rankwright", "tree", "mp/pipeline"}},
	{"Why not, and what would help", []string{"rankwright", "why", "mp/too-large"}},
}

// show prints everything with the real kubectl, and with the plugin as kubectl would run it.
func (d *demo) show(ctx context.Context) error {
	d.progress.step("done; this is what kubectl shows")
	for _, q := range questions {
		fmt.Printf("\n# %s\n$ kubectl %s\n", q.about, strings.Join(q.args, " "))
		if err := d.kubectl(ctx, q.args); err != nil {
			return err
		}
	}
	fmt.Println()
	return nil
}

func (d *demo) kubectl(ctx context.Context, args []string) error {
	spec := process.Spec{Name: "kubectl", Path: filepath.Join(d.assets, "kubectl"), Args: append([]string{"--cache-dir", filepath.Join(d.dir, "kubectl")}, args...)}
	if args[0] == "rankwright" {
		spec = process.Spec{Name: "the plugin", Path: filepath.Join(d.root, "bin", "kubectl-rankwright"), Args: slices.Clone(args[1:])}
	}
	spec.Args = append(spec.Args, "--kubeconfig", d.cluster.Kubeconfig())
	return process.Run(ctx, spec, time.Second)
}
