//go:build linux

package cluster

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

const (
	// maxClusters on one machine, and nodes in one cluster.
	maxClusters = 16
	maxNodes    = 9
)

// network is the addresses and names of a cluster, all of which follow from its number:
//
//	10.(200+number).0.0/24    nodes; .1 is the control plane's, .(10+n) node n's
//	10.(200+number).n.0/24    pods of node n
//	10.(200+number).255.0/24  Services
type network struct{ number int }

// takeNumber finds a number that no running cluster has. The lock is held for as long as the file is open, so a killed
// cluster holds none.
func takeNumber() (network, *os.File, error) {
	for number := range maxClusters {
		name := filepath.Join(os.TempDir(), fmt.Sprintf("rankwright-cluster-%d.lock", number))
		file, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			return network{}, nil, fmt.Errorf("lock of a cluster: %w", err)
		}
		if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err == nil {
			return network{number}, file, nil
		}
		_ = file.Close()
	}
	return network{}, nil, fmt.Errorf("%d clusters run on this machine already: stop one", maxClusters)
}

func (n network) address(third, fourth int) netip.Addr {
	return netip.AddrFrom4([4]byte{10, byte(200 + n.number), byte(third), byte(fourth)})
}

func (n network) gateway() netip.Addr          { return n.address(0, 1) }
func (n network) node(number int) netip.Addr   { return n.address(0, 10+number) }
func (n network) pods(number int) netip.Prefix { return netip.PrefixFrom(n.address(number, 0), 24) }
func (n network) services() netip.Prefix       { return netip.PrefixFrom(n.address(255, 0), 24) }
func (n network) cluster() netip.Prefix        { return netip.PrefixFrom(n.address(0, 0), 16) }
func (n network) bridge() string               { return fmt.Sprintf("rwc%d", n.number) }
func (n network) namespace(number int) string  { return fmt.Sprintf("rwc%d-node-%d", n.number, number) }
func (n network) veth(number int) string       { return fmt.Sprintf("rwc%d-v%d", n.number, number) }
func namespacePath(namespace string) string    { return "/run/netns/" + namespace }

// create makes a bridge, and for each node a network namespace on it with routes to the pods of the others.
func (n network) create(ctx context.Context, nodes int) error {
	commands := []string{
		fmt.Sprintf("ip link add %s type bridge", n.bridge()),
		fmt.Sprintf("ip address add %s/24 dev %s", n.gateway(), n.bridge()),
		fmt.Sprintf("ip link set %s up", n.bridge()),
	}
	for i := 1; i <= nodes; i++ {
		inside := "ip -n " + n.namespace(i) + " "
		commands = append(commands,
			"ip netns add "+n.namespace(i),
			fmt.Sprintf("ip link add %s type veth peer name eth0 netns %s", n.veth(i), n.namespace(i)),
			fmt.Sprintf("ip link set %s master %s up", n.veth(i), n.bridge()),
			inside+"link set lo up",
			inside+"link set eth0 up",
			inside+fmt.Sprintf("address add %s/24 dev eth0", n.node(i)),
			inside+fmt.Sprintf("route add default via %s", n.gateway()),
			fmt.Sprintf("ip route add %s via %s", n.pods(i), n.node(i)))
		for other := 1; other <= nodes; other++ {
			if other != i {
				commands = append(commands, inside+fmt.Sprintf("route add %s via %s", n.pods(other), n.node(other)))
			}
		}
	}
	for _, command := range commands {
		if err := run(ctx, strings.Fields(command)...); err != nil {
			return err
		}
	}
	return nil
}

// remove takes the bridge, the links and the namespaces away. What is not there is no error. Links are removed by name:
// the kernel takes its time to end a namespace.
func (n network) remove(ctx context.Context) error {
	links := []string{n.bridge()}
	var errs []error
	for i := 1; i <= maxNodes; i++ {
		links = append(links, n.veth(i))
		if _, err := os.Stat(namespacePath(n.namespace(i))); err == nil {
			errs = append(errs, run(ctx, "ip", "netns", "del", n.namespace(i)))
		}
	}
	for _, link := range links {
		if _, err := os.Stat("/sys/class/net/" + link); err != nil {
			continue
		}
		if err := run(ctx, "ip", "link", "del", link); err != nil && !strings.Contains(err.Error(), "Cannot find device") {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// run runs a command and tells what it printed where it fails.
func run(ctx context.Context, argv ...string) error {
	output, err := exec.CommandContext(ctx, argv[0], argv[1:]...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(argv, " "), err, strings.TrimSpace(string(output)))
	}
	return nil
}
