package dra

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"
	"k8s.io/apimachinery/pkg/util/wait"
	health "k8s.io/kubelet/pkg/apis/dra-health/v1"
	healthv1alpha1 "k8s.io/kubelet/pkg/apis/dra-health/v1alpha1"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// healthLine is a device as the kubelet hears of it: name, state, message.
func healthLine(d *health.DeviceHealth) string {
	return d.GetDevice().GetPoolName() + "/" + d.GetDevice().GetDeviceName() + " " + d.GetHealth().String() + " " + d.GetMessage()
}

func TestHealthOfEveryDevice(t *testing.T) {
	is := func(state v1alpha1.HealthState, reason, message string) func(*v1alpha1.Device) {
		return func(d *v1alpha1.Device) {
			d.Health = v1alpha1.DeviceHealth{State: state, Reason: reason, Message: message}
		}
	}
	plugins := func(d *v1alpha1.Device) { d.Vendor, d.ID = "nvidia", "nvidia-0" }
	w := wantedOf(statusOf(
		gpu(1), gpu(2, is(v1alpha1.Degraded, "Throttled", "too hot")), gpu(3, is(v1alpha1.Unhealthy, "ECC", "2 uncorrectable errors")),
		gpu(4, is(v1alpha1.Unknown, v1alpha1.ReasonNotMonitored, "nothing observes it")), gpu(5), gpu(6, is(v1alpha1.Unhealthy, "", "")), gpu(7, plugins),
	), gpuID(5), gpuID(6))
	var got []string
	for _, d := range healthOf(w, []string{gpuName(1), gpuName(9)}, testNode, time.Unix(5, 0)) {
		got = append(got, healthLine(d))
		if d.GetLastUpdatedTime() != 5 {
			t.Errorf("%s was looked at in %d", d.GetDevice().GetDeviceName(), d.GetLastUpdatedTime())
		}
	}
	const cordoned = "is cordoned (spec.cordonedDevices of the inventory)"
	want := []string{
		"node-1/" + gpuName(1) + " HEALTHY ",
		"node-1/" + gpuName(2) + " HEALTHY Degraded: Throttled: too hot",
		"node-1/" + gpuName(3) + " UNHEALTHY ECC: 2 uncorrectable errors",
		"node-1/" + gpuName(4) + " UNKNOWN NotMonitored: nothing observes it",
		"node-1/" + gpuName(5) + " HEALTHY " + cordoned,
		"node-1/" + gpuName(6) + " UNHEALTHY " + cordoned,
		"node-1/" + gpuName(9) + " UNHEALTHY Gone: the node has no such device any more; status.devices of AcceleratorInventory node-1 has those that it has",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// receive reads the next list of a stream of either version.
type receive func() ([]string, error)

// streams are the health streams by version of their API: v1alpha1 for kubelets of 1.36, v1 for later ones.
var streams = map[string]func(context.Context, *grpc.ClientConn) (receive, error){
	"v1alpha1": func(ctx context.Context, c *grpc.ClientConn) (receive, error) {
		stream, err := health.V1Alpha1ClientWrapper{Client: healthv1alpha1.NewDRAResourceHealthClient(c)}.NodeWatchResources(ctx, nil)
		return func() ([]string, error) { return lines(stream.Recv()) }, err
	},
	"v1": func(ctx context.Context, c *grpc.ClientConn) (receive, error) {
		stream, err := health.NewDRAResourceHealthClient(c).NodeWatchResources(ctx, &health.NodeWatchResourcesRequest{})
		return func() ([]string, error) { return lines(stream.Recv()) }, err
	},
}

func lines(answer *health.NodeWatchResourcesResponse, err error) (all []string, _ error) {
	for _, d := range answer.GetDevices() {
		all = append(all, healthLine(d))
	}
	return all, err
}

// A kubelet of either version hears of all devices as soon as they are known, when one changes, and again before it would take
// what it knows for too old.
func TestHealthIsStreamed(t *testing.T) {
	for version, open := range streams {
		t.Run(version, func(t *testing.T) {
			now := clocktesting.NewFakeClock(time.Unix(1000, 0))
			d := New(Options{Node: testNode, Config: throughDRA, Clock: now, Allocated: func() {}, Changed: func() {}})
			s := &healthServer{handler: &handler{options: &d.options, wanted: &d.wanted, checkpoint: openedIn(t, t.TempDir())}}
			listener, server := bufconn.Listen(1<<16), grpc.NewServer()
			s.register(server)
			go func() { _ = server.Serve(listener) }()
			t.Cleanup(server.Stop)
			connection, err := grpc.NewClient("passthrough:///driver", grpc.WithTransportCredentials(insecure.NewCredentials()),
				grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = connection.Close() })
			next, err := open(t.Context(), connection)
			if err != nil {
				t.Fatal(err)
			}
			hear := func(want string) {
				t.Helper()
				got, err := next()
				if err != nil || len(got) != 1 || !strings.HasPrefix(got[0], "node-1/"+gpuName(1)+want) {
					t.Fatalf("%q, %v; want one device that is %s", got, err, want)
				}
			}
			d.Update(nil, statusOf(gpu(1)), v1alpha1.AcceleratorInventorySpec{})
			hear(" HEALTHY ")
			d.Update(nil, statusOf(gpu(1, sick)), v1alpha1.AcceleratorInventorySpec{})
			hear(" UNHEALTHY ECC")
			for waited := time.Duration(0); waited < 30*time.Second; waited += healthInterval {
				stepWhenAwaited(t, now, healthInterval)
				hear(" UNHEALTHY ECC")
			}
		})
	}
}

// stepWhenAwaited moves the time when somebody waits for it.
func stepWhenAwaited(t *testing.T, now *clocktesting.FakeClock, by time.Duration) {
	t.Helper()
	waits := func(context.Context) (bool, error) { return now.HasWaiters(), nil }
	if err := wait.PollUntilContextTimeout(t.Context(), time.Millisecond, time.Minute, true, waits); err != nil {
		t.Fatal(err)
	}
	now.Step(by)
}
