package verifypods

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"path"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
)

// Words of the pod API.
const (
	pending   = "Pending"
	succeeded = "Succeeded"
	failed    = "Failed"
	scheduled = "PodScheduled"
)

// job is a Job with its pod, as far as they are looked at; nil where none was made. The typed clients would double the memory
// that an agent takes on every node.
type job struct {
	Metadata metadata
	Spec     struct{ Template struct{ Spec podSpec } }

	pod *pod
}

type metadata struct {
	Name, Namespace     string
	Labels, Annotations map[string]string
}

type podSpec struct {
	Containers []struct {
		Resources struct{ Limits map[string]any }
	}
	RuntimeClassName *string
	ResourceClaims   []struct{ Name string }
}

type pod struct {
	Metadata metadata
	Status   struct {
		Phase, Reason     string
		Conditions        []struct{ Type, Status, Reason, Message string }
		ContainerStatuses []struct {
			State struct {
				Waiting *struct{ Reason, Message string }
			}
		}
	}
}

// reader reads the API without its types.
type reader struct{ rest *rest.RESTClient }

func newReader(config *rest.Config) (*reader, error) {
	config = rest.CopyConfig(config)
	config.NegotiatedSerializer = serializer.NewCodecFactory(runtime.NewScheme()).WithoutConversion()
	client, err := rest.UnversionedRESTClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("make a client for %s: %w", config.Host, err)
	}
	return &reader{client}, nil
}

func (r *reader) jobs(ctx context.Context, namespace string) ([]job, error) {
	var list struct{ Items []job }
	if err := r.list(ctx, path.Join("/apis/batch/v1/namespaces", url.PathEscape(namespace), "jobs"), Label, &list); err != nil {
		return nil, fmt.Errorf("list the Jobs of %s: %w", namespace, err)
	}
	return list.Items, nil
}

// podOf returns the pod of a Job; nil where it has none.
func (r *reader) podOf(ctx context.Context, namespace, job string) (*pod, error) {
	var list struct{ Items []pod }
	if err := r.list(ctx, path.Join("/api/v1/namespaces", url.PathEscape(namespace), "pods"), "batch.kubernetes.io/job-name="+job, &list); err != nil {
		return nil, fmt.Errorf("list the pods of %s/%s: %w", namespace, job, err)
	}
	if len(list.Items) == 0 {
		return nil, nil //nolint:nilnil // that is what the comment says
	}
	return &list.Items[0], nil
}

func (r *reader) list(ctx context.Context, from, selector string, into any) error {
	text, err := r.rest.Get().AbsPath(from).Param("labelSelector", selector).DoRaw(ctx)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}

// maxLog caps what is read of a pod's log, in bytes.
const maxLog = 256 << 10

// printed returns a pod's log. The pod's state tells why there is none.
func (r *reader) printed(ctx context.Context, p *pod) string {
	from := path.Join("/api/v1/namespaces", url.PathEscape(p.Metadata.Namespace), "pods", url.PathEscape(p.Metadata.Name), "log")
	text, err := r.rest.Get().AbsPath(from).Param("limitBytes", strconv.Itoa(maxLog)).DoRaw(ctx)
	if err != nil {
		return ""
	}
	return strings.ToValidUTF8(string(text), "")
}
