package verification

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/launch"
	"github.com/rankwright/rankwright/pkg/mesh"
)

// Tasks returns what the pods of a mesh have to verify, one task for each copy. job says which pods there are and where they are
// reached; what hosts do not say of a network is not compared with the plan. It refuses a job of another mesh.
func Tasks(m *v1alpha1.DeviceMesh, job *launch.Job, hosts mesh.Hosts, asked *v1alpha1.Verification, concluded bool) ([]*Task, error) {
	copies, err := mesh.Copies(&m.Spec, hosts)
	if err != nil {
		return nil, err
	}
	if len(copies) != len(job.Copies) {
		return nil, fmt.Errorf("the mesh has %d copies and its pods are of %d: give the job that was made from it", len(copies), len(job.Copies))
	}
	taken := map[string]int32{}
	tasks := make([]*Task, len(copies))
	for i := range copies {
		t := &Task{
			Version: version, Mesh: m.Namespace + "/" + m.Name, Plan: m.Spec.Plan, Copy: copies[i].Replica,
			Require: asked.Mode == v1alpha1.VerificationRequire, Concluded: concluded,
			DeadlineSeconds: asked.Deadline(), MinimumShare: asked.MinimumShare(),
		}
		for k := range job.Copies[i].Pods {
			t.Pods = append(t.Pods, podOf(&job.Copies[i].Pods[k], hosts, taken))
		}
		if t.Kinds, err = kindsOf(&copies[i]); err != nil {
			return nil, err
		}
		if err := t.complete(); err != nil {
			return nil, fmt.Errorf("copy %d: %w", i, err)
		}
		tasks[i] = t
	}
	return tasks, nil
}

// podOf returns the task's entry of a pod. Pods that share a host get ports of their own.
func podOf(p *launch.Pod, hosts mesh.Hosts, taken map[string]int32) Pod {
	made := Pod{Index: int32(p.Index), Host: p.Host, Port: Port + taken[p.Host], Node: p.Node, Ranks: mesh.RanksOf(p.Ranks)}
	taken[p.Host]++
	const mega = 1_000_000
	status := hosts[p.Node].Inventory
	if status == nil {
		return made
	}
	made.Wire = wireOf(status, p.Devices)
	if !status.SendsOverRDMA() {
		made.MBps = status.NetworkShare() / mega * int64(len(p.Devices))
		return made
	}
	for i := range status.NICs {
		if kind := status.NICs[i].Kind; status.NICs[i].Up && kind != v1alpha1.NICEthernet {
			made.Fabric = kind
		}
	}
	return made
}

// wireOf is the kind of the first link domain that has all of the devices.
func wireOf(status *v1alpha1.AcceleratorInventoryStatus, devices []v1alpha1.DeviceID) string {
	for i := range status.Links.Domains {
		d := &status.Links.Domains[i]
		if len(devices) > 1 && !slices.ContainsFunc(devices, func(id v1alpha1.DeviceID) bool { return !slices.Contains(d.Members, id) }) {
			return d.Kind
		}
	}
	return ""
}

func kindsOf(c *mesh.Copy) ([]Kind, error) {
	kinds := make([]Kind, 0, len(c.Shape.Groups))
	for i := range c.Shape.Groups {
		name := c.Shape.Groups[i].Name
		if c.Shape.Groups[i].Size < 2 {
			continue
		}
		groups, err := c.RanksOf(name)
		if err != nil {
			return nil, err
		}
		kind := Kind{Name: name}
		for _, group := range groups {
			kind.Groups = append(kind.Groups, mesh.RanksOf(slices.Sorted(slices.Values(group))))
		}
		kinds = append(kinds, kind)
	}
	return kinds, nil
}

// Text returns the task as text that ParseTask reads.
func (t *Task) Text() (string, error) {
	text, err := json.Marshal(t)
	if err != nil {
		return "", fmt.Errorf("write task: %w", err)
	}
	return string(text) + "\n", nil
}
