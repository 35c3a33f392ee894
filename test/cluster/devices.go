//go:build linux

package cluster

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// deviceNumbers are character devices of the kernel (Documentation/admin-guide/devices.txt) which a container's default
// device cgroup denies, and which everybody else may open, with nothing done to them by that: fuse, loop-control,
// btrfs-control, autofs, kvm, cpuid of the first processor, and the text of the console in three forms. A machine has some
// of them.
var deviceNumbers = []string{"10:229", "10:237", "10:234", "10:235", "10:232", "203:0", "7:0", "7:64", "7:128"}

// makeNodes makes device nodes ($@). They take turns with the numbers of $numbers that open here.
const makeNodes = `set -e
for number in $numbers; do
	rm -f /dev/tried
	mknod /dev/tried c "${number%:*}" "${number#*:}"
	if (: <>/dev/tried) 2>/dev/null; then usable="$usable $number"; fi
done
rm -f /dev/tried
[ -n "$usable" ] || { echo "none of the devices $numbers opens on this machine: take a kernel with one of them"; exit 1; }
for name; do
	[ -n "$left" ] || left="$usable"
	left="${left# }"
	number="${left%% *}"
	left="${left#"$number"}"
	mkdir -p "$(dirname "$name")"
	rm -f "$name"
	mknod -m 666 "$name" c "${number%:*}" "${number#*:}"
done`

// makeDevices makes device nodes in the node's /dev. Neighbours in their order have different numbers.
func (n *Node) makeDevices(ctx context.Context, names []string) error {
	if len(names) == 0 {
		return nil
	}
	script := []string{"env", "numbers=" + strings.Join(deviceNumbers, " "), "usable=", "left=", "sh", "-c", makeNodes, "mknod"}
	if output, err := n.Command(ctx, append(script, names...)...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: make device nodes: %w: %s", n.Name, err, output)
	}
	n.devices = append(n.devices, names...)
	return nil
}

// RemoveDevice removes a device node of the node's /dev.
func (n *Node) RemoveDevice(ctx context.Context, name string) error {
	n.devices = slices.DeleteFunc(n.devices, func(known string) bool { return known == name })
	return n.removeDevices(ctx, name)
}

func (n *Node) removeDevices(ctx context.Context, names ...string) error {
	if output, err := n.Command(ctx, append([]string{"rm", "-f"}, names...)...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", n.Name, err, output)
	}
	return nil
}
