// Package devicename names devices as ResourceSlices and ResourceClaims do.
package devicename

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/words"
)

// hashLength is the number of hex digits of the hash in a name, which tells ids apart that are alike but for it.
const hashLength = 8

// Of returns the name of a device, which is a DNS label (RFC 1123): its id where that is one, else what a label can have of
// the id, a hyphen and a hash of the id (`nvidia-0000-17-00-0-6daa46f5`). It never changes, and other ids have other names.
func Of(id v1alpha1.DeviceID) string {
	if len(validation.IsDNS1123Label(string(id))) == 0 {
		return string(id)
	}
	hash := words.Digest(string(id), hashLength)
	label := strings.Map(inLabel, strings.ToLower(string(id)))
	if room := validation.DNS1123LabelMaxLength - len("-") - hashLength; len(label) > room {
		label = label[:room]
	}
	if label = strings.Trim(label, "-"); label == "" {
		return hash
	}
	return label + "-" + hash
}

// inLabel is what stands for a character in a label.
func inLabel(r rune) rune {
	if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
		return r
	}
	return '-'
}
