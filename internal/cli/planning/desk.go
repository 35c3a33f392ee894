package planning

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/cli/sizing"
	"github.com/rankwright/rankwright/internal/cli/term"
	"github.com/rankwright/rankwright/pkg/fleet"
	"github.com/rankwright/rankwright/pkg/mesh"
	"github.com/rankwright/rankwright/pkg/model"
)

// Desk plans models that somebody asks about on a cluster as it is at one moment, as `plan --model` does. Several may ask at once.
type Desk struct {
	now     *fleet.Snapshot
	cluster *fleet.Cluster
	pods    []corev1.Pod
	hosts   func() mesh.Hosts
	site    []v1alpha1.SiteCalibration
	streams term.Streams
}

// NewDesk returns the desk of a moment.
func NewDesk(now *fleet.Snapshot, inventories []v1alpha1.AcceleratorInventory, pods []corev1.Pod, measured []v1alpha1.SiteCalibration, streams term.Streams) *Desk {
	return &Desk{
		now: now, cluster: now.Cluster("", nil, nil), pods: pods, site: measured, streams: streams,
		hosts: sync.OnceValue(func() mesh.Hosts { return MeshHosts(&Manifests{Inventories: inventories}, now) }),
	}
}

// Decision is what the planner decides.
type Decision struct {
	// Placement is the one that was asked for; where it does not fit, with the status that says why not.
	Placement *v1alpha1.ModelPlacement
	// Plan and Mesh are nil where it does not fit.
	Plan *v1alpha1.ShardingPlan
	Mesh *v1alpha1.DeviceMesh
}

// questions are the flags of plan that a question may use. None of them reads a file.
var questions = []string{
	"model", "replicas", "max-model-len", "max-sequences", "total-sequences", "quantization", "engine", "isl", "osl", "objective", "max-ttft", "max-tpot",
}

// Ask plans what the flags of plan describe. An error is a mistake in them.
func (d *Desk) Ask(flags url.Values) (*Decision, error) {
	asked, changed, err := parseQuestion(flags)
	if err != nil {
		return nil, err
	}
	want, err := asked.manifests(d.streams, changed)
	if err != nil {
		return nil, err
	}
	want.pods, want.site = d.pods, sizing.SiteOf(d.site, d.streams)
	made := decision{placement: &want.Placements[0], hosts: d.hosts(), on: d.cluster}
	setDefaults(made.placement)
	made.failure = made.decide(d.now, want, false)
	if refused := made.refused(); refused != nil {
		return &Decision{Placement: refused}, nil
	}
	return &Decision{made.placement, made.plan, made.mesh}, made.failure
}

// parseQuestion reads flags as plan does. A model is one of the catalogue or a number of parameters: nothing is read of this machine.
func parseQuestion(flags url.Values) (*askFlags, func(string) bool, error) {
	var asked askFlags
	command := &cobra.Command{}
	asked.add(command, "")
	asked.addLoad(command)
	for _, name := range slices.Sorted(maps.Keys(flags)) {
		if !slices.Contains(questions, name) {
			return nil, nil, fmt.Errorf("--%s: use %s", name, strings.Join(questions, ", "))
		}
		for _, value := range flags[name] {
			if err := command.Flags().Set(name, value); err != nil {
				return nil, nil, err
			}
		}
	}
	if strings.HasSuffix(asked.model, ".json") {
		return nil, nil, errors.New("a file here cannot be asked for: use plan --model")
	}
	if _, counted := model.ParseParameters(asked.model); !counted {
		if _, _, err := model.Find(asked.model); err != nil {
			return nil, nil, err
		}
	}
	return &asked, command.Flags().Changed, nil
}

// CommandOf is the command line that gives the same answer where the inventories are in a file.
func CommandOf(flags url.Values) string {
	text := "kubectl rankwright plan -f FILE"
	for _, name := range questions {
		for _, value := range flags[name] {
			text += " --" + name + " " + value
		}
	}
	return text
}
