// Package devicename names devices as ResourceSlices and ResourceClaims do.
package devicename

import (
	"regexp"
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
	label := notInLabels.ReplaceAllString(strings.ToLower(string(id)), "-")
	label = strings.Trim(label[:min(len(label), validation.DNS1123LabelMaxLength-len("-")-hashLength)], "-")
	if label == "" {
		return hash
	}
	return label + "-" + hash
}

// notInLabels is what a hyphen stands for in a label.
var notInLabels = regexp.MustCompile(`[^a-z0-9]`)
