package why

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// moment is when something was.
type moment struct{ metav1.Time }

// Compare orders moments.
func (m moment) Compare(other moment) int { return m.Time.Time.Compare(other.Time.Time) }

// latest is when an event was last; events are written with one of three times.
func latest(e *corev1.Event) moment {
	last := moment{e.LastTimestamp}
	if e.Series != nil {
		last = later(last, e.Series.LastObservedTime)
	}
	return later(last, e.EventTime)
}

func later(m moment, at metav1.MicroTime) moment {
	if at.Time.After(m.Time.Time) {
		return moment{metav1.NewTime(at.Time)}
	}
	return m
}
