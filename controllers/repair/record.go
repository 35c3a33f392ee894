package repair

import (
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// Record is a repair that was begun and whose check is not over. A node has at most one.
type Record struct {
	Device v1alpha1.DeviceID `json:"device"`
	// Fault is the reason of the device's health when the repair was begun.
	Fault string `json:"fault,omitempty"`
	// Attempt is the number of the repair, from 1.
	Attempt int32 `json:"attempt"`
	// APIVersion and Kind are those of the object.
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Object is the name of the object for the repair controller. It is in the record before it is made, so that it is made once.
	Object string `json:"object"`
	// Began is when the record was written.
	Began metav1.Time `json:"began"`
	// Made is the uid of the object; empty as long as nobody saw it made.
	Made types.UID `json:"made,omitempty"`
	// Ended is when the object was seen to have ended, or to be gone; absent before. The check follows.
	Ended *metav1.Time `json:"ended,omitempty"`
}

func (r *Record) encode() string {
	// A struct of strings, numbers and times always encodes.
	text, _ := json.Marshal(r)
	return string(text)
}

// decode reads what encode wrote; people may have edited it.
func decode(node, text string) (*Record, error) {
	r := &Record{}
	if err := json.Unmarshal([]byte(text), r); err != nil {
		return nil, fmt.Errorf("record of node %s %q: %w: remove it once no repair of the node is under way", node, text, err)
	}
	return r, nil
}
