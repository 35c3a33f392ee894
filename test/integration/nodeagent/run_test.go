package nodeagent_test

import (
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/nodeagent"
)

// published waits for the first inventory that lists so many devices.
func (s *site) published(devices int32) {
	s.t.Helper()
	s.await(fmt.Sprintf("an inventory of %d devices", devices), func() bool {
		inventory := s.inventoryKey()
		err := s.admin.Get(s.t.Context(), client.ObjectKeyFromObject(inventory), inventory)
		return err == nil && len(inventory.Status.Backends) > 0 && inventory.Status.Summary.Devices == devices
	})
}

func TestCordonIsSeenWithoutADetection(t *testing.T) {
	s := newSite(t, "run-cordon")
	s.nvidia.set(gpu(0), gpu(1))
	s.run()
	s.published(2)
	s.cordon(gpu(0).ID)
	s.await("the cordoned device to be taken off the free memory", func() bool {
		return s.inventory().Status.Summary.FreeMiB == 81559
	})
	if got := s.nvidia.scanned(); got != 1 {
		t.Errorf("%d detections, want the first alone", got)
	}
}

func TestRescanOnDemand(t *testing.T) {
	s := newSite(t, "run-rescan")
	s.run()
	s.published(0)
	s.nvidia.set(gpu(0))
	s.agent.Rescan()
	s.published(1)
}

// The agent does not wait for a whole period to tell whether a device that it missed is gone.
func TestMissedDeviceIsLookedForAgain(t *testing.T) {
	s := newSiteFor(t, "run-missed")
	clock := testingclock.NewFakeClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	s.clock = clock
	s.agent = s.newAgent(agentConfig(t, s.node))
	s.nvidia.set(gpu(0))
	s.run()
	s.published(1)
	s.nvidia.set()
	s.agent.Rescan()
	s.await("the device to be Unknown", func() bool {
		d := s.inventory().Status.Device(gpu(0).ID)
		return d != nil && d.Health.Reason == "NotSeen"
	})
	start := clock.Now()
	s.await("the device to be gone", func() bool {
		clock.Step(time.Second)
		return len(s.inventory().Status.Devices) == 0
	})
	if took := clock.Since(start); took >= time.Hour {
		t.Errorf("it took %s", took)
	}
}

func TestDeletedInventoryComesBack(t *testing.T) {
	s := newSite(t, "run-deleted")
	s.nvidia.set(gpu(0))
	s.run()
	s.published(1)
	first := s.inventory()
	if err := s.admin.Delete(t.Context(), s.inventoryKey()); err != nil {
		t.Fatal(err)
	}
	s.published(1)
	if second := s.inventory(); second.UID == first.UID {
		t.Error("the inventory was not deleted")
	}
}

// A token that is bound to a Node dies with it, so this agent is the administrator's.
func TestNodeCreatedAnew(t *testing.T) {
	s := newSiteFor(t, "run-anew")
	s.agent = s.newAgent(cluster.Config())
	installRules(t)
	s.nvidia.set(gpu(0))
	s.run()
	s.published(1)
	if err := s.admin.Delete(t.Context(), s.nodeKey()); err != nil {
		t.Fatal(err)
	}
	anew := s.createNode()
	s.await("an inventory of the new Node", func() bool {
		inventory := s.inventoryKey()
		if err := s.admin.Get(t.Context(), client.ObjectKeyFromObject(inventory), inventory); err != nil {
			return false
		}
		if owners := inventory.OwnerReferences; len(owners) == 1 && owners[0].UID == anew.UID {
			return true
		}
		// The garbage collector deletes while the owner is gone, however often the agent was just about to publish.
		if err := client.IgnoreNotFound(s.admin.Delete(t.Context(), inventory)); err != nil {
			t.Error(err)
		}
		return false
	})
	s.await("labels on the new Node", func() bool { return s.labels()["nvidia.count"] == "1" })
}

func TestInventoryOfAFormerNodeIsTakenOver(t *testing.T) {
	s := newSiteFor(t, "run-former")
	s.agent = s.newAgent(cluster.Config())
	s.once()
	if err := s.admin.Delete(t.Context(), s.nodeKey()); err != nil {
		t.Fatal(err)
	}
	anew := s.createNode()
	s.once()
	want := []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: s.name, UID: anew.UID}}
	if got := s.inventory().OwnerReferences; len(got) != 1 || got[0] != want[0] {
		t.Errorf("owners = %+v, want %+v", got, want)
	}
}

func TestHeartbeat(t *testing.T) {
	s := newSiteFor(t, "run-heartbeat")
	clock := testingclock.NewFakeClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	s.clock = clock
	s.agent = s.newAgent(agentConfig(t, s.node))
	s.run()
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: s.name, Namespace: agentName}}
	renewedAfter := func(last time.Time) func() bool {
		return func() bool {
			err := s.admin.Get(t.Context(), client.ObjectKeyFromObject(lease), lease)
			return err == nil && lease.Spec.RenewTime.After(last)
		}
	}
	s.await("the Lease", renewedAfter(time.Time{}))
	if *lease.Spec.HolderIdentity != s.name || *lease.Spec.LeaseDurationSeconds != 240 {
		t.Errorf("lease = %+v, want this node for 240 s", lease.Spec)
	}
	if len(lease.OwnerReferences) != 1 || lease.OwnerReferences[0].UID != s.node.UID {
		t.Errorf("owners = %+v, want the Node", lease.OwnerReferences)
	}
	// The loop and the heartbeat both wait for the clock.
	s.await("the heartbeat to wait", func() bool { return clock.Waiters() == 2 })
	clock.Step(67 * time.Second)
	s.await("the renewal", renewedAfter(lease.Spec.RenewTime.Time))
}

// The heartbeat says how busy the devices were when the agent looked last, and no longer says it of a device that does not show it any more.
func TestHeartbeatSaysHowBusyDevicesAre(t *testing.T) {
	s := newSiteFor(t, "run-busy")
	clock := testingclock.NewFakeClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	s.clock = clock
	s.agent = s.newAgent(agentConfig(t, s.node))
	s.nvidia.set(gpu(0), gpu(1))
	s.nvidia.busy(gpu(0).ID, 37)
	s.run()
	s.published(2)
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: s.name, Namespace: agentName}}
	says := func(want string) func() bool {
		return func() bool {
			clock.Step(time.Second)
			err := s.admin.Get(t.Context(), client.ObjectKeyFromObject(lease), lease)
			return err == nil && lease.Annotations[v1alpha1.AnnotationUtilization] == want
		}
	}
	s.await("what the first detection read", says(`{"readAt":"2026-01-02T03:04:05Z","percent":{"nvidia-0000:10:00.0":37}}`))
	version := s.inventory().ResourceVersion
	s.nvidia.set(gpu(0), gpu(1))
	s.agent.Rescan()
	s.await("nothing of devices that show nothing", says(""))
	if now := s.inventory().ResourceVersion; now != version {
		t.Errorf("the inventory was written: version %s after %s", now, version)
	}
}

// outage refuses the requests of an agent while it is on.
type outage struct{ on atomic.Bool }

func (o *outage) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		if o.on.Load() {
			return nil, fmt.Errorf("%s: connection refused", request.URL.Host)
		}
		return next.RoundTrip(request)
	})
}

func TestOutageOfTheAPIServerIsSurvived(t *testing.T) {
	s := newSiteFor(t, "run-outage")
	var out outage
	out.on.Store(true)
	config := rest.CopyConfig(agentConfig(t, s.node))
	config.Wrap(out.wrap)
	s.agent = s.newAgent(config)
	s.nvidia.set(gpu(0))
	s.run()
	s.await("a detection", func() bool { return s.nvidia.scanned() > 0 })
	out.on.Store(false)
	s.published(1)
	if got := s.nvidia.scanned(); got != 1 {
		t.Errorf("%d detections, want no more for the API server's sake", got)
	}
}

// An agent that does not end leaves the test waiting for it.
func TestEndsWhileABackendHangs(t *testing.T) {
	s := newSite(t, "run-ends")
	s.nvidia.hang()
	s.run()
	s.await("a detection", func() bool { return s.nvidia.scanned() > 0 })
	s.stop()
	if err := s.admin.Get(t.Context(), client.ObjectKeyFromObject(s.inventoryKey()), s.inventoryKey()); !apierrors.IsNotFound(err) {
		t.Errorf("reading the inventory: %v; want none, since the detection was cut off", err)
	}
}

func TestAddressInUseIsAnError(t *testing.T) {
	s := newSite(t, "run-address")
	agent, err := nodeagent.New(cluster.Config(), nodeagent.Options{
		NodeName: s.name, Host: emptyHost, Log: s.log(), HealthAddress: "127.0.0.1:0", MetricsAddress: "192.0.2.1:1",
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := agent.Run(t.Context()); err == nil {
		t.Error("the agent runs without its metrics")
	}
}
