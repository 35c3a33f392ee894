package term

import (
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// IDs prints device ids in one word, as a shell would expand it: nvidia-0000:{1b,43}:00.0.
func IDs(list []v1alpha1.DeviceID) string {
	if len(list) < 2 {
		return Joined(list, " ")
	}
	first := string(list[0])
	prefix, suffix := len(first), len(first)
	for _, id := range list[1:] {
		prefix = min(prefix, commonPrefix(first, string(id)))
		suffix = min(suffix, commonSuffix(first, string(id)))
	}
	// The parts are cut at a separator, so that no number is taken apart.
	prefix = strings.LastIndexAny(first[:prefix], "-:._") + 1
	suffix = min(suffix, len(first)-prefix)
	if cut := strings.IndexAny(first[len(first)-suffix:], "-:._"); cut >= 0 {
		suffix -= cut
	} else {
		suffix = 0
	}
	parts := make([]string, len(list))
	for i, id := range list {
		if prefix == 0 || len(id) < prefix+suffix {
			return Joined(list, " ")
		}
		parts[i] = string(id[prefix : len(id)-suffix])
	}
	return first[:prefix] + "{" + strings.Join(parts, ",") + "}" + first[len(first)-suffix:]
}

func commonPrefix(a, b string) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

func commonSuffix(a, b string) int {
	n := 0
	for n < min(len(a), len(b)) && a[len(a)-1-n] == b[len(b)-1-n] {
		n++
	}
	return n
}
