package launch

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// Pod is one pod of a placement: ranks of a copy on one node.
type Pod struct {
	// Index counts the pods of all copies from 0, in order of copy and first rank.
	Index int
	// Copy and Worker are the pod's copy and its index among the copy's pods.
	Copy, Worker int
	// Node is where it belongs, and Address is the node's; empty where it is not known.
	Node, Address string
	// Host is what the other pods reach it by.
	Host string
	// Ranks in the copy, ascending, with the device of each.
	Ranks   []int
	Devices []v1alpha1.DeviceID
}

// Pods are the pods of a mesh: all ranks of a copy on a node are one pod, or where a size is given each so many of them. It
// refuses a size that does not divide them, and members that leave out ranks.
func Pods(spec *v1alpha1.DeviceMeshSpec, size int) ([]Pod, error) {
	var pods []Pod
	whole, err := byNode(spec)
	if err != nil {
		return nil, err
	}
	for i := range whole {
		each := size
		if each == 0 {
			each = len(whole[i].Ranks)
		}
		if size < 0 || len(whole[i].Ranks)%each != 0 {
			return nil, fmt.Errorf("pods of %d devices do not divide the %d of copy %d on %s: use a divisor", size, len(whole[i].Ranks), whole[i].Copy, whole[i].Node)
		}
		for at := 0; at < len(whole[i].Ranks); at += each {
			p := whole[i]
			p.Ranks, p.Devices = p.Ranks[at:at+each:at+each], p.Devices[at:at+each:at+each]
			pods = append(pods, p)
		}
	}
	slices.SortFunc(pods, func(a, b Pod) int { return cmp.Or(cmp.Compare(a.Copy, b.Copy), cmp.Compare(a.Ranks[0], b.Ranks[0])) })
	for i := range pods {
		pods[i].Index = i
		if i > 0 && pods[i].Copy == pods[i-1].Copy {
			pods[i].Worker = pods[i-1].Worker + 1
		}
	}
	return pods, nil
}

// byNode joins the members of a copy on a node. It refuses members that are not in order of copy and rank without a gap.
func byNode(spec *v1alpha1.DeviceMeshSpec) ([]Pod, error) {
	var whole []Pod
	at := map[string]int{}
	copied, next := -1, 0
	for i := range spec.Members {
		m := &spec.Members[i]
		if int(m.Replica) != copied {
			copied, next = copied+1, 0
			clear(at)
		}
		if int(m.Replica) != copied || int(m.FirstRank) != next || len(m.Devices) == 0 {
			return nil, fmt.Errorf("members[%d] has %s from rank %d of copy %d on: rank %d of copy %d must come next", i,
				v1alpha1.Counted(len(m.Devices), "device"), m.FirstRank, m.Replica, next, copied)
		}
		k, known := at[m.Node]
		if !known {
			k = len(whole)
			at[m.Node], whole = k, append(whole, Pod{Copy: copied, Node: m.Node, Address: m.Address})
		}
		for _, device := range m.Devices {
			whole[k].Ranks, whole[k].Devices = append(whole[k].Ranks, next), append(whole[k].Devices, device)
			next++
		}
	}
	if copied+1 != int(spec.Replicas) {
		return nil, fmt.Errorf("the mesh has members of %d copies and replicas %d: every copy needs its ranks", copied+1, spec.Replicas)
	}
	return whole, nil
}

// runs are the numbers of ranks of a copy that follow one another in a pod.
func (c *Copy) runs() []int {
	var runs []int
	for i := range c.Pods {
		for k, rank := range c.Pods[i].Ranks {
			if k == 0 || rank != c.Pods[i].Ranks[k-1]+1 {
				runs = append(runs, 0)
			}
			runs[len(runs)-1]++
		}
	}
	return runs
}

// inOrder says which pod has ranks that do not follow one another. Launchers that number ranks by the order of pods could not
// start it.
func (c *Copy) inOrder() error {
	next := 0
	for i := range c.Pods {
		for _, rank := range c.Pods[i].Ranks {
			if rank != next {
				return fmt.Errorf("pod %d has rank %d where %d must come next: %s", c.Pods[i].Index, rank, next, c.remedy())
			}
			next++
		}
	}
	return nil
}

// equal says which pods differ in the number of their ranks.
func (c *Copy) equal() error {
	want := len(c.Head().Ranks)
	for i := range c.Pods {
		if p := &c.Pods[i]; len(p.Ranks) != want {
			return fmt.Errorf("pod %d has %s and pod %d has %d: all pods need the same number; %s", c.Head().Index, v1alpha1.Counted(want, "rank"), p.Index,
				len(p.Ranks), c.remedy())
		}
	}
	return nil
}

// equalRuns is what launchers need that give pod i the ranks from i x n on.
func (c *Copy) equalRuns() error { return first(c.equal, c.inOrder) }

// remedy names the largest size that cuts the copy into equal pods of ranks that follow one another.
func (c *Copy) remedy() string {
	size := 0
	for _, run := range c.runs() {
		for run != 0 {
			size, run = run, size%run
		}
	}
	return fmt.Sprintf("make pods of %s (annotation %s or --pod-devices)", v1alpha1.Counted(size, "device"), AnnotationPodDevices)
}
