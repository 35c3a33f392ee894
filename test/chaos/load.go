package chaos

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/test/operation"
)

// load makes, changes and deletes placements at random, and remembers what there must be.
type load struct {
	client client.Client
	random *rand.Rand
	names  int

	mu      sync.Mutex
	on      bool
	unsure  bool // an answer was lost, so that what there must be is not known
	want    map[string]wish
	changes int
}

// wish is what a placement asks for.
type wish struct{ tensor, copies int32 }

// home is where placements are made.
const home = "chaos"

// run has changes come in bursts, so that several placements want devices at once.
func (l *load) run(ctx context.Context) {
	const shortest, longest, burst = 50 * time.Millisecond, 400 * time.Millisecond, 6
	for pause(ctx, shortest+time.Duration(l.random.Int64N(int64(longest-shortest)))) {
		for range 1 + l.random.IntN(burst) {
			l.step(ctx)
		}
	}
}

// turn lets the load begin or end; when it returns, nothing is under way.
func (l *load) turn(on bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.on = on
}

// count is how many changes were asked for.
func (l *load) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.changes
}

func (l *load) step(ctx context.Context) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.on {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if err := l.disturb(ctx); err != nil && !refused(err) {
		l.unsure = true
	}
	l.changes++
}

// refused says whether the API server certainly did not do what it was asked for.
func refused(err error) bool {
	return apierrors.IsNotFound(err) || apierrors.IsAlreadyExists(err) || apierrors.IsConflict(err) || apierrors.IsForbidden(err) || apierrors.IsInvalid(err)
}

// disturb does one thing to one placement.
func (l *load) disturb(ctx context.Context) error {
	name := fmt.Sprintf("p%d", l.random.IntN(l.names))
	next := wish{1 << l.random.IntN(3), int32(l.random.IntN(4))}
	p := &v1alpha1.ModelPlacement{}
	err := l.client.Get(ctx, client.ObjectKey{Namespace: home, Name: name}, p)
	switch {
	case apierrors.IsNotFound(err):
		next.copies = max(1, next.copies)
		if err = l.client.Create(ctx, placementOf(name, next)); err == nil {
			l.want[name] = next
		}
	case err != nil:
		return nil // nothing was asked for
	case l.random.IntN(5) == 0:
		if err = l.client.Delete(ctx, p); err == nil {
			delete(l.want, name)
		}
	default:
		before := client.MergeFrom(p.DeepCopy())
		if l.random.IntN(2) == 0 { // half of the changes leave the shape
			next.tensor = *p.Spec.Parallelism.Tensor
		}
		p.Spec.Replicas, p.Spec.Parallelism.Tensor = &next.copies, &next.tensor
		if err = l.client.Patch(ctx, p, before); err == nil {
			l.want[name] = next
		}
	}
	return err
}

func placementOf(name string, of wish) *v1alpha1.ModelPlacement {
	architecture := operation.SmallArchitecture()
	return &v1alpha1.ModelPlacement{
		ObjectMeta: metav1.ObjectMeta{Namespace: home, Name: name},
		Spec: v1alpha1.ModelPlacementSpec{
			Model:       v1alpha1.ModelSource{Architecture: &architecture},
			Workload:    v1alpha1.Workload{Inference: &v1alpha1.InferenceWorkload{MaxModelLen: 128}},
			Parallelism: &v1alpha1.Parallelism{Tensor: &of.tensor}, Replicas: &of.copies,
			Devices:     &v1alpha1.DeviceRequirements{Products: []string{products[0].product}},
			Enforcement: v1alpha1.EnforcementSlot,
		},
	}
}

// lost says what is not there as it was asked for. After an answer that got lost, and after a backup was restored, what is there is right.
func (l *load) lost(ctx context.Context) (string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var all v1alpha1.ModelPlacementList
	if err := l.client.List(ctx, &all, client.InNamespace(home)); err != nil {
		return "", fmt.Errorf("list placements: %w", err)
	}
	there := map[string]wish{}
	for i := range all.Items {
		p := &all.Items[i]
		there[p.Name] = wish{*p.Spec.Parallelism.Tensor, *p.Spec.Replicas}
	}
	if l.unsure {
		l.want, l.unsure = there, false
	}
	for name, want := range l.want {
		if got, is := there[name]; !is || got != want {
			return fmt.Sprintf("placement %s is %+v, and %+v was asked for (there: %v)", name, got, want, is), nil
		}
	}
	if len(there) != len(l.want) {
		return fmt.Sprintf("there are %d placements in place of %d", len(there), len(l.want)), nil
	}
	return "", nil
}

// forget takes what is there for what was asked for.
func (l *load) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.unsure = true
}

// generations are those of placements, by uid.
func generations(all []v1alpha1.ModelPlacement) map[string]int64 {
	by := map[string]int64{}
	for i := range all {
		by[string(all[i].UID)] = all[i].Generation
	}
	return by
}
