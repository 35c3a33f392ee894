package chaos

import (
	"io"
	"math/rand/v2"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/rankwright/rankwright/controllers/operator"
	"github.com/rankwright/rankwright/test/process"
)

// played is a world whose API server is a list of objects, and whose operator is a test that does things between calls. It is judged as any other.
func played(t *testing.T, s *sight, running map[types.UID]container, calls interceptor.Funcs) *world {
	t.Helper()
	scheme, err := operator.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	ready := corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}}
	all := fake.NewClientBuilder().WithScheme(scheme).WithObjects(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}, Status: ready}).
		WithLists(&s.placements, &s.plans, &s.meshes, &s.pods, &s.inventories).Build()
	w := &world{
		Options: Options{Patience: 2 * time.Minute, Dir: t.TempDir(), Log: io.Discard},
		client:  interceptor.NewClient(all, calls), random: rand.New(rand.NewPCG(1, 0)), clock: time.Now, rested: map[types.UID]resting{},
	}
	w.watcher, w.players = newWatcher(w.client), newPlayers(w.client, 1)
	for uid, c := range running {
		w.players.running[uid] = &c
	}
	w.load = &load{client: w.client, want: map[string]wish{}}
	for i := range s.placements.Items {
		w.load.want[s.placements.Items[i].Name] = wish{1, 1}
	}
	for i := range w.seats {
		w.seats[i] = &seat{running: &process.Process{}, proxy: &proxy{}}
	}
	return w
}
