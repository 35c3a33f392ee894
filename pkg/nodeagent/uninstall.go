package nodeagent

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/rankwright/rankwright/internal/await"
	"github.com/rankwright/rankwright/pkg/nodeagent/injection"
)

// daemonSet is the name of the DaemonSet whose pods the agents are.
const daemonSet = "rankwright-node-agent"

var daemonSets = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "daemonsets"}

// uninstallTimeout bounds what an agent does about its files when it ends: less than a pod has (30 s).
const uninstallTimeout = 10 * time.Second

// findDaemonSet asks for the DaemonSet of the agents until it is seen.
func (a *Agent) findDaemonSet(ctx context.Context) {
	for failures := 0; ctx.Err() == nil; failures++ {
		_, err := a.daemonSetDeleted(ctx)
		a.installed = err == nil
		if err == nil || apierrors.IsNotFound(err) { // else it is a pod of something else
			return
		}
		await.Pause(ctx, a.clock, retryDelay(failures, 0), nil)
	}
}

func (a *Agent) daemonSetDeleted(ctx context.Context) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, uninstallTimeout/2)
	defer cancel()
	object, err := a.client.Resource(daemonSets).Namespace(a.options.LeaseNamespace).Get(ctx, daemonSet, metav1.GetOptions{})
	return err == nil && object.GetDeletionTimestamp() != nil, err
}

// removeFiles removes the files of the node that are for containers where the DaemonSet is gone, or goes: they go with the
// product and not with an agent, since containers start and restart by them while an agent is replaced. Where the DaemonSet was
// there and the right to look is gone, that went with it: uninstalling removes both, in any order. Where nobody answers, nothing
// is removed.
func (a *Agent) removeFiles() {
	ctx, cancel := context.WithTimeout(context.Background(), uninstallTimeout)
	defer cancel()
	if !a.installed {
		return
	}
	deleted, err := a.daemonSetDeleted(ctx)
	if err == nil && !deleted || err != nil && !apierrors.IsNotFound(err) && !apierrors.IsForbidden(err) && !apierrors.IsUnauthorized(err) {
		return
	}
	removed, err := injection.Folder(a.options.Serving.CDIFolder).Clear()
	for _, name := range a.options.Serving.Installed {
		switch problem := os.Remove(name); {
		case problem == nil:
			removed = append(removed, name)
		case !errors.Is(problem, fs.ErrNotExist):
			err = errors.Join(err, problem)
		}
	}
	a.log.Info("uninstalled: what containers were given by is removed", "files", removed, "error", err)
}
