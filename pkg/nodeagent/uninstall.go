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

// leavings are the files of a node that are for containers, and go with the product and not with an agent: while an agent is
// replaced, containers start and restart by them.
type leavings struct {
	agent *Agent
	// seen says that the DaemonSet was there when it was asked for.
	seen bool
}

// look asks for the DaemonSet until it is seen.
func (l *leavings) look(ctx context.Context) {
	for failures := 0; ctx.Err() == nil; failures++ {
		_, err := l.daemonSet(ctx)
		if err == nil {
			l.seen = true
			return
		}
		if apierrors.IsNotFound(err) { // it is a pod of something else
			return
		}
		await.Pause(ctx, l.agent.clock, retryDelay(failures, 0), nil)
	}
}

func (l *leavings) daemonSet(ctx context.Context) (deleted bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, uninstallTimeout/2)
	defer cancel()
	object, err := l.agent.client.Resource(daemonSets).Namespace(l.agent.options.LeaseNamespace).Get(ctx, daemonSet, metav1.GetOptions{})
	if err != nil {
		return false, err
	}
	return object.GetDeletionTimestamp() != nil, nil
}

// remove removes the files where the DaemonSet is gone, or goes. Where it was there and the right to look is gone, that went
// with it: uninstalling removes both, in any order. Where nobody answers, nothing is removed.
func (l *leavings) remove() {
	ctx, cancel := context.WithTimeout(context.Background(), uninstallTimeout)
	defer cancel()
	if !l.seen {
		return
	}
	deleted, err := l.daemonSet(ctx)
	if err == nil && !deleted || err != nil && !apierrors.IsNotFound(err) && !apierrors.IsForbidden(err) && !apierrors.IsUnauthorized(err) {
		return
	}
	options := l.agent.options.Serving
	removed, err := injection.Folder(options.CDIFolder).Clear()
	for _, name := range options.Installed {
		switch problem := os.Remove(name); {
		case problem == nil:
			removed = append(removed, name)
		case !errors.Is(problem, fs.ErrNotExist):
			err = errors.Join(err, problem)
		}
	}
	l.agent.log.Info("uninstalled: what containers were given by is removed", "files", removed, "error", err)
}
