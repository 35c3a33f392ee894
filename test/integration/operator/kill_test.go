package operator

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/controllers/operator"
	"github.com/rankwright/rankwright/internal/repository"
	"github.com/rankwright/rankwright/test/invariant"
	"github.com/rankwright/rankwright/test/operation"
)

const (
	kills      = 60
	loadPeriod = 25 * time.Millisecond
	loadNames  = 14
)

// killWithin are the times within which a kill falls after a plan changed: the length of a request, so that it falls
// between two requests of a reservation, and the length of several reservations.
var killWithin = []time.Duration{5 * time.Millisecond, 200 * time.Millisecond}

// TestOperatorSurvivesKills runs one or two real operators under a load of placements that want more devices than there
// are, and kills them at random moments, while every event of every plan is checked.
func TestOperatorSurvivesKills(t *testing.T) {
	const seed = 20
	w := newWorld(t, wholeCluster)
	binary, kubeconfig := buildOperator(w), w.operatorKubeconfig()
	watched := w.watchInvariant()
	for i := range 3 {
		w.addNode(fmt.Sprintf("n%d", i), 4)
	}
	random := rand.New(rand.NewPCG(seed, 0))
	stopLoad := w.load(rand.New(rand.NewPCG(seed, 1)))
	running := [2]*process{}
	for killed := 0; killed < kills; {
		slot := random.IntN(len(running))
		if running[slot] == nil {
			running[slot] = w.start(binary, kubeconfig)
		}
		watched.awaitEvent()
		w.after(time.Duration(random.Int64N(int64(killWithin[random.IntN(len(killWithin))]))))
		if random.IntN(4) > 0 || killed == kills-1 {
			running[slot].kill()
			running[slot] = nil
			killed++
		}
	}
	stopLoad()
	for _, p := range running {
		if p != nil {
			p.kill()
		}
	}
	last := w.start(binary, kubeconfig)
	w.Eventually("all that fits is placed and nothing is left behind", w.settled)
	last.kill()
	watched.check(kills / 3)
}

// built is the operator's program, in the control plane's folder and so gone with it.
var built = sync.OnceValues(func() (string, error) {
	binary := filepath.Join(cluster.Dir(), "operator")
	return binary, repository.Build(context.Background(), binary, "cmd/operator")
})

func buildOperator(w world) string {
	w.Helper()
	binary, err := built()
	w.Must(err)
	return binary
}

// process is a running operator.
type process struct {
	world
	cmd *exec.Cmd
	log *os.File
}

// said is what the process has logged.
func (p *process) said() string {
	text, err := os.ReadFile(p.log.Name())
	p.Must(err)
	return string(text)
}

func (w world) start(binary, kubeconfig string) *process {
	w.Helper()
	log, err := os.Create(filepath.Join(w.TempDir(), "operator.log"))
	w.Must(err)
	w.Cleanup(func() { _ = log.Close() })
	p := &process{world: w, log: log}
	p.cmd = exec.CommandContext(context.WithoutCancel(w.Context()), binary, "--kubeconfig", kubeconfig,
		"--leader-elect=false", "--health-address=0", "--metrics-address=0", "--log-level=warn")
	p.cmd.Stderr = log
	w.Must(p.cmd.Start())
	w.Cleanup(p.kill)
	return p
}

// kill kills the process, which must not have ended by itself.
func (p *process) kill() {
	if p.cmd.ProcessState != nil {
		return
	}
	err := p.cmd.Process.Kill()
	waited := p.cmd.Wait()
	if errors.Is(err, os.ErrProcessDone) || p.cmd.ProcessState.Exited() {
		p.Errorf("the operator ended by itself: %v\n%s", waited, p.said())
	}
}

// after waits for a time that the test's seed chose: the moment of a kill is what is random here.
func (w world) after(d time.Duration) {
	select {
	case <-time.After(d):
	case <-w.Context().Done():
	}
}

// awaitEvent waits for the next event.
func (i *watchedPlans) awaitEvent() {
	i.Helper()
	select {
	case <-i.changed:
	default:
	}
	limit := time.NewTimer(operation.Patience)
	defer limit.Stop()
	select {
	case <-i.changed:
	case <-limit.C:
		i.Fatal("no plan changes any more")
	}
}

// load creates, scales and deletes placements until it is stopped.
func (w world) load(random *rand.Rand) (stop func()) {
	ctx, cancel := context.WithCancel(w.Context())
	var ended sync.WaitGroup
	ended.Go(func() {
		tick := time.NewTicker(loadPeriod)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				if err := w.disturb(ctx, random); err != nil && ctx.Err() == nil {
					w.Error(err)
				}
			}
		}
	})
	return func() { cancel(); ended.Wait() }
}

// disturb does one thing to one placement.
func (w world) disturb(ctx context.Context, random *rand.Rand) error {
	name := fmt.Sprintf("p%d", random.IntN(loadNames))
	tensor, copies := int32(1+random.IntN(2)), int32(random.IntN(4))
	p := &v1alpha1.ModelPlacement{}
	err := w.Get(ctx, client.ObjectKey{Namespace: testNamespace, Name: name}, p)
	switch {
	case err != nil:
		if err := client.IgnoreNotFound(err); err != nil {
			return err
		}
		return w.Create(ctx, w.PlacementOf(name, tensor, max(1, copies)))
	case random.IntN(3) == 0:
		return client.IgnoreNotFound(w.Delete(ctx, p))
	default:
		scaled := client.MergeFrom(p.DeepCopy())
		p.Spec.Replicas = &copies
		return client.IgnoreNotFound(w.Patch(ctx, p, scaled))
	}
}

// settled says whether all is as it should be when nothing changes any more.
func (w world) settled(ctx context.Context) bool {
	w.Helper()
	why, err := invariant.Unsettled(ctx, w)
	w.Must(err)
	return why == ""
}

// TestTwoOperatorsNeverShareADevice lets two operators that both believe to lead serve the same placements.
func TestTwoOperatorsNeverShareADevice(t *testing.T) {
	const placements = 40
	w := newWorld(t, wholeCluster)
	watched := w.watchInvariant()
	for i := range 2 {
		w.addNode(fmt.Sprintf("n%d", i), 8)
	}
	for range 2 {
		w.operate(operator.Options{Planner: operation.FirstFit})
	}
	for i := range placements {
		w.place(w.PlacementOf(fmt.Sprintf("p%d", i), int32(1+i%2), int32(1+i%3)))
	}
	w.Eventually("every device is in use", func(context.Context) bool {
		used := 0
		for _, p := range w.plans() {
			if p.Active() {
				used += int(p.Spec.Totals.Devices)
			}
		}
		return used == 16
	})
	// Placements that have devices are deleted until every placement had some.
	for served := 0; served < placements; {
		for i := range placements {
			name := fmt.Sprintf("p%d", i)
			p := &v1alpha1.ModelPlacement{}
			if w.Get(t.Context(), client.ObjectKey{Namespace: testNamespace, Name: name}, p) == nil && placed(p).Reason == v1alpha1.ReasonPlaced {
				w.Must(w.Delete(t.Context(), p))
				served++
			}
		}
	}
	w.Eventually("nothing is left", func(context.Context) bool { return len(w.plans()) == 0 })
	watched.check(placements)
}
