package detect

import "encoding/json"

// instanceData is what cloud-init has asked of the cloud when the host booted, as far as everybody may read it. Its keys
// below v1 are the same for every cloud (cloud-init's documentation, "Instance metadata", standardized keys).
const instanceData = "/run/cloud-init/instance-data.json"

// cloudPlace is the part of it that says where the host is.
type cloudPlace struct {
	V1 struct {
		Region string `json:"region,omitempty"`
		Zone   string `json:"availability_zone,omitempty"`
	} `json:"v1"`
}

// readPlace returns region and zone, each empty where cloud-init does not know it. Nothing is asked over the network.
func readPlace(files Files) (region, zone string) {
	text, _, _ := readText(files, instanceData) // a place that cannot be read is not known, and no more
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
