package binding

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/binding"
	"github.com/rankwright/rankwright/pkg/launch"
)

// The webhook makes pods mount the ConfigMaps that the operator writes, in which the file of a pod's index gives the pod its
// rank.
func TestBoundPodsFindTheFilesOfTheirRanks(t *testing.T) {
	w := newWorld(t, "files")
	w.operate(nil)
	w.meshTwoByTwo()
	w.runJob(4, 0)
	pods := w.awaitPods(4, "scheduled", scheduled)
	for index, pod := range pods {
		if got := pod.Annotations[binding.AnnotationDevicesPerPod]; got != "1" {
			t.Errorf("pod %s notes %q devices", index, got)
		}
		var files map[string]string
		w.Eventually("the files of pod "+index+" are written", func(ctx context.Context) bool {
			files = w.mounted(ctx, pod)
			return files != nil
		})
		rank := pod.Annotations[binding.AnnotationFirstRank]
		text := files["pod-"+index+".env"]
		if !strings.Contains(text, fmt.Sprintf("--node-rank %s", rank)) {
			t.Errorf("pod %s has rank %s and starts with\n%s", index, rank, text)
		}
		shared := "copy-" + pod.Annotations[binding.AnnotationReplica] + ".env"
		if !strings.HasPrefix(text, ". "+launch.Folder+"/"+shared+"\n") || !strings.Contains(files[shared], "--nnodes 2") {
			t.Errorf("pod %s starts with\n%s\nand %s is\n%s", index, text, shared, files[shared])
		}
		if folders := foldersOf(pod); len(folders) != 1 || folders[0] != launch.Folder {
			t.Errorf("pod %s has the files in %v", index, folders)
		}
	}
	if len(w.mounted(t.Context(), pods["0"])) != 6 {
		t.Errorf("files %v, want those of two copies and four pods", w.mounted(t.Context(), pods["0"]))
	}
}

// foldersOf returns the folders in which the model's container has the files.
func foldersOf(pod *corev1.Pod) []string {
	var folders []string
	for _, mount := range pod.Spec.Containers[0].VolumeMounts {
		if mount.Name == binding.VolumeName {
			folders = append(folders, mount.MountPath)
		}
	}
	return folders
}

// mounted returns the files of a pod's volume, as far as their ConfigMaps exist; nil while a ConfigMap that must exist does not.
func (w *world) mounted(ctx context.Context, pod *corev1.Pod) map[string]string {
	w.Helper()
	files := map[string]string{}
	for _, volume := range pod.Spec.Volumes {
		if volume.Name != binding.VolumeName {
			continue
		}
		for _, source := range volume.Projected.Sources {
			config := &corev1.ConfigMap{}
			err := w.Get(ctx, client.ObjectKey{Namespace: w.Home, Name: source.ConfigMap.Name}, config)
			w.Must(client.IgnoreNotFound(err))
			if err != nil && source.ConfigMap.Optional == nil {
				return nil
			}
			if err == nil && config.Labels[v1alpha1.LabelPlan] != pod.Labels[v1alpha1.LabelPlan] {
				return nil
			}
			for key, content := range config.Data {
				files[key] = content
			}
		}
	}
	return files
}
