package verification

import (
	"context"
	"net"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/mesh"
)

func TestAllWell(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPods(t, 6, sixRanks()...)
		for place, r := range p.verify(t) {
			t.Log("\n" + r.Text(p.task))
			if r.Outcome != Verified || len(r.Findings) > 0 {
				t.Errorf("pod %d: %s, %+v", place, r.Outcome, r.Findings)
			}
			if len(r.Kinds) != 3 {
				t.Fatalf("pod %d has groups %+v, want those of world, tp and pp", place, r.Kinds)
			}
			for _, k := range r.Kinds {
				if k.Groups != 1 || k.Inside != 0 || k.MBps == 0 || k.Micros == 0 {
					t.Errorf("pod %d: %+v, want one group that was measured", place, k)
				}
			}
		}
	})
}

// Two pods of two ranks and a pod of one rank: groups within pods, between pods, and with several ranks of a pod.
func TestPodsOfSeveralRanks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPods(t, 3,
			Kind{"world", []mesh.Ranks{"0-4"}}, Kind{"tp", []mesh.Ranks{"0-1", "2-3", "4"}}, Kind{"dp", []mesh.Ranks{"0-2/2", "1-3/2"}}, Kind{"ep", []mesh.Ranks{"0-4"}},
			Kind{"cp", []mesh.Ranks{"0-4"}})
		for place, ranks := range []mesh.Ranks{"0-1", "2-3", "4"} {
			p.task.Pods[place].Ranks = ranks
		}
		reports := p.verify(t)
		for place, r := range reports {
			if r.Outcome != Verified {
				t.Errorf("pod %d: %s, %+v", place, r.Outcome, r.Findings)
			}
		}
		tp, dp := reports[0].Kinds[1], reports[0].Kinds[2]
		if tp.Inside != 1 || tp.Groups != 0 || tp.MBps != 0 {
			t.Errorf("tp of pod 0 is %+v, want a group within the pod that is not measured", tp)
		}
		if dp.Groups != 2 || dp.MBps == 0 {
			t.Errorf("dp of pod 0 is %+v, want two groups between pods", dp)
		}
		if slices.ContainsFunc(reports[2].Kinds, func(k Measured) bool { return k.Kind == "dp" }) {
			t.Errorf("pod 2 has no ranks in groups of dp, and reports %+v", reports[2].Kinds)
		}
	})
}

func TestOnePodHasNobodyToMeet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPods(t, 1, Kind{"world", []mesh.Ranks{"0-3"}}, Kind{"tp", []mesh.Ranks{"0-3"}})
		p.task.Pods[0].Ranks = "0-3"
		if r := p.verify(t)[0]; r.Outcome != Verified || len(r.Kinds) != 2 || r.Kinds[1].Inside != 1 {
			t.Errorf("report %+v", r)
		}
	})
}

func TestAConcludedMeshIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPods(t, 2, Kind{"world", []mesh.Ranks{"0-1"}})
		p.task.Concluded = true
		if r := p.verify(t, 1)[1]; r.Outcome != Concluded || r.Pod != 1 {
			t.Errorf("report %+v", r)
		}
	})
}

func TestFaults(t *testing.T) {
	tests := []struct {
		name    string
		places  []int
		dial    func(from, to int, dial dialer) dialer
		seconds int32
		share   int32
		// want are the findings of links; findings of groups may come with them.
		want string
	}{
		{
			name: "a pod is missing", places: []int{0, 1, 2, 4, 5}, seconds: 24,
			want: "LinkBroken 0-3, LinkBroken 1-3, LinkBroken 2-3, LinkBroken 4-3, LinkBroken 5-3",
		},
		{name: "a link between neighbours is dropped", dial: between(1, 2, swallowed), seconds: 24, want: "LinkBroken 1-2, LinkBroken 2-1"},
		{name: "a link that no two watch each other over is dropped", dial: between(0, 3, swallowed), seconds: 24, want: "LinkBroken 0-3, LinkBroken 3-0"},
		{name: "a link is slow one way", dial: oneWay(4, 1, wrapped(throttled)), seconds: 60, share: 20, want: "LinkSlow 4-1"},
		{name: "a link changes bytes", dial: oneWay(2, 5, wrapped(flipped)), seconds: 60, want: "ResultWrong 5-2"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPods(t, 6, sixRanks()...)
				p.task.DeadlineSeconds, p.task.MinimumShare, p.dial = tc.seconds, tc.share, tc.dial
				reports := p.verify(t, tc.places...)
				if got := unique(text(reports)); got != tc.want {
					t.Errorf("findings %q, want %q", got, tc.want)
				}
				for place, r := range reports {
					if r == nil {
						continue
					}
					if r.Outcome != Failed {
						t.Errorf("pod %d is %s: all pods of a copy fail together", place, r.Outcome)
					}
					t.Log("\n" + r.Text(p.task))
				}
			})
		})
	}
}

// unique drops findings that several calls made of the same link.
func unique(list string) string {
	return strings.Join(slices.Compact(strings.Split(list, ", ")), ", ")
}

// What the plan assumes is compared between nodes alone.
func TestSlowerThanPlanned(t *testing.T) {
	m := matrix{
		{ceiling: 2000, links: []link{{place: 1, state: linkMet, sent: rate{MBps: 400}}, {place: 2, state: linkMet, sent: rate{MBps: 20}}}},
		nil, nil,
	}
	task := &Task{MinimumShare: 25, Pods: []Pod{{Node: "a", MBps: 50000}, {Node: "b", MBps: 10000}, {Node: "a", MBps: 50000}}}
	slow := m.slow(task, 0)
	if len(slow) != 1 || slow[&m[0].links[0]] != 2000 {
		t.Errorf("slow links %+v, want the one to pod 1 with the program's own 2000 MB/s", slow)
	}
	task.MinimumShare = 0
	if slow := m.slow(task, 0); slow != nil {
		t.Errorf("with a share of 0 %+v is slow", slow)
	}
}

// Pods that came first wait for the last one, longer than a kind of groups may take.
func TestAPodComesLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPods(t, 6, sixRanks()...)
		const seconds, late = 40, 12 * time.Second
		p.task.DeadlineSeconds = seconds
		if kind := probing(p.task.deadline()); late <= kind {
			t.Fatalf("a kind of groups may take %v, and the last pod comes after %v", kind, late)
		}
		come := make(chan struct{})
		p.dial = func(from, _ int, dial dialer) dialer {
			if from != 5 {
				return dial
			}
			return func(ctx context.Context, network, address string) (net.Conn, error) {
				select {
				case <-come:
					return dial(ctx, network, address)
				case <-ctx.Done():
					return nil, ctx.Err()
				}
			}
		}
		time.AfterFunc(late, func() { close(come) })
		for place, r := range p.verify(t) {
			if r.Outcome != Verified {
				t.Errorf("pod %d: %s, %+v", place, r.Outcome, r.Findings)
			}
		}
	})
}

func TestWrongKeysDoNotMeet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPods(t, 2, Kind{"world", []mesh.Ranks{"0-1"}})
		p.task.DeadlineSeconds = 4
		other := make(chan *Report)
		go func() {
			config := p.config(1)
			config.Key = make([]byte, 32)
			r, err := Verify(t.Context(), config)
			if err != nil {
				t.Error(err)
			}
			other <- r
		}()
		r := p.verify(t, 0)[0]
		<-other
		if !hasFinding(r, v1alpha1.FindingLinkBroken) {
			t.Errorf("report %+v", r)
		}
	})
}
