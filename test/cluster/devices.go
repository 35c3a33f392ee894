//go:build linux

package cluster

import (
	"context"
	"fmt"
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
	if _, err := n.output(ctx, append(script, names...)...); err != nil {
		return fmt.Errorf("make device nodes: %w", err)
	}
	n.devices = append(n.devices, names...)
	return nil
}

// removeDevices removes the device nodes of the host that the node plays.
func (n *Node) removeDevices(ctx context.Context) error {
	_, err := n.output(ctx, append([]string{"rm", "-f"}, n.devices...)...)
	n.devices = nil
	return err
}
