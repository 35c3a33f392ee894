package integration

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"

	"github.com/rankwright/rankwright/controllers/notes"
	"github.com/rankwright/rankwright/internal/words"
)

// TestLongNotesArriveShortened sends notes about as long as the API server takes: what is longer, client-go's recorder would lose.
func TestLongNotesArriveShortened(t *testing.T) {
	to := namespace(t)
	client, err := kubernetes.NewForConfig(cluster.Config())
	if err != nil {
		t.Fatal(err)
	}
	broadcaster := events.NewBroadcaster(&events.EventSinkImpl{Interface: client.EventsV1()})
	if err := broadcaster.StartRecordingToSinkWithContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(broadcaster.Shutdown)
	recorder := notes.Recorder{EventRecorder: broadcaster.NewRecorder(scheme.Scheme, "test")}

	about := &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Namespace: to, Name: "long", UID: "uid"},
	}
	want := map[string]string{}
	for more := -1; more <= 2; more++ {
		for kind, unit := range map[string]string{"Ascii": "n", "Words": "ranks ", "Runes": "…"} {
			note := strings.Repeat(unit, 2*words.MaxNote)[:words.MaxNote+more]
			note = strings.ToValidUTF8(note, "") + strings.Repeat("x", words.MaxNote+more-len(strings.ToValidUTF8(note, "")))
			reason := fmt.Sprintf("%s%d", kind, more+1)
			want[reason] = words.Note(note)
			if more <= 0 && want[reason] != note {
				t.Errorf("%d bytes fit and were shortened", len(note))
			}
			recorder.Eventf(about, nil, corev1.EventTypeNormal, reason, "Test", "%s", note)
		}
	}
	got := map[string]string{}
	err = wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		list, err := client.EventsV1().Events(to).List(ctx, metav1.ListOptions{})
		for i := range list.Items {
			got[list.Items[i].Reason] = list.Items[i].Note
		}
		return len(got) == len(want), err
	})
	if err != nil {
		t.Errorf("%d of %d events arrived: %v", len(got), len(want), err)
	}
	for reason, note := range want {
		if got[reason] != note {
			t.Errorf("%s: a note of %d bytes arrived with %d", reason, len(note), len(got[reason]))
		}
	}
}
