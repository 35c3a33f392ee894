package verification

import "fmt"

// betweenDevices says which devices a finding is about, the sender first.
func betweenDevices(p, peer *State, f *Finding) string {
	if peer == nil {
		peer = p
	}
	return fmt.Sprintf("%s: from %s to %s", f.Text, deviceOf(f.Ranks[0], p, peer), deviceOf(f.Ranks[1], p, peer))
}

// deviceOf names the device of a rank, where one of the pods is known to have it.
func deviceOf(rank int32, pods ...*State) string {
	for _, p := range pods {
		if at := int(rank - p.End.FirstRank); at >= 0 && at < len(p.End.Devices) {
			return fmt.Sprintf("%s (rank %d)", p.End.Devices[at], rank)
		}
	}
	return fmt.Sprintf("rank %d", rank)
}
