package launch

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/words"
	"github.com/rankwright/rankwright/pkg/engine"
	"github.com/rankwright/rankwright/pkg/mesh"
)

// Pod is one pod of a placement: ranks of a copy on one node.
type Pod struct {
	// Index counts the pods of all copies from 0, in order of copy and first rank.
	Index int
	// Copy and Worker are the pod's copy and its index among the copy's pods.
	Copy, Worker int
	// Node is the node that the pod belongs on, and Address the node's address; empty where it is not known.
	Node, Address string
	// Host is what the other pods reach it by.
	Host string
	// Ranks in the copy, ascending, with the device of each.
	Ranks   []int
	Devices []v1alpha1.DeviceID
}

// Pods returns the pods of a mesh in order of index: one for each size of the ranks that a copy has on a node. With a size of 0 it is
// one for all of them or, where the launcher cannot start such pods, the largest size of equal ones that it can start, for each shape of
// copies its own. The launcher is the engine's where none is named. The error is a SizeError where the size does not divide them; a mesh that
// leaves a rank without a device is refused as well. No other function decides which pod has which ranks.
func Pods(spec *v1alpha1.DeviceMeshSpec, size int, launcher string) ([]Pod, error) {
	copies, err := mesh.Copies(spec, nil)
	if err != nil {
		return nil, err
	}
	pods, err := cut(copies, spec.Members, podSizes(spec.Engine, launcher, copies, size))
	return slices.Concat(pods...), err
}

// OnNodes returns a function that tells the devices of each pod that a plan has on each of its nodes, in order of pods, as a placement's launch asks
// for them. There are none where no pods can be made of the plan, which whoever starts them is told.
func OnNodes(asked *v1alpha1.Launch) func(*v1alpha1.ShardingPlanSpec) map[string][][]v1alpha1.DeviceID {
	return func(plan *v1alpha1.ShardingPlanSpec) map[string][][]v1alpha1.DeviceID {
		described, err := mesh.FromPlan("", plan, nil)
		if err != nil {
			return nil
		}
		pods, err := Pods(described, asked.PodDevices(), asked.Starter())
		if err != nil {
			return nil
		}
		nodes := map[string][][]v1alpha1.DeviceID{}
		for i := range pods {
			nodes[pods[i].Node] = append(nodes[pods[i].Node], pods[i].Devices)
		}
		return nodes
	}
}

// podSizes returns the size of the pods of each copy: the one that is given or, where that is 0, what the launcher can start.
func podSizes(of v1alpha1.Engine, launcher string, copies []mesh.Copy, size int) []int {
	sizes := slices.Repeat([]int{size}, len(copies))
	e, err := engine.Find(of)
	if size != 0 || err != nil {
		return sizes
	}
	l, err := find(cmp.Or(launcher, e.Launchers[0]))
	if err != nil || l.check == nil {
		return sizes
	}
	for first, last := 0, 0; first < len(copies); first = last {
		last = first + int(copies[first].Shape.Replicas)
		copy(sizes[first:last], slices.Repeat([]int{largestSize(l, copies[first:last])}, last-first))
	}
	return sizes
}

// largestSize returns the largest size with which a launcher can start copies of one shape and that leaves tensor ranks together: 0, which is
// whole nodes, where it can, and where there is none, so that the launcher says why.
func largestSize(l *launcher, copies []mesh.Copy) int {
	if startable(l, copies, 0) {
		return 0
	}
	run := 0
	for i := range copies {
		run = divisor(run, (&Copy{Pods: byNode(i, copies[i].Seats())}).run())
	}
	for size := run; size > 0; size-- {
		if run%size == 0 && startable(l, copies, size) {
			return size
		}
	}
	return 0
}

// startable says whether a launcher can start all copies, which are of one shape, in pods of a size.
func startable(l *launcher, copies []mesh.Copy, size int) bool {
	pods, err := cut(copies, nil, slices.Repeat([]int{size}, len(copies)))
	if err != nil {
		return false
	}
	tensor := int(strategyOf(&copies[0]).Tensor)
	if size > 0 && size%tensor != 0 && (tensor%size != 0 || !slices.ContainsFunc(copies, overNodes)) {
		return false
	}
	for i := range copies {
		c := Copy{Strategy: strategyOf(&copies[i]), World: copies[i].WorldSize(), Pods: pods[i]}
		if l.check(&c) != nil {
			return false
		}
	}
	return true
}

// overNodes says whether some tensor group of a copy is on several nodes, with ranks that follow one another on each. What joins those nodes joins pods
// of one node as well, so that such groups may be cut into equal pods wherever they are; others share a node's memory, which pods do not.
func overNodes(c mesh.Copy) bool {
	over := false
	for group := range slices.Chunk(c.Seats(), int(strategyOf(&c).Tensor)) {
		left := map[string]bool{} // nodes whose ranks came before
		for i := 1; i < len(group); i++ {
			if group[i].Node == group[i-1].Node {
				continue
			}
			if left[group[i-1].Node] = true; left[group[i].Node] {
				return false
			}
			over = true
		}
	}
	return over
}

// strategyOf returns the degrees of a copy of a mesh.
func strategyOf(c *mesh.Copy) v1alpha1.Strategy {
	size := func(name string) int32 {
		for _, d := range c.Dimensions() {
			if d.Name == name {
				return int32(d.Size)
			}
		}
		return 1
	}
	return v1alpha1.Strategy{Tensor: size("tp"), Pipeline: size("pp"), Data: size("dp"), Context: size("cp")}
}

// SizeError says which ranks cannot be cut into pods of a size.
type SizeError struct {
	// Size is the number of devices of a pod that was asked for, and Devices how many the copy has on the node.
	Size, Devices int
	Copy          int
	Node          string
}

// Error names the sizes and the remedy.
func (e *SizeError) Error() string {
	return fmt.Sprintf("pods of %d devices do not divide the %d of copy %d on %s: use a divisor, or none for all (%s)", e.Size, e.Devices, e.Copy, e.Node, podSize)
}

// cut cuts each copy into pods of its size, numbered in order of copy and first rank.
func cut(copies []mesh.Copy, members []v1alpha1.MeshMember, sizes []int) ([][]Pod, error) {
	addresses := make(map[string]string, len(members))
	for i := range members {
		addresses[members[i].Node] = members[i].Address
	}
	pods, index := make([][]Pod, len(copies)), 0
	for number := range copies {
		for _, whole := range byNode(number, copies[number].Seats()) {
			whole.Address = addresses[whole.Node]
			parts, err := whole.parts(sizes[number])
			if err != nil {
				return nil, err
			}
			pods[number] = append(pods[number], parts...)
		}
		slices.SortFunc(pods[number], func(a, b Pod) int { return cmp.Compare(a.Ranks[0], b.Ranks[0]) })
		for worker := range pods[number] {
			pods[number][worker].Index, pods[number][worker].Worker = index, worker
			index++
		}
	}
	return pods, nil
}

// byNode makes one pod of all ranks of a copy on a node.
func byNode(number int, seats []mesh.Seat) []Pod {
	var whole []Pod
	at := map[string]int{}
	for rank := range seats {
		s := &seats[rank]
		k, known := at[s.Node]
		if !known {
			k = len(whole)
			at[s.Node], whole = k, append(whole, Pod{Copy: number, Node: s.Node})
		}
		whole[k].Ranks, whole[k].Devices = append(whole[k].Ranks, rank), append(whole[k].Devices, s.Device)
	}
	return whole
}

// parts cuts a pod into pods of size ranks each; 0 leaves it whole.
func (p *Pod) parts(size int) ([]Pod, error) {
	if size == 0 {
		return []Pod{*p}, nil
	}
	if size < 0 || len(p.Ranks)%size != 0 {
		return nil, &SizeError{Size: size, Devices: len(p.Ranks), Copy: p.Copy, Node: p.Node}
	}
	var parts []Pod
	for at := 0; at < len(p.Ranks); at += size {
		part := *p
		part.Ranks, part.Devices = p.Ranks[at:at+size:at+size], p.Devices[at:at+size:at+size]
		parts = append(parts, part)
	}
	return parts, nil
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
	want := len(c.head().Ranks)
	for i := range c.Pods {
		if p := &c.Pods[i]; len(p.Ranks) != want {
			return fmt.Errorf("pod %d has %s and pod %d has %d: all pods need the same number; %s", c.head().Index, words.Counted(want, "rank"), p.Index,
				len(p.Ranks), c.remedy())
		}
	}
	return nil
}

// equalRuns checks what launchers need that give pod i the n ranks from i*n on.
func (c *Copy) equalRuns() error { return first(c.equal, c.inOrder) }

// remedy names the largest size that cuts the copy into equal pods of ranks that follow one another.
func (c *Copy) remedy() string {
	return fmt.Sprintf("make pods of %s (%s)", words.Counted(c.run(), "device"), podSize)
}

// run returns the largest number that divides the numbers of ranks of a copy that follow one another on a node.
func (c *Copy) run() int {
	size := 0
	for _, run := range c.runs() {
		size = divisor(size, run)
	}
	return size
}

// divisor returns the greatest common divisor of two numbers.
func divisor(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
