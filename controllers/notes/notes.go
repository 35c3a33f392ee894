// Package notes records events that the API server takes.
package notes

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"

	"github.com/rankwright/rankwright/internal/words"
)

// Recorder shortens the notes of events, of which the API server refuses the long ones: client-go's recorder logs that and nobody sees
// the event.
type Recorder struct{ events.EventRecorder }

// Eventf implements events.EventRecorder.
func (r Recorder) Eventf(regarding, related runtime.Object, kind, reason, action, note string, args ...any) {
	r.EventRecorder.Eventf(regarding, related, kind, reason, action, "%s", words.Note(fmt.Sprintf(note, args...)))
}
