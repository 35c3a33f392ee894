package serving

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/nodeagent/injection"
)

// resourceOf is the extended resource that a device is offered under when it is not in a slot: rankwright.dev/VENDOR-KIND,
// or what the configuration calls the kind. Partitions have their profile in the name.
func resourceOf(d *v1alpha1.Device, config VendorConfig) (string, error) {
	kind := injection.Noun(d)
	if kind == "" {
		return "", fmt.Errorf("device %s has no family: nothing names its resource", d.ID)
	}
	renamed := config.Resources[kind]
	if d.Partition != nil {
		part, err := partitionName(d)
		if err != nil {
			return "", err
		}
		domain, _, _ := strings.Cut(renamed, "/")
		renamed, kind = config.Resources[part], part
		if renamed == "" && domain != "" {
			renamed = domain + "/" + part
		}
	}
	name := cmp.Or(renamed, v1alpha1.Prefix+d.Vendor+"-"+kind)
	if err := checkResource(name); err != nil {
		return "", fmt.Errorf("resource of device %s: %w", d.ID, err)
	}
	return name, nil
}

// notInNames is what the name of a resource cannot have.
var notInNames = regexp.MustCompile(`[^a-z0-9._-]+`)

// partitionName names the partition of a device by kind and profile, as the vendors' own plugins have it after their domain:
// nvidia.com/mig-1g.10gb, with a dot for the plus of 1g.10gb+me; aws.amazon.com/neuroncore. Others are named by their profile
// alone, which has the kind in it: amd.com/cpx_nps4.
func partitionName(d *v1alpha1.Device) (string, error) {
	p := d.Partition
	name := p.Profile
	switch {
	case p.Kind == "core":
		name = "neuroncore"
	case p.Profile == "":
		return "", fmt.Errorf("the profile of partition %s is not known yet, and its resource has it in the name: "+
			"install the vendor's tool, or wait until it answers", d.ID)
	case p.Kind == "MIG":
		name = "mig-" + strings.ReplaceAll(p.Profile, "+", ".")
	}
	name = strings.ReplaceAll(strings.ToLower(name), "/", "_")
	name = strings.Trim(notInNames.ReplaceAllString(name, "-"), "._-")
	if name == "" {
		return "", fmt.Errorf("profile %q of partition %s has no letter that a resource can have: rename the partition's kind", p.Profile, d.ID)
	}
	return name, nil
}

// shareMark stands between the id of a device and the number of the share. It cannot be in an id.
const shareMark = "/"

// offerIDs are the ids that the kubelet knows a device by: its own where it is not shared.
func offerIDs(device v1alpha1.DeviceID, shares int) []string {
	if shares <= 1 {
		return []string{string(device)}
	}
	ids := make([]string, shares)
	for i := range ids {
		ids[i] = string(device) + shareMark + strconv.Itoa(i)
	}
	return ids
}

// deviceOf is the device that one of our ids at the kubelet stands for: `nvidia-0000:17:00.0` of
// `nvidia-0000:17:00.0/3`.
func deviceOf(id string) v1alpha1.DeviceID {
	device, _, _ := strings.Cut(id, shareMark)
	return v1alpha1.DeviceID(device)
}
