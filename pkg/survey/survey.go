package survey

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/detect"
	"github.com/rankwright/rankwright/pkg/detect/host"
)

// Survey is what is known of a host.
type Survey struct {
	// Views are the host from each place, the fullest first.
	Views    []View
	platform platform
	// Pods are the pods of the verification, which were given devices.
	Pods []Pod
}

// View is a host as detection finds it from one place.
type View struct {
	Name   string
	Status v1alpha1.AcceleratorInventoryStatus
	// differences are what the view finds differently from the first.
	differences []difference
	// Measured is nil where the view was not taken for itself.
	Measured *Measurements
}

// Of reads the survey in a recording. The same recording gives the same survey.
func Of(ctx context.Context, recording *host.Recording) (*Survey, error) {
	h := recording.Host()
	survey := &Survey{platform: readPlatform(h.Files)}
	measured := recording.Note(measurementNote)
	if h.Commands != nil {
		if err := survey.look(ctx, OnHost, h, measured); err != nil {
			return nil, err
		}
		h.Commands, measured = nil, ""
	}
	if err := survey.look(ctx, NoExec, h, measured); err != nil {
		return nil, err
	}
	for _, name := range recording.Views() {
		view, _ := recording.View(name)
		if err := survey.look(ctx, name, view.Host(), view.Note(measurementNote)); err != nil {
			return nil, err
		}
	}
	for i := 1; i < len(survey.Views); i++ {
		survey.Views[i].differences = differences(&survey.Views[0].Status, &survey.Views[i].Status)
	}
	var err error
	survey.Pods, err = pods(recording)
	return survey, err
}

// look adds what a detection finds, with the note of what was measured when the view was taken.
func (s *Survey) look(ctx context.Context, name string, h *host.Host, measured string) error {
	view := View{Name: name, Status: detect.Detect(ctx, h, detect.Options{}).Status}
	if err := ctx.Err(); err != nil {
		return err
	}
	if measured != "" {
		view.Measured = &Measurements{}
		if err := json.Unmarshal([]byte(measured), view.Measured); err != nil {
			return fmt.Errorf("view %s: note %s: %w", name, measurementNote, err)
		}
	}
	s.Views = append(s.Views, view)
	return nil
}

// view is a view by its name; nil where it was not taken.
func (s *Survey) view(name string) *View {
	for i := range s.Views {
		if s.Views[i].Name == name {
			return &s.Views[i]
		}
	}
	return nil
}

// Join adds views to a recording of a host, and what pods that were given devices saw there.
func Join(recording *host.Recording, views map[string]*host.Recording, pods []Pod) error {
	for name, view := range views {
		if err := recording.AddView(name, view); err != nil {
			return err
		}
	}
	for _, pod := range pods {
		if err := recording.AddNote(podNote+pod.Name+".txt", pod.note()); err != nil {
			return err
		}
	}
	return nil
}

// podNote is how the names of notes about pods begin.
const podNote = "pod."

func pods(recording *host.Recording) ([]Pod, error) {
	var found []Pod
	for _, name := range recording.Notes() {
		short, ok := strings.CutPrefix(name, podNote)
		if !ok {
			continue
		}
		pod, err := parsePod(strings.TrimSuffix(short, ".txt"), recording.Note(name))
		if err != nil {
			return nil, fmt.Errorf("note %s: %w", name, err)
		}
		found = append(found, pod)
	}
	return found, nil
}
