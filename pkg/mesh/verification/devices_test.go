package verification

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/mesh"
	"github.com/rankwright/rankwright/pkg/mesh/verification/devicelib"
	"github.com/rankwright/rankwright/pkg/mesh/verification/devicelib/devicelibtest"
)

// The tests that play GPUs move little, and give up soon.
const (
	playedBytes = 64 << 10
	playedTime  = 4 * time.Second
)

// verifyDevices runs pods of so many ranks each, on nodes n0 and n1 in turn. Each asks the program of its pod. share is the share
// of the expected rate in percent below which a link is slow.
func verifyDevices(t *testing.T, player *devicelibtest.Player, ranks, pods int, share int32) (*Task, []*Report) {
	t.Helper()
	world := mesh.Ranks(fmt.Sprintf("0-%d", pods*ranks-1))
	p := newPods(t, pods, Kind{"world", []mesh.Ranks{world}})
	p.task.MinimumShare = share
	programs := make([]*devicelib.Process, pods)
	for place := range p.task.Pods {
		p.task.Pods[place].Ranks = mesh.Ranks(fmt.Sprintf("%d-%d", place*ranks, (place+1)*ranks-1))
		p.task.Pods[place].Wire, p.task.Pods[place].Fabric = "NVLink", "InfiniBand"
		program, err := devicelib.Start(t.Context(), player.Program(t, fmt.Sprintf("p%d", place), ranks))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(program.Close)
		programs[place] = program
	}
	reports := make([]*Report, pods)
	var work sync.WaitGroup
	for place := range reports {
		work.Go(func() {
			config := p.config(place)
			config.Devices, config.DeviceBytes, config.DeviceTime = programs[place], playedBytes, playedTime
			var err error
			reports[place], err = Verify(t.Context(), config)
			if err != nil {
				t.Error(err)
			}
		})
	}
	work.Wait()
	return p.task, reports
}

// heard is what an operator makes of the reports.
func heard(task *Task, reports []*Report) Verdict {
	var states []State
	for place, r := range reports {
		pod := &task.Pods[place]
		ranks, _ := pod.Ranks.List(64)
		end := v1alpha1.MeshEnd{Index: pod.Index, Name: fmt.Sprintf("llm-%d", place), Node: pod.Node, FirstRank: ranks[0]}
		for ordinal := range ranks {
			end.Devices = append(end.Devices, v1alpha1.DeviceID(fmt.Sprintf("nvidia-0000:%d%d:00.0", place, ordinal)))
		}
		message, err := r.Message()
		if err != nil {
			return Verdict{Message: err.Error()}
		}
		read, err := ParseReport(string(message))
		if err != nil {
			return Verdict{Message: err.Error()}
		}
		states = append(states, State{End: end, Report: read})
	}
	return Judge(states, true)
}

func TestDevicesAreMeasured(t *testing.T) {
	for _, pods := range []int{1, 2} {
		task, reports := verifyDevices(t, devicelibtest.New(t, ""), 2, pods, 0)
		for place, r := range reports {
			if r.Outcome != Verified || r.Library != "NCCL" || r.Kinds[0].DeviceMBps == 0 {
				t.Errorf("pod %d of %d: %s", place, pods, r.Text(task))
			}
		}
	}
}

func TestFaultsBetweenDevices(t *testing.T) {
	tests := []struct {
		name, faults string
		ranks, pods  int
		reason       v1alpha1.FindingReason
		// says is what a finding of the operator says of the link. It is the only finding where nothing else can be slow.
		says []string
	}{
		{
			"slow NVLink", "slow p0/1 p0/3 400000", 4, 1, v1alpha1.FindingLinkSlow,
			[]string{"pod llm-0 (node n0", "has a slow link", "NCCL over NVLink", "from nvidia-0000:01:00.0 (rank 1) to nvidia-0000:03:00.0 (rank 3)"},
		},
		{
			"broken NVLink", "broken p0/0 p0/2", 3, 1, v1alpha1.FindingLinkBroken,
			[]string{"has a broken link", "NCCL over NVLink", "from nvidia-0000:00:00.0 (rank 0) to nvidia-0000:02:00.0 (rank 2)"},
		},
		{
			"wrong NVLink", "wrong p0/2 p0/0", 3, 1, v1alpha1.FindingResultWrong,
			[]string{"has a wrong result", "NCCL over NVLink", "from nvidia-0000:02:00.0 (rank 2) to nvidia-0000:00:00.0 (rank 0)"},
		},
		{
			"slow RDMA", "slow p1/0 p0/1 400000", 2, 2, v1alpha1.FindingLinkSlow,
			[]string{"the link from pod llm-1", "to pod llm-0", "is slow", "NCCL over InfiniBand", "from nvidia-0000:10:00.0 (rank 2) to nvidia-0000:01:00.0 (rank 1)"},
		},
		{
			"broken RDMA", "broken p0/1 p1/1", 2, 2, v1alpha1.FindingLinkBroken,
			[]string{"the link of pod llm-0", "and pod llm-1", "is broken", "NCCL over InfiniBand", "(rank 1) to nvidia-0000:11:00.0 (rank 3)"},
		},
		{
			// The program is killed for each of the three links of the GPU, and started again.
			"hanging GPU", "hang p0/2", 3, 1, v1alpha1.FindingLinkBroken, []string{"rankwright-nccl gave no answer"},
		},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			share, others := int32(0), tc.name == "hanging GPU"
			if tc.reason == v1alpha1.FindingLinkSlow {
				share, others = 10, true // a busy machine may slow down other links as well
			}
			task, reports := verifyDevices(t, devicelibtest.New(t, tc.faults+"\n"), tc.ranks, tc.pods, share)
			for place, r := range reports {
				if r.Outcome != Failed {
					t.Errorf("pod %d is %s: all pods of a copy fail together", place, r.Outcome)
				}
			}
			verdict := heard(task, reports)
			if verdict.Reason != string(tc.reason) || len(verdict.Findings) == 0 {
				t.Fatalf("%s: %s", verdict.Reason, verdict.Message)
			}
			if !others && len(verdict.Findings) != 1 {
				t.Errorf("%d findings: %+v", len(verdict.Findings), verdict.Findings)
			}
			named := func(f v1alpha1.VerificationFinding) bool {
				return !slices.ContainsFunc(tc.says, func(want string) bool { return !strings.Contains(f.Message, want) })
			}
			if !slices.ContainsFunc(verdict.Findings, named) {
				t.Errorf("no finding says all of %q: %+v", tc.says, verdict.Findings)
			}
		})
	}
}

// A pod without the library, or with too few devices, has all pods try TCP alone.
func TestWithoutLibraryOnEveryPod(t *testing.T) {
	player := devicelibtest.New(t, "broken p0/0 p0/1\n")
	program, err := devicelib.Start(t.Context(), player.Program(t, "p0", 1))
	if err != nil {
		t.Fatal(err)
	}
	defer program.Close()
	p := newPods(t, 1, Kind{"world", []mesh.Ranks{"0-1"}})
	p.task.Pods[0].Ranks = "0-1"
	report, err := Verify(t.Context(), Config{
		Task: p.task, Key: testKey, Listener: p.listeners[0], Devices: program, DeviceBytes: playedBytes, DeviceTime: playedTime,
	})
	if err != nil || report.Outcome != Verified || report.Library != "" {
		t.Errorf("%+v, %v", report, err)
	}
}

// Every pair is measured once, and no rank is in two pairs of a round.
func TestDevicePairs(t *testing.T) {
	for _, tc := range []struct{ pods, each, pairs, rounds int }{{1, 8, 28, 8}, {2, 8, 120, 16}, {4, 8, 496, 32}, {8, 8, 8*28 + 7*8, 16}} {
		var ranks []deviceRank
		for i := range tc.pods * tc.each {
			ranks = append(ranks, deviceRank{int32(i), i / tc.each, i % tc.each})
		}
		rounds := devicePairs(ranks)
		var all []string
		for _, round := range rounds {
			busy := map[int]bool{}
			for _, pair := range round {
				if busy[pair[0]] || busy[pair[1]] {
					t.Errorf("%d pods: %v has a rank twice", tc.pods, round)
				}
				busy[pair[0]], busy[pair[1]] = true, true
				all = append(all, fmt.Sprint(pair))
			}
		}
		slices.Sort(all)
		if got := len(slices.Compact(all)); got != tc.pairs || len(rounds) > tc.rounds {
			t.Errorf("%d pods: %d pairs in %d rounds, want %d in at most %d", tc.pods, got, len(rounds), tc.pairs, tc.rounds)
		}
	}
}
