package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/rankwright/rankwright/test/process"
)

// table is something to look at with kubectl.
type table struct {
	about string
	args  []string
}

// tables are what the demo shows, in the order of the way from a device to a rank.
var tables = []table{
	{"What every node has", []string{"get", "acceleratorinventories"}},
	{"The same as labels for any scheduler", []string{"get", "nodes", "-L", strings.Join([]string{
		"rankwright.dev/vendors", "rankwright.dev/nvidia.product", "rankwright.dev/amd.count", "rankwright.dev/nvidia.link",
	}, ",")}},
	{"What was asked for and what became of it", []string{"get", "modelplacements,shardingplans,devicemeshes"}},
	{"Which layers on which devices: the plan of `pipeline`", []string{
		"get", "shardingplan", "-l", "rankwright.dev/placement=pipeline", "-o", "go-template=" + planTemplate,
	}},
	{"Which rank in which groups: the mesh of `tensor`", []string{
		"get", "devicemesh", "-l", "rankwright.dev/placement=tensor", "-o", "go-template=" + meshTemplate,
	}},
	{"Why not: `too-large`", []string{"get", "modelplacement", "too-large", "-o", "go-template=" + reasonTemplate}},
}

// The templates print numbers of ranks, stages and layers from 0, as the API has them; a zero may be left out there.
const (
	planTemplate = `{{range .items}}{{range .spec.stages}}layers {{.firstLayer}} to {{.lastLayer}}: ` +
		`{{.perDevice.weightsBytes}} bytes of weights, {{.perDevice.kvCacheBytes}} of KV cache, {{.perDevice.totalBytes}} in all
{{end}}{{range .spec.nodes}}stage {{or .stage 0}}, tensor rank {{or .tensorRank 0}}: {{.node}}{{range .devices}} {{.}}{{end}}
{{end}}{{end}}`
	meshTemplate = `{{range .items}}{{range .spec.members}}{{.node}}, rank {{.firstRank}} and following:
{{range .devices}}  {{.}}
{{end}}{{end}}{{range .spec.groups}}{{.name}}: {{.count}} of {{.size}}, {{.library}}, ranks{{range .ranks}} {{.}}{{end}}
{{end}}{{end}}`
	reasonTemplate = `{{range .status.conditions}}{{if eq .type "Placed"}}{{.reason}}: {{.message}}
{{end}}{{end}}{{with .status.shortfall}}needed {{.neededMiB}} MiB; free {{.freeMiB}} MiB on {{.freeDevices}} devices
{{end}}`
)

// show prints everything with the real kubectl.
func (d *demo) show(ctx context.Context) error {
	d.progress.step("done; this is what kubectl shows")
	for _, t := range tables {
		fmt.Printf("\n# %s\n$ kubectl %s\n", t.about, brief(t.args))
		if err := d.kubectl(ctx, t.args); err != nil {
			return err
		}
	}
	fmt.Println()
	return nil
}

// brief leaves out templates, which say less than what they print.
func brief(args []string) string {
	shown := make([]string, 0, len(args))
	for _, arg := range args {
		if strings.HasPrefix(arg, "go-template=") {
			arg = "go-template=…"
		}
		shown = append(shown, arg)
	}
	return strings.Join(shown, " ")
}

func (d *demo) kubectl(ctx context.Context, args []string) error {
	return process.Run(ctx, process.Spec{
		Name: "kubectl",
		Path: filepath.Join(d.assets, "kubectl"),
		Args: append([]string{"--kubeconfig", d.cluster.Kubeconfig(), "--cache-dir", filepath.Join(d.dir, "kubectl")}, args...),
	}, time.Second)
}
