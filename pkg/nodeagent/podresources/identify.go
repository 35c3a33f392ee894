package podresources

import (
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// matching returns the devices for which something holds. Partitions of one device are one answer; two devices for which
// it holds are none, since then the name does not tell which.
func matching(devices []v1alpha1.Device, holds func(*v1alpha1.Device) bool) []v1alpha1.DeviceID {
	var found []v1alpha1.DeviceID
	var whole v1alpha1.DeviceID
	for i := range devices {
		d := &devices[i]
		if !holds(d) {
			continue
		}
		if len(found) > 0 && d.Whole() != whole {
			return nil
		}
		found, whole = append(found, d.ID), d.Whole()
	}
	return found
}

func byUUID(devices []v1alpha1.Device, name string) []v1alpha1.DeviceID {
	return matching(devices, func(d *v1alpha1.Device) bool { return d.UUID != "" && strings.EqualFold(d.UUID, name) })
}

func byIndex(devices []v1alpha1.Device, name string) []v1alpha1.DeviceID {
	index, err := strconv.ParseInt(name, 10, 32)
	if err != nil {
		return nil
	}
	return matching(devices, func(d *v1alpha1.Device) bool { return d.Index != nil && int64(*d.Index) == index })
}

// numberedNode is the name of a device node that one device has for itself: nvidia0, card1, accel3. Those without a
// number belong to a driver.
var numberedNode = regexp.MustCompile(`^[a-zA-Z]+\d+$`)

func byNode(devices []v1alpha1.Device, name string) []v1alpha1.DeviceID {
	if !numberedNode.MatchString(name) {
		return nil
	}
	return matching(devices, func(d *v1alpha1.Device) bool {
		return slices.ContainsFunc(d.Paths, func(p string) bool { return path.Base(p) == name })
	})
}

func byRenderNode(devices []v1alpha1.Device, name string) []v1alpha1.DeviceID {
	return byNode(devices, "renderD"+name)
}

// byPCI finds a device by its address, which its partitions have as well.
func byPCI(devices []v1alpha1.Device, name string) []v1alpha1.DeviceID {
	return matching(devices, func(d *v1alpha1.Device) bool { return d.PCI != nil && strings.EqualFold(d.PCI.Address, name) })
}

func byFirstOfPCI(devices []v1alpha1.Device, name string) []v1alpha1.DeviceID {
	return matching(devices, func(d *v1alpha1.Device) bool {
		return d.PCI != nil && strings.EqualFold(d.PCI.Address, name) && (d.Partition == nil || d.Partition.Index == 0)
	})
}

var dashedPCI = regexp.MustCompile(`^([0-9a-f]{4})-([0-9a-f]{2})-([0-9a-f]{2})-([0-7])-0x[0-9a-f]{4}$`)

func byDashedPCI(devices []v1alpha1.Device, name string) []v1alpha1.DeviceID {
	if !dashedPCI.MatchString(name) {
		return nil
	}
	return byPCI(devices, dashedPCI.ReplaceAllString(name, "$1:$2:$3.$4"))
}

var gpuInstance = regexp.MustCompile(`^nvidia(\d+)/gi(\d+)$`)

// byGPUInstance finds a MIG device by the minor number of its GPU and the number of its GPU instance. Where the instance
// is divided further, the name means all of it, and the inventory has several devices of that number.
func byGPUInstance(devices []v1alpha1.Device, name string) []v1alpha1.DeviceID {
	match := gpuInstance.FindStringSubmatch(name)
	if match == nil {
		return nil
	}
	return matching(devices, func(d *v1alpha1.Device) bool {
		return d.Partition != nil && d.Index != nil &&
			strconv.Itoa(int(*d.Index)) == match[1] && strconv.Itoa(int(d.Partition.Index)) == match[2]
	})
}

// byPattern finds a device by what a pattern's first group matches.
func byPattern(pattern string, next form) form {
	expression := regexp.MustCompile(pattern)
	return func(devices []v1alpha1.Device, name string) []v1alpha1.DeviceID {
		match := expression.FindStringSubmatch(name)
		if match == nil {
			return nil
		}
		return next(devices, match[1])
	}
}
