package nodeagent

import (
	"testing"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

func TestPlaceByTheNodesLabels(t *testing.T) {
	labels := map[string]string{
		"topology.kubernetes.io/region": "europe-west4", "topology.kubernetes.io/zone": "europe-west4-b", "node.kubernetes.io/instance-type": "a3-highgpu-8g",
	}
	seen := v1alpha1.Host{Region: "r", Zone: "z", InstanceType: "p5.48xlarge"}
	for name, test := range map[string]struct {
		host   v1alpha1.Host
		labels map[string]string
		want   [3]string
	}{
		"labels alone":          {v1alpha1.Host{}, labels, [3]string{"europe-west4", "europe-west4-b", "a3-highgpu-8g"}},
		"no labels":             {seen, nil, [3]string{"r", "z", "p5.48xlarge"}},
		"labels and the host's": {seen, labels, [3]string{"europe-west4", "europe-west4-b", "p5.48xlarge"}},
		"neither":               {v1alpha1.Host{}, nil, [3]string{}},
	} {
		t.Run(name, func(t *testing.T) {
			place(&test.host, test.labels)
			if got := [3]string{test.host.Region, test.host.Zone, test.host.InstanceType}; got != test.want {
				t.Errorf("%v, want %v", got, test.want)
			}
		})
	}
}
