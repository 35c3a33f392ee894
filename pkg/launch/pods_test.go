package launch

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// anyPlacement is a placement of any shape on nodes of any size, in order of the nodes or not.
func anyPlacement(r *rapid.T, engine v1alpha1.Engine) fixture {
	s := copies(degrees(rapid.Int32Range(1, 8).Draw(r, "tp"), rapid.Int32Range(1, 4).Draw(r, "pp"), rapid.Int32Range(1, 3).Draw(r, "dp")), rapid.Int32Range(1, 3).Draw(r, "copies"))
	f := fixture{engine: engine, strategy: s}
	devices := int(s.Tensor * s.Pipeline * s.Data * s.Replicas)
	for left := devices; left > 0; left -= f.nodes[len(f.nodes)-1] {
		f.nodes = append(f.nodes, rapid.IntRange(1, left).Draw(r, "node"))
	}
	if rapid.Bool().Draw(r, "shuffled") {
		f.shuffled = rapid.Permutation(consecutive(0, devices)).Draw(r, "devices")
	}
	return f
}

func TestPods(t *testing.T) {
	two := fixture{strategy: copies(degrees(2, 2, 1), 2), nodes: []int{2, 4, 2}}
	alternating := fixture{strategy: degrees(4, 1, 1), nodes: []int{2, 2}, shuffled: []int{0, 2, 1, 3}}
	unequal := fixture{strategy: degrees(2, 3, 1), nodes: []int{4, 2}}
	wide := fixture{strategy: degrees(8, 1, 1), nodes: []int{2, 4, 2}}
	beside := fixture{strategy: degrees(4, 2, 1), nodes: []int{4, 2, 2}}
	for name, c := range map[string]struct {
		of   fixture
		size int
		want []string
	}{
		"a pod for each node of each copy": {two, 0, []string{"0 n0 [0 1]", "0 n1 [2 3]", "1 n1 [0 1]", "1 n2 [2 3]"}},
		"a pod for each device": {two, 1, []string{
			"0 n0 [0]", "0 n0 [1]", "0 n1 [2]", "0 n1 [3]", "1 n1 [0]", "1 n1 [1]", "1 n2 [2]", "1 n2 [3]",
		}},
		"ranks that alternate between nodes":             {alternating, 0, []string{"0 n0 [0 2]", "0 n1 [1 3]"}},
		"unequal nodes, in equal pods":                   {unequal, 0, []string{"0 n0 [0 1]", "0 n0 [2 3]", "0 n1 [4 5]"}},
		"a tensor group on unequal nodes":                {wide, 0, []string{"0 n0 [0 1]", "0 n1 [2 3]", "0 n1 [4 5]", "0 n2 [6 7]"}},
		"a tensor group on two nodes beside a whole one": {beside, 0, []string{"0 n0 [0 1]", "0 n0 [2 3]", "0 n1 [4 5]", "0 n2 [6 7]"}},
		"single ranks that alternate":                    {alternating, 1, []string{"0 n0 [0]", "0 n1 [1]", "0 n0 [2]", "0 n1 [3]"}},
	} {
		t.Run(name, func(t *testing.T) {
			c.of.engine = v1alpha1.EngineVLLM
			_, spec := c.of.plan(t)
			pods, err := Pods(spec, c.size, "")
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for i := range pods {
				got = append(got, fmt.Sprintf("%d %s %v", pods[i].Copy, pods[i].Node, pods[i].Ranks))
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("pods (-want +got):\n%s", diff)
			}
		})
	}
}

// Copies of each shape are cut by themselves: what one shape lies on asks for no smaller pods of another.
func TestPodsOfSeveralShapes(t *testing.T) {
	_, spec := fixture{engine: v1alpha1.EngineVLLM, strategy: copies(degrees(4, 1, 1), 2), nodes: []int{4, 4}}.plan(t)
	spec.Replicas = 3
	spec.OtherShapes = []v1alpha1.MeshShape{{FirstReplica: 2, Replicas: 1, WorldSize: 5, Dimensions: []v1alpha1.MeshDimension{{Name: "pp", Size: 5}}}}
	spec.Members = append(spec.Members,
		v1alpha1.MeshMember{Node: "n2", Replica: 2, Devices: []v1alpha1.DeviceID{"nvidia-0", "nvidia-1", "nvidia-2"}},
		v1alpha1.MeshMember{Node: "n3", Replica: 2, FirstRank: 3, Devices: []v1alpha1.DeviceID{"nvidia-0", "nvidia-1"}})
	pods, err := Pods(spec, 0, "")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for i := range pods {
		got = append(got, fmt.Sprintf("%d %s %v", pods[i].Copy, pods[i].Node, pods[i].Ranks))
	}
	want := []string{"0 n0 [0 1 2 3]", "1 n1 [0 1 2 3]", "2 n2 [0]", "2 n2 [1]", "2 n2 [2]", "2 n3 [3]", "2 n3 [4]"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("pods (-want +got):\n%s", diff)
	}
}

func TestSizesThatDoNotDivide(t *testing.T) {
	_, spec := fixture{engine: v1alpha1.EngineVLLM, strategy: degrees(3, 1, 1)}.plan(t)
	for _, size := range []int{2, 4, -1} {
		_, err := Pods(spec, size, "")
		var refused *SizeError
		if !errors.As(err, &refused) || *refused != (SizeError{Size: size, Devices: 3, Node: "n0"}) {
			t.Errorf("pods of %d: %v", size, err)
		}
	}
}

// Every rank of every copy is in exactly one pod, on its node and with its device, however pods are cut.
func TestEveryRankIsInOnePod(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		f := anyPlacement(r, v1alpha1.EngineTorch)
		plan, spec := f.plan(t)
		size := rapid.IntRange(0, 4).Draw(r, "size")
		job, err := NewJob(plan, spec, Options{PodDevices: size})
		if err != nil {
			if size < 2 || !strings.Contains(err.Error(), fmt.Sprintf("pods of %d devices", size)) {
				r.Fatal(err)
			}
			return
		}
		seen := map[string]string{}
		index := 0
		for _, c := range job.Copies {
			last := -1
			for _, p := range c.Pods {
				if p.Index != index || p.Ranks[0] <= last || !slices.IsSorted(p.Ranks) || size > 0 && len(p.Devices) != size || p.Host == "" {
					r.Fatalf("pod %+v: index %d must come next, and a rank after %d", p, index, last)
				}
				last, index = p.Ranks[0], index+1
				for k, rank := range p.Ranks {
					seen[fmt.Sprint(c.Number, " ", rank)] = p.Node + " " + string(p.Devices[k])
				}
			}
		}
		want := map[string]string{}
		pods := map[string]bool{}
		for _, m := range spec.Members {
			pods[fmt.Sprint(m.Replica, " ", m.Node)] = true
			for k, id := range m.Devices {
				want[fmt.Sprint(m.Replica, " ", int(m.FirstRank)+k)] = m.Node + " " + string(id)
			}
		}
		if diff := cmp.Diff(want, seen); diff != "" {
			r.Fatalf("-mesh +pods:\n%s", diff)
		}
		if size == 0 && index != len(pods) {
			r.Fatalf("%d pods for %d nodes of copies", index, len(pods))
		}
	})
}

// consumers are the launchers that number ranks by themselves, with the ranks that each would give a pod.
var consumers = map[string]struct {
	engine           v1alpha1.Engine
	values, switches string
	ranks            func(*testing.T, map[string]string) []int
}{
	"vllm":   {v1alpha1.EngineVLLM, vllmValues, "--headless", vllmRanks},
	"sglang": {v1alpha1.EngineSGLang, sglangValues, sglangSwitches, sglangRanks},
}

var sizeToTake = regexp.MustCompile(`make pods of (\d+) device`)

// A launcher starts every rank where the plan has it, or is refused; where the refusal names a size of pods, that size works.
func TestRanksAreThePlansOrRefused(t *testing.T) {
	for name, c := range consumers {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(r *rapid.T) {
				f := anyPlacement(r, c.engine)
				plan, spec := f.plan(t)
				job, err := NewJob(plan, spec, Options{})
				if err != nil {
					r.Fatal(err)
				}
				b, err := job.Write(name)
				if err != nil {
					m := sizeToTake.FindStringSubmatch(err.Error())
					if m == nil {
						return
					}
					job, failed := NewJob(plan, spec, Options{PodDevices: number(t, m[1])})
					if failed != nil && !strings.Contains(failed.Error(), "pods of "+m[1]) {
						r.Fatalf("after %v: %v", err, failed)
					}
					if failed != nil {
						return // another copy needs another size
					}
					if b, failed = job.Write(name); failed != nil {
						if again := sizeToTake.FindStringSubmatch(failed.Error()); len(again) == 2 && again[1] == m[1] {
							r.Fatalf("after %v: %v", err, failed)
						}
						return
					}
				}
				for i, pod := range b.Pods {
					if got := c.ranks(t, flags(t, ofPod(t, b, i), c.values, c.switches)); !slices.Equal(got, pod.Ranks) {
						r.Fatalf("pod %d has ranks %v and %s gives it %v", i, pod.Ranks, name, got)
					}
				}
			})
		})
	}
}
