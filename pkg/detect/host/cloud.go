package host

import (
	"encoding/json"
	"strings"
)

// instanceData is what cloud-init has asked of the cloud when the host booted, as far as everybody may read it. Its keys
// below v1 are the same for every cloud (cloud-init's documentation, "Instance metadata", standardized keys).
const instanceData = "/run/cloud-init/instance-data.json"

// cloudPlace is the part of cloud-init's instance data that says where the host is.
type cloudPlace struct {
	V1 struct {
		Region string `json:"region,omitempty"`
		Zone   string `json:"availability_zone,omitempty"`
	} `json:"v1"`
}

// ReadPlace returns region and zone, each empty where cloud-init does not know it. Nothing is asked over the network.
func ReadPlace(files Files) (region, zone string) {
	text, _, _ := ReadText(files, instanceData) // a place that cannot be read is not known, and no more
	place := parsePlace([]byte(text))
	return place.V1.Region, place.V1.Zone
}

func parsePlace(data []byte) cloudPlace {
	var place cloudPlace
	if json.Unmarshal(data, &place) != nil {
		return cloudPlace{} // half of a place is none
	}
	return place
}

// placeAlone is instance data without anything but the place: it has addresses, names and keys of the host.
func placeAlone(data []byte) []byte {
	text, err := json.Marshal(parsePlace(data))
	if err != nil {
		return nil
	}
	return text
}

const dmiFolder = "/sys/class/dmi/id/"

// cloudEvidence says which DMI field tells a cloud. A hypervisor is not a cloud: Xen runs elsewhere than on AWS, and a
// Hyper-V guest is Azure's only with Azure's chassis tag.
var cloudEvidence = []struct {
	field, value string
	prefix       bool
	cloud        string
}{
	{field: "sys_vendor", value: "Amazon EC2", cloud: "aws"},
	{field: "bios_vendor", value: "Amazon EC2", cloud: "aws"},
	{field: "product_name", value: "Google Compute Engine", cloud: "gcp"},
	{field: "chassis_asset_tag", value: "7783-7084-3265-9085-8269-3286-77", cloud: "azure"},
	{field: "chassis_asset_tag", value: "OracleCloud.com", cloud: "oracle"},
	{field: "sys_vendor", value: "Alibaba Cloud", cloud: "alibaba"},
	{field: "sys_vendor", value: "Tencent Cloud", cloud: "tencent"},
	{field: "sys_vendor", value: "DigitalOcean", cloud: "digitalocean"},
	{field: "sys_vendor", value: "Hetzner", cloud: "hetzner"},
	{field: "sys_vendor", value: "Scaleway", cloud: "scaleway"},
	{field: "sys_vendor", value: "Vultr", cloud: "vultr"},
	{field: "sys_vendor", value: "CoreWeave", cloud: "coreweave"},
	{field: "product_name", value: "OpenStack", prefix: true, cloud: "openstack"},
}

// ReadCloud returns the cloud that the firmware names and, where its product name is one, the instance type.
func ReadCloud(files Files) (cloud, instanceType string) {
	for _, evidence := range cloudEvidence {
		text, _, _ := ReadText(files, dmiFolder+evidence.field)
		if text == evidence.value || evidence.prefix && strings.HasPrefix(text, evidence.value) {
			cloud = evidence.cloud
			break
		}
	}
	if cloud == "" {
		// EC2 instances on Xen have the hypervisor's DMI; Amazon's build of it names itself in the version.
		if version, _, _ := ReadText(files, dmiFolder+"bios_version"); strings.Contains(version, "amazon") {
			cloud = "aws"
		}
	}
	if product, _, _ := ReadText(files, dmiFolder+"product_name"); cloud == "aws" && strings.Contains(product, ".") {
		instanceType = product
	}
	return cloud, instanceType
}
