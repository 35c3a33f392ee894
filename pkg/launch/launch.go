// Package launch writes down what each launcher needs to start a placement: whole files such as host files and rank tables,
// and the variables and arguments of each pod and each rank. It takes a plan and its mesh and is pure: the same input gives
// the same bytes. docs/launchers.md lists the launchers with the sources of their formats.
package launch

import (
	"fmt"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/mesh"
)

// Options say what plan and mesh do not: how the pods are cut and how they reach each other.
type Options struct {
	// PodDevices is the number of devices of each pod; 0 is what Pods makes of it.
	PodDevices int
	// Hosts names the pods on the network. Without it they have the addresses of their nodes, as pods with hostNetwork do.
	Hosts Hosts
	// Launcher is the name of the launcher to write for; empty where those of the engine and of the devices' runtime are meant.
	Launcher string
	// NPUs are what the rank table of HCCL needs to know of Ascend devices, by node and device.
	NPUs map[string]map[v1alpha1.DeviceID]NPU
	// Device returns what is known of a device of a node, by which engines are refused where they do not run; nil where nothing is.
	Device func(node string, id v1alpha1.DeviceID) *v1alpha1.Device
}

// Job is a placement as its pods, ready to be written down for a launcher.
type Job struct {
	// Copies are the placement's independent copies, in order.
	Copies []Copy
	// Engine is what the plan was made for.
	Engine v1alpha1.Engine

	npus   map[string]map[v1alpha1.DeviceID]NPU
	device func(node string, id v1alpha1.DeviceID) *v1alpha1.Device
}

// Copy is one copy: a world of its own.
type Copy struct {
	// Number counts the copies from 0.
	Number int
	// Strategy holds the degrees of parallelism.
	Strategy v1alpha1.Strategy
	// Split is the number of layers of each stage.
	Split []int
	// Limits bound the steps of the engine; nil in training.
	Limits *v1alpha1.StepLimits
	// Serving is what the server does beside decoding one token after the other; nil where nothing of it was asked for.
	Serving *v1alpha1.ServingOptions
	// Training is the job; nil in inference and in plans that do not say it.
	Training *v1alpha1.TrainingWorkload
	// KVCacheType is the number format of the KV cache.
	KVCacheType v1alpha1.Precision
	// World is the number of ranks.
	World int
	// Backend is what torch's init_process_group is given; empty where the devices' library is not known.
	Backend string
	// Pods are in order of their ranks.
	Pods []Pod

	// plan is the name of the plan, mesh the copy in the mesh, and model and quantization are the plan's.
	plan         string
	model        *v1alpha1.PlannedModel
	quantization v1alpha1.Precision
	// computed is the format in which products are computed; empty where it is not known.
	computed v1alpha1.Precision
	mesh     *mesh.Copy
	// shift is how far the copy's ports are moved on from the launchers' usual ones, since an earlier copy may have these.
	shift int
}

// NewJob cuts a mesh into pods. It refuses a mesh that is not one of the plan, a size of pods that does not divide what a
// copy has on a node, and pods without a host.
func NewJob(plan *v1alpha1.ShardingPlanSpec, spec *v1alpha1.DeviceMeshSpec, options Options) (*Job, error) {
	copies, err := mesh.Copies(spec, nil)
	if err != nil {
		return nil, err
	}
	if int(plan.Copies()) != len(copies) {
		return nil, fmt.Errorf("the plan has %d copies and the mesh %d: give the plan that the mesh was made from (%s)", plan.Copies(), len(copies), spec.Plan)
	}
	pods, err := cut(copies, spec.Members, podSizes(spec.Engine, options.Launcher, copies, options.PodDevices))
	if err != nil {
		return nil, err
	}
	job := &Job{Engine: spec.Engine, npus: options.NPUs, device: options.Device}
	for number := range copies {
		shape, there := plan.ShapeOf(int32(number))
		if !there {
			return nil, fmt.Errorf("the plan has no copy %d: firstReplica of each of otherShapes must be the number of copies before it", number)
		}
		copied := Copy{
			Number: number, Strategy: shape.Strategy, Split: layersOf(shape.Stages), Limits: shape.StepLimits, KVCacheType: plan.KVCacheType, Serving: plan.Serving, Training: plan.Training,
			World: copies[number].WorldSize(), plan: spec.Plan, model: &plan.Model, quantization: plan.Quantization, computed: plan.ComputeType, mesh: &copies[number], Pods: pods[number],
		}
		if library, known := copies[number].Library(); known {
			copied.Backend = library.InitBackend()
		}
		if err := copied.check(); err != nil {
			return nil, fmt.Errorf("copy %d: %w", number, err)
		}
		job.Copies = append(job.Copies, copied)
	}
	if err := job.name(options.Hosts); err != nil {
		return nil, err
	}
	return job, nil
}

// check says whether the pods have every rank of the degrees.
func (c *Copy) check() error {
	s := &c.Strategy
	if s.Tensor < 1 || s.Pipeline < 1 || s.Data < 1 || s.Context < 1 {
		return fmt.Errorf("tensor %d, pipeline %d, data %d and context %d must all be at least 1", s.Tensor, s.Pipeline, s.Data, s.Context)
	}
	if want := int64(s.Tensor) * int64(s.Pipeline) * int64(s.Data) * int64(s.Context); want != int64(c.World) {
		return fmt.Errorf("the mesh has %d ranks and the plan tensor %d x pipeline %d x data %d x context %d = %d: give the plan that the mesh was made from",
			c.World, s.Tensor, s.Pipeline, s.Data, s.Context, want)
	}
	if len(c.Split) != int(s.Pipeline) {
		return fmt.Errorf("the plan has %d stages for pipeline %d: every stage needs its layers", len(c.Split), s.Pipeline)
	}
	return nil
}

// name gives every pod its host.
func (j *Job) name(hosts Hosts) error {
	first := map[string]int{}
	for i := range j.Copies {
		c := &j.Copies[i]
		for k := range c.Pods {
			p := &c.Pods[k]
			p.Host = hosts.of(p, len(c.Pods))
			if p.Host == "" {
				return fmt.Errorf("pod %d is on node %s, whose address is not known: name the pods (%s)", p.Index, p.Node, hostsRemedy)
			}
		}
		// Where names do not tell the copies apart, their nodes may: but a copy that moves must change no other copy's port.
		c.shift = i
		if hosts != (Hosts{}) {
			c.shift = first[c.Pods[0].Host]
			first[c.Pods[0].Host]++
		}
	}
	return nil
}

// head is the first pod of a copy: the one with rank 0, which the others connect to.
func (c *Copy) head() *Pod { return &c.Pods[0] }

// port is a launcher's default port, moved on where an earlier copy may listen on it on the same host.
func (c *Copy) port(usual int) int { return usual + c.shift }

// ownHosts says which pods share a host, which launchers that list hosts cannot tell apart.
func (c *Copy) ownHosts() error {
	seen := make(map[string]int, len(c.Pods))
	for i := range c.Pods {
		p := &c.Pods[i]
		if other, taken := seen[p.Host]; taken {
			return fmt.Errorf("pods %d and %d are both %s: name each pod (%s)", other, p.Index, p.Host, hostsRemedy)
		}
		seen[p.Host] = p.Index
	}
	return nil
}

// layersOf returns the number of layers of each stage.
func layersOf(stages []v1alpha1.Stage) []int {
	split := make([]int, len(stages))
	for i := range stages {
		split[i] = int(stages[i].LastLayer-stages[i].FirstLayer) + 1
	}
	return split
}
