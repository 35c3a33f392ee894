package files

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/launch"
	"github.com/rankwright/rankwright/pkg/mesh"
	"github.com/rankwright/rankwright/pkg/mesh/verification"
)

// addTasks adds what the pods of each copy verify to the copy's files.
func addTasks(bundle *launch.Bundle, m *v1alpha1.DeviceMesh, job *launch.Job, hosts mesh.Hosts, asked *v1alpha1.Verification) error {
	tasks, err := verification.Tasks(m, job, hosts, asked, verification.Final(m, asked))
	if err != nil {
		return fmt.Errorf("verification: %w", err)
	}
	for i := range bundle.Copies {
		text, err := tasks[i].Text()
		if err != nil {
			return err
		}
		bundle.Copies[i].Files = append(bundle.Copies[i].Files, launch.File{Name: verification.File(i), Content: text})
	}
	return nil
}

// verificationChanged lets through what a verification says of a mesh: the files tell pods that come later.
var verificationChanged = predicate.Funcs{
	UpdateFunc: func(e event.UpdateEvent) bool {
		before, wasMesh := e.ObjectOld.(*v1alpha1.DeviceMesh)
		after, isMesh := e.ObjectNew.(*v1alpha1.DeviceMesh)
		return wasMesh && isMesh && verified(before) != verified(after)
	},
}

// verified is what of the condition decides whether a verification is over.
func verified(m *v1alpha1.DeviceMesh) [2]any {
	c := meta.FindStatusCondition(m.Status.Conditions, v1alpha1.ConditionVerified)
	if c == nil {
		return [2]any{}
	}
	return [2]any{c.Status, c.ObservedGeneration}
}
