package inventory

import (
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// Utilization is how busy the devices of a node were when its agent looked at them last. It changes with every look, so that it is an annotation of
// the Lease that the agent renews anyway (v1alpha1.AnnotationUtilization), and costs no write and no event of an inventory.
type Utilization struct {
	// ReadAt is when the agent looked, by the node's clock.
	ReadAt metav1.Time `json:"readAt"`
	// Percent is the part of the time that a device computed, from 0 to 100. Devices that do not show it have none.
	Percent map[v1alpha1.DeviceID]int64 `json:"percent"`
}

// Text is the utilization as the annotation has it; empty where no device shows any.
func (u *Utilization) Text() (string, error) {
	if len(u.Percent) == 0 {
		return "", nil
	}
	text, err := json.Marshal(u)
	return string(text), err
}

// ParseUtilization reads what Text wrote.
func ParseUtilization(text string) (Utilization, error) {
	var u Utilization
	if text == "" {
		return u, nil
	}
	if err := json.Unmarshal([]byte(text), &u); err != nil {
		return Utilization{}, fmt.Errorf("annotation %s: %w", v1alpha1.AnnotationUtilization, err)
	}
	for id, percent := range u.Percent {
		if percent < 0 || percent > 100 {
			return Utilization{}, fmt.Errorf("annotation %s: %d of device %s: a percentage is from 0 to 100", v1alpha1.AnnotationUtilization, percent, id)
		}
	}
	return u, nil
}
