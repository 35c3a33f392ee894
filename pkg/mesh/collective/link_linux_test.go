package collective

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

// linkRate is the rate of the link, as tc takes it: far below what two cores move over a loopback, so that the link is the limit.
const linkRate = "1gbit"

// Between two processes that a link of its own joins, a network namespace each, and that is slower than their processors, the
// ring has to reach the bar against a plain stream that goes in one direction.
func TestRingOverALink(t *testing.T) {
	if os.Getenv("RANKWRIGHT_CLUSTER") == "" {
		t.Skip("runs under make e2e: namespaces and links need root")
	}
	const (
		bytes = 16 << 20
		bar   = 0.6
	)
	ends := makeLink(t)
	config := childConfig{
		Addresses: []string{ends[0].address + ":4000", ends[1].address + ":4000"}, Plain: ends[0].address + ":4001",
		Role: "measure over a link", Bytes: bytes,
	}
	var ranks [2]*child
	for rank, end := range ends {
		config.Rank = rank
		ranks[rank] = startIn(t, end.namespace, config)
	}
	var got [3]float64
	if line := ranks[0].line(); json.Unmarshal([]byte(line), &got) != nil {
		t.Fatalf("rank 0: %s", line)
	}
	measured := bandwidth{got[0], got[1], got[2]}
	t.Logf("a link of %s: %s", linkRate, measured)
	if measured.ring < bar*measured.plain {
		t.Errorf("the ring reaches %.0f%% of a TCP stream, want at least %.0f%%", 100*measured.ring/measured.plain, 100*bar)
	}
}

type linkEnd struct{ namespace, address string }

// makeLink makes two network namespaces that a link of linkRate in each direction joins, until the end of the test.
func makeLink(t *testing.T) [2]linkEnd {
	t.Helper()
	var ends [2]linkEnd
	for i := range ends {
		ends[i] = linkEnd{fmt.Sprintf("rwlink-%d-%d", os.Getpid(), i), "192.0.2." + strconv.Itoa(i+1)}
		mustRun(t, "ip netns add "+ends[i].namespace)
		t.Cleanup(func() {
			if output, err := exec.Command("ip", "netns", "del", ends[i].namespace).CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, output)
			}
		})
	}
	mustRun(t, fmt.Sprintf("ip link add eth0 netns %s type veth peer name eth0 netns %s", ends[0].namespace, ends[1].namespace))
	for _, end := range ends {
		mustRun(t, fmt.Sprintf("ip -n %s address add %s/24 dev eth0", end.namespace, end.address))
		mustRun(t, "ip -n "+end.namespace+" link set eth0 up")
		shape := strings.Fields("-n " + end.namespace + " qdisc add dev eth0 root tbf rate " + linkRate + " burst 512kb latency 50ms")
		if output, err := exec.CommandContext(t.Context(), "tc", shape...).CombinedOutput(); err != nil {
			t.Skipf("this kernel cannot limit the rate of a link: tc %q: %v: %s", shape, err, output)
		}
	}
	return ends
}

func mustRun(t *testing.T, command string) {
	t.Helper()
	argv := strings.Fields(command)
	if output, err := exec.CommandContext(t.Context(), argv[0], argv[1:]...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v: %s", command, err, output)
	}
}

// startIn starts a child in a network namespace, where it listens by itself.
func startIn(t *testing.T, namespace string, config childConfig) *child {
	t.Helper()
	config.Listens = true
	return runAsChild(t, config, exec.Command("ip", "netns", "exec", namespace, os.Args[0]))
}
