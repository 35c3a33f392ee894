package drain

import (
	"encoding/json"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// annotationSince keeps at a budget since when nodes are cordoned on which its pods are, so that an operator that is restarted goes on
// counting.
const annotationSince = v1alpha1.Prefix + "cordoned-since"

// cordons are the cordoned nodes of a placement's pods, each with when the operator first saw it so.
type cordons map[string]metav1.Time

// readCordons reads what a budget keeps; what cannot be read counts as not seen yet.
func readCordons(budget metav1.Object) cordons {
	var known cordons
	if json.Unmarshal([]byte(budget.GetAnnotations()[annotationSince]), &known) != nil {
		return nil
	}
	return known
}

// of returns the same for the nodes that are cordoned now.
func (c cordons) of(nodes map[string]bool, now time.Time) cordons {
	current := cordons{}
	for name := range nodes {
		since, known := c[name]
		if !known {
			since = metav1.NewTime(now).Rfc3339Copy()
		}
		current[name] = since
	}
	return current
}

// text is what a budget keeps.
func (c cordons) text() string {
	text, _ := json.Marshal(c) // in order of names; nothing in it fails to encode
	return string(text)
}
